"""From what calibration rows got to a certificate."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.promises.certificate import Certificate, ClassRecord, StageRecord
from saccade.promises.evidence import Difference, attainable
from saccade.promises.labels import Codes, Labels
from saccade.promises.promise import Promise

__all__ = ["certificate_of", "level_borne_out"]

# A fall of accuracy may be bounded below zero; what is stated is above.
LEAST_LEVEL = 1e-6


def certificate_of(
    promise: Promise,
    confidence: float,
    here: Codes,
    n_read: NDArray[np.integer],
    labels: Labels,
    classes: NDArray[Any],
    n_features: int,
    noun: str,
    *,
    stored_per_row: float | None = None,
) -> Certificate:
    """Return what is promised, beside what was seen on the calibration rows."""
    differs = here != labels.full
    pairs = [evidence for evidence, _ in promise.evidence(here, labels) if isinstance(evidence, Difference)]
    return Certificate(
        promise=promise.name,
        delta=promise.delta,
        confidence=confidence,
        n_calibration=here.size,
        disagreement=float(differs.mean()),
        features_per_row=float(n_read.mean()),
        n_features=n_features,
        noun=noun,
        stored_per_row=stored_per_row,
        by_class=_by_class(here, labels, classes, confidence),
        by_stage=tuple(
            StageRecord(int(read), int(np.sum(n_read == read)), int(np.sum(differs[n_read == read])))
            for read in np.unique(n_read)
        ),
        worse=pairs[0].worse if pairs else None,
        better=pairs[0].better if pairs else None,
    )


def level_borne_out(promise: Promise, confidence: float, here: Codes, labels: Labels) -> float:
    """Return the least level that these rows bear out for a plan that was chosen without them.

    The largest of several bounds: that of the class whose risk is largest exceeds this risk at the confidence, and the
    maximum is no less.
    """
    return max(LEAST_LEVEL, *(evidence.upper_bound(confidence) for evidence, _ in promise.evidence(here, labels)))


def _by_class(here: Codes, labels: Labels, classes: NDArray[Any], confidence: float) -> tuple[ClassRecord, ...]:
    full, given, agreed = (
        np.bincount(codes, minlength=classes.size) for codes in (labels.full, here, labels.full[here == labels.full])
    )
    return tuple(
        ClassRecord(
            label=label,
            full=int(full[c]),
            here=int(given[c]),
            lost=int(full[c] - agreed[c]),
            false=int(given[c] - agreed[c]),
            attainable=attainable(int(full[c]), confidence),
        )
        for c, label in enumerate(classes.tolist())
    )
