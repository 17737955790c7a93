"""Labels as written in files, and their classes."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows
from saccade.exceptions import DataFileError

__all__ = [
    "MOST_FRACTIONS",
    "Labels",
    "LabelsSeen",
    "are_fractions",
    "continuous",
    "known_codes",
    "labels_from_texts",
    "shown_labels",
]

# So many different numbers, some with fractions, may be classes; more are a quantity.
MOST_FRACTIONS = 20
# Each class is a learner of its own.
MOST_CLASSES = 10_000
_WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")


@dataclass(frozen=True)
class Labels:
    """The labels as written in the file, and the class of each."""

    written: list[Any]
    classes: NDArray[Any]

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {written: position for position, written in enumerate(self.written)}

    def of(self, y: NDArray[Any]) -> NDArray[Any]:
        return self.classes[[self._codes[label] for label in y.tolist()]]


class LabelsSeen:
    """The labels of a file, batch by batch; a target that is no class is refused before it fills the memory."""

    def __init__(self, path: str) -> None:
        self._path, self._written, self._rows = path, set[Any](), 0

    def add(self, y: NDArray[Any]) -> None:
        before, self._rows = len(self._written), self._rows + len(y)
        self._written.update(y.tolist())
        if len(self._written) > max(before, MOST_FRACTIONS):
            self._check_not_continuous()
        if len(self._written) > MOST_CLASSES:
            raise DataFileError(
                f"{self._path}: the target has more than {MOST_CLASSES:,} different values, such as "
                f"{shown_labels(self._written)}. saccade learns classes: name the column that has them as the target."
            )

    def labels(self, bad: BadRows) -> Labels:
        """Return all labels, once the file is read: a learner must know all classes before it learns."""
        if len(self._written) > max(2, self._rows // 2):
            self._check_not_continuous()
        listed = sorted(self._written, key=str)
        boolean = all(isinstance(label, bool) for label in listed)
        classes = np.array(listed) if boolean else labels_from_texts([_as_text(label) for label in listed])
        if classes.size < 2:
            passed = f", and {bad.passed_over}" if bad.count else ""
            raise DataFileError(
                f"{self._path} has {classes.size} classes, {listed}{passed}: learning needs at least two."
            )
        return Labels(listed, classes)

    def _check_not_continuous(self) -> None:
        if are_fractions(self._written):
            raise DataFileError(continuous(self._path, self._written))


def are_fractions(labels: Collection[Any]) -> bool:
    """Return whether labels are numbers, and not all of them whole."""
    try:
        numbers = [float(label) for label in labels]
    except ValueError:
        return False
    return not all(number.is_integer() or not isfinite(number) for number in numbers)


def continuous(path: str, labels: Collection[Any]) -> str:
    """Say that a target is no class."""
    broken = [label for label in labels if not float(label).is_integer()]
    return (
        f"{path}: the target is a quantity, not a class: it has at least {len(labels):,} different numbers, with "
        f"fractions ({shown_labels(broken)}). saccade learns classes: cut it into ranges, or name another column as "
        "the target."
    )


def shown_labels(labels: Collection[Any], most: int = 5) -> str:
    """Return the first labels, in their order, for a message."""
    listed = sorted(labels, key=str)
    return ", ".join(repr(label) for label in listed[:most]) + (" …" if len(listed) > most else "")


def _as_text(label: Any) -> str:
    """Return a label as it would be written in a CSV file."""
    return str(int(label)) if isinstance(label, float) and label == int(label) else str(label)


def _codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the class index of each label of a file, by its text or its number; -1 for an unknown label."""
    by_text = {str(label): code for code, label in enumerate(classes.tolist())}
    try:
        by_number = {float(label): code for code, label in enumerate(classes.tolist())}
    except ValueError:
        by_number = {}

    def code(label: Any) -> int:
        if _as_text(label) in by_text:
            return by_text[_as_text(label)]
        try:
            return by_number.get(float(label), -1) if len(by_number) == classes.size else -1
        except ValueError:
            return -1

    known = {label: code(label) for label in set(y.tolist())}
    return np.array([known[label] for label in y.tolist()], dtype=np.intp)


def known_codes(path: str, y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the class index of each label; labels that the model does not know are an error that names them."""
    codes = _codes_of(y, classes)
    if codes.size == 0 or codes.min() >= 0:
        return codes
    unknown = set(y[codes < 0].tolist())
    if len(unknown) > MOST_FRACTIONS and are_fractions(unknown):
        raise DataFileError(continuous(path, unknown))
    raise DataFileError(
        f"{path}: the model does not know the labels {shown_labels(unknown)}; it knows "
        f"{shown_labels(classes.tolist())}. Name the column with its labels as the target, or leave such rows out."
    )


def labels_from_texts(texts: list[str]) -> NDArray[Any]:
    """Return labels as integers where all texts are distinct whole numbers, and else as texts.

    >>> labels_from_texts(["2", "3"]), labels_from_texts(["1", "01"])
    (array([2, 3]), array(['1', '01'], dtype='<U2'))
    """
    if all(_WHOLE.fullmatch(text) for text in texts):
        numbers = [int(text.partition(".")[0]) for text in texts]
        if len(set(numbers)) == len(texts) and all(abs(number) < 2**63 for number in numbers):
            return np.array(numbers)
    return np.array(texts)
