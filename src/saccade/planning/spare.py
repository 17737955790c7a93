"""Without which features the certificate still holds: tested on the calibration rows, when somebody asks.

Most models never meet a row that lacks a feature, so nothing is tested when they are made. What the tests need is kept
instead: of every calibration row the full model's scores, and the values of the features that count where another is
missing. These are the features that checkpoints weigh, those of the regression, which replace what is missing, and the
missing features themselves. Of trees, and of terms over raw columns, it is the columns that any of them asks for: where
one is missing, rows go the way that the model sends them, and parts for which it has no way are replaced, too.

All of these tests together keep the confidence (Bonferroni). That the plan was chosen on the same rows needs no more as
long as bolder plans only add errors, because a plan that passes then implies the last one that should have.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from saccade.models.additive import Columns
from saccade.planning.absence import Population, plan_without
from saccade.planning.choosing import Sample
from saccade.planning.prices import Prices
from saccade.planning.rehearsal import KeptRows, Lacking, features_kept, plan_lacking
from saccade.planning.threads import one_blas_thread
from saccade.promises.certificate import Certificate, strictest
from saccade.promises.labels import Labels
from saccade.promises.promise import Promise, is_kept
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["spare_features"]

Features = tuple[int, ...]

# Of so many features, the first that are asked for, it is tested whether a row may lack them; of fewer where the tests
# would read more values than that. Features are columns.
MOST_SPARED = 64
MOST_VALUES_SPARED = 300_000_000
# Rows that take more memory than this are not kept, and the tests are made at once.
MOST_BYTES_KEPT = 64_000_000
# Then so many rows are read at a time, by all plans that fit into as much memory: rows stay in the nearer caches.
ROWS_AT_ONCE = 2048


def spare_features(
    plan: Plan,
    promise: Promise,
    certificate: Certificate,
    population: Population,
    prices: Prices,
    calibration: Sample,
) -> Set[Features]:
    """Return the features, and the groups of them, without which these rows still bear the certificate out.

    Each is tested when it is first asked for.
    """
    rows, columns = calibration.values, calibration.columns
    most = min(MOST_SPARED, int(MOST_VALUES_SPARED / (rows.shape[0] * max(certificate.features_per_row, 1.0))))
    asked = plan.order[:most] if columns is None else _may_be_lacking(columns, plan, population)[:most]
    alone = [(int(feature),) for feature in dict.fromkeys(asked.tolist())]
    groups = [tuple(prices.members(int(group)).tolist()) for group in prices.groups]
    candidates = tuple(dict.fromkeys([*alone, *groups]))
    if not candidates or (columns is not None and not columns.may_lack):
        return frozenset()
    confidence = 1 - (1 - certificate.confidence) / len(candidates)
    if columns is None:
        rehearsal = _Rehearsal(plan, promise, confidence, population, calibration.labels)
        return _of_columns(rehearsal, candidates, calibration)
    small = columns.nbytes <= MOST_BYTES_KEPT
    kept = columns.kept() if small else columns
    again = _RehearsalByColumn(plan, promise, confidence, population, kept, calibration.labels)
    return _SpareFeatures(again, candidates) if small else frozenset(filter(again.passes, candidates))


def _may_be_lacking(columns: Columns, plan: Plan, population: Population) -> NDArray[np.intp]:
    """Return the columns that the plan can ask for, and of which no row lacked a value."""
    asked = columns.in_order(plan.demanded)
    return asked[~population.missing[asked]]


def _of_columns(rehearsal: "_Rehearsal", candidates: tuple[Features, ...], calibration: Sample) -> Set[Features]:
    plan = rehearsal.plan
    full, kept = calibration.margins(plan), features_kept(plan, rehearsal.population, candidates)

    def rows(some: slice) -> KeptRows:
        return KeptRows(plan, kept, calibration.taken(kept, some), full[some])

    if full.shape[0] * kept.size * calibration.values.itemsize + full.nbytes <= MOST_BYTES_KEPT:
        return _SpareFeatures(_Later(rehearsal, rows(slice(None))), candidates)
    return _pass_at_once(rehearsal, candidates, rows)


class _Rehearses(Protocol):
    def passes(self, absent: Features) -> bool:
        """Whether the promise is kept for the calibration rows without these features."""


@dataclass(frozen=True, eq=False)
class _RehearsalByColumn:
    """The columns of the calibration rows, to read them once more as if they lacked some."""

    plan: Plan
    promise: Promise
    confidence: float
    population: Population
    columns: Columns
    labels: Labels

    def passes(self, absent: Features) -> bool:
        plan, lost = self.plan, self.columns.lost(absent)
        if lost.any():
            plan = plan_without(plan, self.population, lost, strictest(self.promise.delta))
        outcome = read_plan(plan, self.columns.without(absent))
        here = decided(outcome.margin)
        return outcome.bad < 0 and is_kept(self.promise, here, self.labels, self.confidence)


@dataclass(frozen=True, eq=False)
class _Rehearsal:
    """The calibration rows, to read them once more as if they lacked some features."""

    plan: Plan
    promise: Promise
    confidence: float
    population: Population
    labels: Labels

    def without(self, absent: Features) -> Lacking:
        return plan_lacking(self.plan, self.population, absent, strictest(self.promise.delta))

    def is_kept(self, here: NDArray[np.intp]) -> bool:
        return is_kept(self.promise, here, self.labels, self.confidence)


@dataclass(frozen=True, eq=False)
class _Later:
    """A rehearsal that holds what it needs of the rows."""

    rehearsal: _Rehearsal
    rows: KeptRows

    def passes(self, absent: Features) -> bool:
        return self.rehearsal.is_kept(self.rows.labels(self.rehearsal.without(absent)))


@one_blas_thread()
def _pass_at_once(
    rehearsal: _Rehearsal, candidates: tuple[Features, ...], rows: Callable[[slice], KeptRows]
) -> Set[Features]:
    """Return the candidates that pass: a few rows at a time are read by many plans."""
    n_rows, plan = rehearsal.labels.full.size, rehearsal.plan
    together = MOST_BYTES_KEPT // (plan.weights.nbytes + plan.coef.nbytes + 8 * n_rows) + 1
    passed: list[Features] = []
    for first in range(0, len(candidates), together):
        some = candidates[first : first + together]
        plans = [rehearsal.without(features) for features in some]
        here = np.empty((len(some), n_rows), dtype=np.intp)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            block = slice(start, min(start + ROWS_AT_ONCE, n_rows))
            kept = rows(block)
            for labels, without in zip(here, plans, strict=True):
                labels[block] = kept.labels(without)
        passed += [features for features, labels in zip(some, here, strict=True) if rehearsal.is_kept(labels)]
    return frozenset(passed)


class _SpareFeatures(Set[Features]):
    """A set that tests whether it contains something when it is asked, and remembers; a copy in a file is a plain set.

    Two threads may test the same at once, and find the same.
    """

    def __init__(self, rehearsal: _Rehearses, candidates: tuple[Features, ...]) -> None:
        self._rehearsal = rehearsal
        self._candidates = candidates
        self._passed: dict[Features, bool] = {}

    def __contains__(self, features: object) -> bool:
        if not isinstance(features, tuple) or features not in self._candidates:
            return False
        if features not in self._passed:
            self._passed[features] = self._rehearsal.passes(features)
        return self._passed[features]

    def __iter__(self) -> Iterator[Features]:
        return (features for features in self._candidates if features in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(set(self))

    def __reduce__(self) -> tuple[type[frozenset[Features]], tuple[list[Features]]]:
        return frozenset, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> "_SpareFeatures":
        return self  # nothing in it ever changes but what is remembered

    @classmethod
    def _from_iterable(cls, features: Iterable[Any]) -> Set[Any]:
        return frozenset(features)
