"""Which columns of a table are learned from, and as what: what a user says, and what the columns hold."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from enum import Enum
from typing import Any

from saccade.data.batches import DataFile, Wanted
from saccade.data.opening import DataPath, opened_again
from saccade.exceptions import DataFileError

__all__ = ["Choice", "ColumnKind", "chosen", "kinds_of"]


class ColumnKind(Enum):
    """As what a column is learned from."""

    NUMBERS = "numbers"
    TEXTS = "texts"  # categories, unless nearly all of them differ, as names and keys do
    CATEGORIES = "categories"  # because the user says so
    IGNORED = "ignored"


@dataclass(frozen=True)
class Choice:
    """What a user says of columns: their names, or their numbers where they have no names."""

    columns: Sequence[str] | None = None  # these and no others
    ignore: Sequence[str] = ()
    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()

    @property
    def state(self) -> dict[str, Any]:
        """What is said, as JSON has it; empty where nothing is."""
        return {name: list(map(str, named)) for name, named in asdict(self).items() if named is not None and named}

    def is_used(self, name: str) -> bool:
        return name not in self.ignore and (self.columns is None or name in self.columns)

    def check(self, path: str, known: Sequence[str], target: str | None) -> None:
        """Raise where a column is named that the data do not have, or that is to be two things."""
        for option, named in asdict(self).items():
            for name in named or ():
                if name == target:
                    raise DataFileError(f"{path}: {name!r} is the target. Leave it out of {_spelled(option)}.")
                if name not in known:
                    near = get_close_matches(name, known, n=3) or list(known[:8])
                    raise DataFileError(
                        f"{path} has no column {name!r}, which is named in {_spelled(option)}. It has {', '.join(near)}"
                        f"{' …' if len(near) < len(known) else ''}."
                    )
        for name in {*self.numeric} & {*self.categorical}:
            raise DataFileError(f"{path}: {name!r} is to be numeric and categorical. Name it in one of the two.")
        for name in (*self.numeric, *self.categorical):
            if not self.is_used(name):
                raise DataFileError(
                    f"{path}: {name!r} is to be left out and to be learned from. Choose one of the two."
                )


def _spelled(option: str) -> str:
    return f"{option}=, or --{option}"


def chosen(data: DataFile, path: DataPath, wanted: Wanted, kind: str | None, choice: Choice) -> tuple[DataFile, Wanted]:
    """Return the data without the columns that a user leaves out, where columns have names."""
    if not choice.state:
        return data, wanted
    if data.zero_based is not None:
        option = _spelled(next(iter(choice.state)))
        raise DataFileError(f"{data.path}: libsvm files have no columns that could be chosen. Leave {option} out.")
    choice.check(data.path, _labels(data, wanted.target), wanted.target)
    if data.names is None or all(map(choice.is_used, data.names)):
        return data, wanted
    names = [name for name in data.names if choice.is_used(name)]
    if not names:
        raise DataFileError(f"{data.path}: no column is left to learn from.")
    narrow = replace(wanted, names=names)
    return opened_again(data, path, narrow, kind), narrow


def kinds_of(data: DataFile, target: str | None, choice: Choice) -> list[ColumnKind] | None:
    """Return as what each feature is learned from; None where all are numbers, and are learned from as they are.

    A column is one of texts where most of its values are, in the first rows of a CSV file, or by its type.
    """
    seen, labels = data.seen(), _labels(data, target)
    if choice.categorical and not seen:
        raise DataFileError(f"{data.path}: NumPy arrays hold no categories. Write a table, as CSV or Parquet.")
    kinds: list[ColumnKind] = []
    for place, name in enumerate(labels):
        held = seen.get(place)
        is_text = held is not None and held.is_text
        if name in choice.numeric and is_text and held is not None:
            such = f" such as {held.example!r}" if held.example else ""
            raise DataFileError(
                f"{data.path}: {name!r} is to be numeric, and holds texts{such}. Take it as categories."
            )
        if not choice.is_used(name):
            kinds.append(ColumnKind.IGNORED)
        elif name in choice.categorical:
            kinds.append(ColumnKind.CATEGORIES)
        else:
            kinds.append(ColumnKind.TEXTS if is_text else ColumnKind.NUMBERS)
    if target is None and data.zero_based is None:
        texts = [repr(name) for name, kind in zip(labels, kinds, strict=True) if kind is ColumnKind.TEXTS]
        such = f" Columns of texts are {', '.join(texts[:8])}{' …' if len(texts) > 8 else ''}." if texts else ""
        raise DataFileError(f"{data.path}: name the column that is to be predicted: target=, or --target.{such}")
    plain = all(kind is ColumnKind.NUMBERS for kind in kinds) and not choice.numeric
    return None if plain or data.zero_based is not None else kinds


def _labels(data: DataFile, target: str | None) -> list[str]:
    """Return what features are called: their names, or their columns' numbers in the file."""
    if data.names is not None:
        return data.names
    if data.zero_based is not None or target is None:
        return [str(j) for j in range(data.n_features)]
    width = data.n_features + 1
    return [str(j) for j in range(width) if j != int(target) % width]
