"""Labels as written in files, and their classes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, DataFile
from saccade.exceptions import DataFileError

__all__ = ["Labels", "codes_of", "known_labels", "labels_from_texts"]

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


def known_labels(data: DataFile, bad: BadRows, progress: Callable[[int, int], None]) -> Labels:
    """Read the file once for its labels: a learner must know all classes before it learns.

    ``progress`` is called with the rows of each batch and the place where it ends.
    """
    written: set[Any] = set()
    for batch in data.batches(0, bad):
        if batch.y is None:
            raise DataFileError(f"{data.path}: name the column that is to be predicted as the target.")
        written.update(batch.y.tolist())
        progress(batch.X.shape[0], batch.end)
    listed = sorted(written, key=str)
    boolean = all(isinstance(label, bool) for label in listed)
    classes = np.array(listed) if boolean else labels_from_texts([_as_text(label) for label in listed])
    if classes.size < 2:
        passed = f", and {bad.count} bad rows were passed over" if bad.count else ""
        raise DataFileError(f"{data.path} has {classes.size} classes, {listed}{passed}: learning needs at least two.")
    return Labels(listed, classes)


def _as_text(label: Any) -> str:
    """Return a label as it would be written in a CSV file."""
    return str(int(label)) if isinstance(label, float) and label == int(label) else str(label)


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
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
