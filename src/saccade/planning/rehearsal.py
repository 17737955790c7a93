"""Reading rows once more as if they lacked some features, from what is kept of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.following import find_clear
from saccade.planning.absence import Population, plan_without
from saccade.reading.plan import Plan, decided

__all__ = ["KeptRows", "Lacking", "features_kept", "plan_lacking"]

Reals = NDArray[np.float64]
Codes = NDArray[np.intp]


class Lacking(NamedTuple):
    """The plan for rows that lack some features, and the first checkpoint that would weigh any of them."""

    plan: Plan
    begin: int


def plan_lacking(plan: Plan, population: Population, absent: tuple[int, ...], level: float) -> Lacking:
    missing = np.isin(np.arange(plan.n_features), absent)
    places = np.flatnonzero(missing[plan.order[: plan.positions]])
    begin = int(np.searchsorted(plan.checkpoints, places[0], side="right")) if places.size else plan.checkpoints.size
    return Lacking(plan_without(plan, population, missing, level), begin)


def features_kept(plan: Plan, population: Population, candidates: tuple[tuple[int, ...], ...]) -> NDArray[np.intp]:
    """Return the features that count where others are missing: those that the plan weighs, by position, come first."""
    weighed = plan.order[: plan.positions]
    missing = np.array([feature for features in candidates for feature in features], dtype=np.intp)
    others = np.setdiff1d(np.concatenate([population.regression.order, missing]), weighed)
    return np.concatenate([weighed, others]).astype(np.intp)


@dataclass(frozen=True, eq=False)
class KeptRows:
    """What is kept of some rows to read them again."""

    plan: Plan
    kept: NDArray[np.intp]  # features
    values: NDArray[np.floating[Any]]  # (rows, kept)
    full: Reals  # (rows, scores) the full scores, to the bit as a reader sums them

    def labels(self, without: Lacking) -> Codes:
        """Return the labels that the rows get; those that stop before anything is missing stop there all the same."""
        labels, stops = self._with_all
        rows, here = np.flatnonzero(stops >= without.begin), labels.copy()
        here[rows], _ = self._read(without.plan, without.begin, rows)
        return here

    @cached_property
    def _with_all(self) -> tuple[Codes, Codes]:
        return self._read(self.plan, 0, np.arange(self.full.shape[0]))

    def _read(self, plan: Plan, begin: int, rows: Codes) -> tuple[Codes, Codes]:
        """Read rows that reach a checkpoint; return their labels and where they stop: beyond the last if nowhere."""
        last = plan.checkpoints.size
        margin, stops, left = np.empty((rows.size, plan.intercept.size)), np.full(rows.size, last), np.arange(rows.size)
        scores = np.zeros_like(margin)
        # Sums that go on from earlier ones begin where these do.
        anew = int(np.flatnonzero(plan.first[: begin + 1] == 0)[-1]) if begin < last else last
        for k in range(anew, last):
            first, end, start = plan.first[k], plan.checkpoints[k], plan.begins[k]
            weights = plan.weights[:, start : start + end - first]
            values = self.values[:, first:end] if left.size == len(self.values) else self.values[rows[left], first:end]
            scores = (scores if first else 0.0) + values @ weights.T + plan.shift[:, k]
            clear = np.empty(left.size, np.bool_)
            find_clear(scores, plan.lower[:, k], plan.upper[:, k], clear)
            margin[left[clear]], stops[left[clear]] = scores[clear], k
            left, scores = left[~clear], scores[~clear]
        margin[left] = self.full[rows[left]] + self._changes(plan, rows[left])
        return decided(margin), stops

    def _changes(self, plan: Plan, rows: Codes) -> Reals:
        """Return what an absence changes in the full scores.

        A row keeps its label to the bit where that is nothing; a sum over other features would round otherwise.
        """
        changed = np.flatnonzero((plan.coef != self.plan.coef).any(axis=0))
        values = self.values[np.ix_(rows, self._place[changed])]
        changes: Reals = values @ (plan.coef - self.plan.coef)[:, changed].T + (plan.intercept - self.plan.intercept)
        return changes

    @cached_property
    def _place(self) -> NDArray[np.intp]:
        place = np.zeros(self.plan.n_features, dtype=np.intp)
        place[self.kept] = np.arange(self.kept.size)
        return place
