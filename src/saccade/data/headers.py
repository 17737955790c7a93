"""The first records of a CSV file: its separator, and whether it begins with names."""

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from saccade.data.batches import Wanted
from saccade.data.lines import opened
from saccade.data.seen import Seen
from saccade.exceptions import DataFileError

__all__ = ["BLANKS", "MISSING_WORDS", "Beginning", "first_records", "is_blank", "read_beginning", "seen_in"]

BLANKS = " \t\r"
SEPARATORS = ",;\t"
# Written for a missing value where a number is expected: never the name of a column.
MISSING_WORDS = {"", "na", "n/a", "<na>", "nan", "null", "none", "?", "-"}


@dataclass(frozen=True)
class Beginning:
    """The separator and the first record of a CSV file, and where its rows begin."""

    separator: str
    first: list[str]  # the fields of the first record, names or not
    has_names: bool
    start: int  # the place of the first row


def read_beginning(path: str, wanted: Wanted) -> Beginning:
    """Guess the separator and, unless ``wanted.header`` says it, whether the first record has names."""
    separator = max(SEPARATORS, key=lambda candidate: len(_next_fields(_records(path, candidate))))
    records = _records(path, separator)
    first, after_first = next(records)
    if any("\udc80" <= character <= "\udcff" for field in first for character in field):
        raise DataFileError(f"{path} is no UTF-8 text. Write it in UTF-8.")
    has_names = wanted.header
    if has_names is None:
        has_names = _has_names(first, _next_fields(records), wanted)
    return Beginning(separator, first, has_names, after_first if has_names else _after_mark(path))


def first_records(path: str, separator: str, most: int, *, has_names: bool) -> list[list[str]]:
    """Return the fields of the first records, without the one that has names."""
    records = _records(path, separator)
    found: list[list[str]] = []
    while len(found) < most + has_names and (fields := _next_fields(records)):
        found.append(fields)
    return found[has_names:]


def is_blank(fields: list[str]) -> bool:
    """Return whether a record is an empty line."""
    return not fields or (len(fields) == 1 and not fields[0].strip(BLANKS))


def _next_fields(records: Iterator[tuple[list[str], int]]) -> list[str]:
    """Return the fields of the next record: none at the end, or where a field is too long for Python's csv."""
    try:
        return next(records, ([], 0))[0]
    except DataFileError:
        return []


def _records(path: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Yield the fields of record after record, and where the next record begins; an empty file is an error."""
    place, empty = _after_mark(path), True

    def lines() -> Iterator[str]:
        nonlocal place
        with opened(path) as file:
            file.seek(place)
            for line in file:
                # Python's csv takes lines that end in a carriage return, but no carriage return within a line.
                for part in io.StringIO(line.decode(errors="surrogateescape"), newline=""):
                    place += len(part.encode(errors="surrogateescape"))
                    yield part

    try:
        for fields in csv.reader(lines(), delimiter=separator, skipinitialspace=True):
            if not is_blank(fields):
                empty = False
                yield [field.strip(BLANKS) for field in fields], place
    except csv.Error as error:
        raise DataFileError(f"{path} is no CSV file that can be read: {error} near its beginning.") from error
    if empty:
        raise DataFileError(f"{path} is empty.")


def _after_mark(path: str) -> int:
    """Return where the text begins: after the byte order mark, if any."""
    with opened(path) as file:
        return len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0


def _has_names(first: list[str], second: list[str], wanted: Wanted) -> bool:
    """Return whether the first record has the names of the columns, judged by the first two records."""
    if wanted.names is not None and {wanted.names[j] for j in wanted.needed_of(len(wanted.names))} <= set(first):
        return True
    if wanted.target is not None and not _is_number(wanted.target):
        return True
    words = [j for j, field in enumerate(first) if _is_word(field)]
    if not words:
        return first == [str(j) for j in range(len(first))] and len(first) > 2  # as pandas numbers columns
    # Labels in words make words in the second record, too; names stand above numbers.
    if len(second) != len(first):
        return len(words) == len(first)
    return any(_is_number(second[j]) for j in words)


def seen_in(values: Iterable[str]) -> Seen:
    """Return whether values are numbers or texts."""
    there = [text for value in values if (text := value.strip(BLANKS)).lower() not in MISSING_WORDS]
    texts = [text for text in there if not _is_number(text)]
    return Seen(len(there) - len(texts), len(texts), texts[0] if texts else "")


def _is_word(field: str) -> bool:
    return field.lower() not in MISSING_WORDS and not _is_number(field)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
