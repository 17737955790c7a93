"""Learning from a file that need not fit into memory, in several passes, with checkpoints from which it goes on.

A pass takes the rows batch by batch, shuffled within each batch. ``partial_fit`` gives the same bits however a stream
is split, and a saved learner goes on as if nothing had happened; so learning that was killed and resumed gives the same
bits as learning that was not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.data.batches import BadRows, Source, labels_from_texts
from saccade.exceptions import DataFileError
from saccade.learners.classifier import AttentiveLearner

__all__ = ["Labels", "Place", "codes_of", "known_labels", "learn"]


# What is called with the bytes, or the rows of a file that is counted in rows, and the rows that were read.
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Place:
    """How far learning has come: the pass, the batch in it, and where that batch begins in the file."""

    turn: int = 0
    batch: int = 0
    start: int = 0


@dataclass(frozen=True)
class Labels:
    """What is written in the file, and the class that each stands for."""

    written: list[Any]
    classes: NDArray[Any]

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {written: position for position, written in enumerate(self.written)}

    def of(self, y: NDArray[Any]) -> NDArray[Any]:
        return self.classes[[self._codes[label] for label in y.tolist()]]


def known_labels(source: Source, bad: BadRows, progress: Progress) -> Labels:
    """Read the file once for its labels: a learner must know all classes before it learns."""
    written: set[Any] = set()
    place = 0
    for batch in source.batches(0, bad):
        if batch.y is None:
            raise DataFileError(f"{source.path}: name the column that is to be predicted, with --target.")
        written.update(batch.y.tolist())
        progress(batch.end - place, batch.X.shape[0])
        place = batch.end
    listed = sorted(written, key=str)
    truths = all(isinstance(label, bool) for label in listed)
    classes = np.array(listed) if truths else labels_from_texts([_as_text(label) for label in listed])
    if classes.size < 2:
        passed = f", and {bad.count} bad rows were passed over" if bad.count else ""
        raise DataFileError(f"{source.path} has {classes.size} classes, {listed}{passed}: learning needs at least two.")
    return Labels(listed, classes)


def _as_text(label: Any) -> str:
    """Return a label as it would be written in a CSV file."""
    return str(int(label)) if isinstance(label, float) and label == int(label) else str(label)


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return which class each label of a file is, by its text or its number; -1 for one that is none of them."""
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


def learn(
    model: AttentiveLearner,
    source: Source,
    labels: Labels,
    seed: int,
    place: Place,
    progress: Progress,
    keep: Callable[[AttentiveLearner, Place], None],
) -> AttentiveLearner:
    """Learn from a place on to the end of the last pass; ``keep`` is called after each batch with the next place."""
    for turn in range(place.turn, model.max_iter):
        begun = place.start if turn == place.turn else 0
        number = place.batch if turn == place.turn else 0
        for batch in source.batches(begun, BadRows(source.path, skip=True)):
            rows = np.arange(batch.X.shape[0])
            if model.shuffle:
                rows = np.random.default_rng([seed, turn, number]).permutation(rows)
            if rows.size and batch.y is not None:
                model.partial_fit(batch.X[rows], labels.of(batch.y)[rows], classes=np.unique(labels.classes))
            number += 1
            progress(batch.end - begun, rows.size)
            begun = batch.end
            keep(model, Place(turn, number, begun))
    return model
