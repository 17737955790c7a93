"""The first lines of a CSV file: its fields, and whether they are names."""

from codecs import BOM_UTF8

from saccade.data.batches import Wanted
from saccade.exceptions import DataFileError

__all__ = ["first_lines", "has_names", "split"]

BLANKS = " \t\r"
# What stands for a missing value where a number is expected: no header has it for a name.
MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "?", "-"}


def first_lines(path: str) -> tuple[list[str], list[int]]:
    """Return the first two lines that are not blank, and where each begins; then, where the file goes on."""
    lines: list[str] = []
    begins: list[int] = []
    with open(path, "rb") as file:
        if file.read(len(BOM_UTF8)) != BOM_UTF8:
            file.seek(0)
        while len(lines) < 2 and (line := file.readline()):
            if line.strip():
                try:
                    lines.append(line.decode(errors="replace" if lines else "strict").rstrip("\r\n"))
                except UnicodeDecodeError as error:
                    raise DataFileError(f"{path} is no UTF-8 text: {error.reason} near its beginning.") from error
                begins.append(file.tell() - len(line))
        begins.append(file.tell())
    if not lines:
        raise DataFileError(f"{path} is empty.")
    return lines, begins


def has_names(first: list[str], others: list[list[str]], wanted: Wanted) -> bool:
    """Return whether the first line of a CSV file has the names of its columns, from what it and the next one hold."""
    if wanted.names is not None and set(wanted.names) <= set(first):
        return True
    if wanted.target is not None and not _is_number(wanted.target):
        return True
    texts = [j for j, field in enumerate(first) if _is_word(field)]
    if not texts:
        return first == [str(j) for j in range(len(first))] and len(first) > 2  # as pandas numbers columns
    # Labels in words make texts in the second line, too; names stand above numbers.
    alike = [line for line in others if len(line) == len(first)]
    return any(not _is_word(alike[0][j]) for j in texts) if alike else len(texts) == len(first)


def _is_word(field: str) -> bool:
    return field.lower() not in MISSING_WORDS and not _is_number(field)


def split(line: str, separator: str) -> list[str]:
    """Return the fields of a line, as the kernel tells them apart, without the blanks and the quotes around them."""
    fields, start = [], 0
    while start <= len(line):
        place = start
        while place < len(line) and line[place] in BLANKS and line[place] != separator:
            place += 1
        opens, quoted = line[place : place + 1] == '"', False
        while place < len(line) and (quoted or line[place] != separator):
            quoted = opens and quoted != (line[place] == '"')
            place += 1
        field = line[start:place].strip(BLANKS)
        if len(field) > 1 and field[0] == field[-1] == '"':
            field = field[1:-1].replace('""', '"')
        fields.append(field)
        start = place + 1
    return fields


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
