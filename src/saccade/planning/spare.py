"""Without which features the certificate still holds: tested on the calibration rows, when somebody asks.

Most models never meet a row that lacks a feature, so nothing is tested when they are made. What the tests need is kept
instead: of every calibration row the full model's scores, and the values of the features that count where another is
missing. These are the features that checkpoints weigh, those of the regression, which replace what is missing, and the
missing features themselves.

All of these tests together keep the confidence (Bonferroni). That the plan was chosen on the same rows needs no more as
long as bolder plans only add errors, because a plan that passes then implies the last one that should have.
"""

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.planning.absence import Population, plan_without
from saccade.planning.choosing import Sample
from saccade.planning.prices import Prices
from saccade.promises.certificate import Certificate, strictest
from saccade.promises.labels import Labels
from saccade.promises.promise import Promise, is_kept
from saccade.reading.arrays import ArraySource
from saccade.reading.plan import Plan, decided
from saccade.reading.reader import read_plan

__all__ = ["spare_features"]

Reals = NDArray[np.float64]
Rows = NDArray[np.floating[Any]]
Features = tuple[int, ...]

# Of so many features, the first that are asked for, it is tested whether a row may lack them; of fewer where the tests
# would read more values than that.
MOST_SPARED = 64
MOST_VALUES_SPARED = 300_000_000
# Rows that take more memory than this are not kept, and the tests are made at once.
MOST_BYTES_KEPT = 64_000_000


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
    rows = calibration.values
    most = min(MOST_SPARED, int(MOST_VALUES_SPARED / (rows.shape[0] * certificate.features_per_row)))
    alone = [(int(feature),) for feature in dict.fromkeys(plan.order[:most].tolist())]
    groups = [tuple(prices.members(int(group)).tolist()) for group in prices.groups]
    candidates = tuple(dict.fromkeys([*alone, *groups]))
    if not candidates:
        return frozenset()
    confidence = 1 - (1 - certificate.confidence) / len(candidates)
    full, labels = calibration.read(plan.without_stops()).margin, calibration.labels
    kept = _features_kept(plan, population, candidates)
    if rows.shape[0] * kept.size * rows.itemsize + full.nbytes <= MOST_BYTES_KEPT:
        values = np.take(rows, kept, axis=1)
        return _SpareFeatures(_Rehearsal(plan, promise, confidence, population, kept, values, full, labels), candidates)
    everything = np.arange(plan.n_features)
    rehearsal = _Rehearsal(plan, promise, confidence, population, everything, rows, full, labels)
    return frozenset(features for features in candidates if rehearsal.passes(features))


def _features_kept(plan: Plan, population: Population, candidates: tuple[Features, ...]) -> NDArray[np.intp]:
    missing = np.array([feature for features in candidates for feature in features], dtype=np.intp)
    return np.unique(np.concatenate([_weighed(plan), population.regression.order, missing])).astype(np.intp)


def _weighed(plan: Plan) -> NDArray[np.uint32]:
    """Return the features that checkpoints weigh."""
    return plan.order[: plan.checkpoints[-1] if plan.checkpoints.size else 0]


@dataclass(frozen=True, eq=False)
class _Rehearsal:
    """What is kept of the calibration rows to read them once more as if they lacked some features."""

    plan: Plan
    promise: Promise
    confidence: float
    population: Population
    kept: NDArray[np.intp]  # features, ascending
    values: Rows  # (rows, kept)
    full: Reals  # (rows, scores) the full scores, to the bit as a reader sums them
    labels: Labels

    def passes(self, absent: Features) -> bool:
        """Whether the promise is kept for these rows without these features."""
        plan = self.plan
        missing = np.isin(np.arange(plan.n_features), absent)
        without = plan_without(plan, self.population, missing, strictest(self.promise.delta))
        # Read to the end, a row has its full score and what the absence changes in it. So rows keep their label to the
        # bit where it changes nothing; a sum over other features would round otherwise.
        changes = without._replace(
            order=np.searchsorted(self.kept, _weighed(plan)).astype(np.uint32),
            coef=np.ascontiguousarray((without.coef - plan.coef)[:, self.kept]),
            intercept=without.intercept - plan.intercept,
        )
        margin, _, stopped, _ = read_plan(changes, ArraySource(self.values))
        margin[~stopped] += self.full[~stopped]
        return is_kept(self.promise, decided(margin), self.labels, self.confidence)


class _SpareFeatures(Set[Features]):
    """A set that tests whether it contains something when it is asked, and remembers; a copy in a file is a plain set.

    Two threads may test the same at once, and find the same.
    """

    def __init__(self, rehearsal: _Rehearsal, candidates: tuple[Features, ...]) -> None:
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
