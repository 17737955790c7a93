"""How learners read rows: in full for a label, or no further than their boundary demands."""

from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from saccade.learners.online import OnlineLearner
from saccade.reading.deferred import answer
from saccade.reading.inputs import Demanded, read_checked
from saccade.reading.plan import Outcome, Plan, Reading
from saccade.reading.reader import in_threads, read_plan
from saccade.reading.sources import Source, column_source

__all__ = ["ReadingMixin"]


class ReadingMixin:
    """What every learner says of rows, once it has learned."""

    n_jobs: int | None
    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    _learners: list[OnlineLearner]
    _saved_plans: list[Plan] | None = None  # of a learner that was loaded, instead of the state that makes them

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, from all of its features; ``read`` stops early.

        For a Dask DataFrame it is a lazy Series named label, for a Dask Array a lazy Array.
        """
        labels: NDArray[Any] = answer(self, X, "label", full=True)
        return labels

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margins from all features: ``X @ coef_.T + intercept_``, one column per class beyond two.

        For a Dask collection they are lazy.
        """
        margins: NDArray[np.float64] = answer(self, X, "margin", full=True)
        return margins

    def full_margin(self, X: Any) -> NDArray[np.float64]:
        """Return what ``decision_function`` does."""
        return self.decision_function(X)

    def read(self, X: Any) -> Reading:
        """Read each row no further than the boundary demands: label, margin, features read, whether it stopped early.

        Nothing is certified: other labels than those of ``predict`` are as frequent as the boundary lets them be. Use
        ``saccade.attend`` to certify that share.

        For a Dask DataFrame these are the columns of a lazy one, with ``margin_`` and the class for each of several;
        for a Dask Array the reading has lazy Arrays.
        """
        reading: Reading = answer(self, X, full=False)
        return reading

    def _reading(self, X: Any, *, full: bool, costs: bool = False, skip_bad: bool = False) -> Reading:
        run = self._run_in_full if full else self._run_plans
        return read_checked(self, X, column_source, run, skip_bad=skip_bad)

    def _demanded_by(self, full: bool) -> Demanded | None:
        """Return what gives the columns that are needed; None for all of them."""
        return None

    def _snapshot(self) -> Self:
        """Return a copy with no more than reading needs."""
        kept = copy(self)
        for name in ("_remembered", "training_"):
            kept.__dict__.pop(name, None)
        return kept

    @property
    def plans_(self) -> list[Plan]:
        """The plans that ``read`` follows: one for two classes, else one for each class against the others."""
        if self._saved_plans is not None:
            return self._saved_plans
        check_is_fitted(self)
        return [learner.plan for learner in self._learners]

    @property
    def variances_(self) -> NDArray[np.float64]:
        """The variances of the features outside and inside of the class, estimated from the values read.

        The shape is (1, 2, features) or (classes, 2, features), with 0 features if the boundary never stops. A
        learner loaded from a file has none.
        """
        return np.array([learner.moments().var for learner in self._learners])

    def _run_in_full(self, source: Source) -> Outcome:
        """Read rows in full, by one pass for all classes; each of them counts what was read."""
        outcome = read_plan(Plan.in_full(self.coef_, self.intercept_), source, self.n_jobs)
        return outcome._replace(n_read=outcome.n_read * outcome.margin.shape[1])

    def _run_plans(self, source: Source) -> Outcome:
        """Read rows by the plan of each learner, and those that no class accepts to the end.

        Margins at different stops cannot be compared.
        """
        outcome = self._run(self.plans_, source)
        if outcome.margin.shape[1] == 1:
            return outcome
        rejected = np.flatnonzero(outcome.stopped & (outcome.margin <= 0).all(axis=1))
        if rejected.size == 0:
            return outcome
        whole = self._run_in_full(source.take(rejected))
        for target, values in zip(outcome[:3], whole[:3], strict=True):
            target[rejected] = values
        bad = [outcome.bad, int(rejected[whole.bad]) if whole.bad >= 0 else -1]
        return outcome._replace(bad=min((row for row in bad if row >= 0), default=-1))

    def _run(self, plans: list[Plan], source: Source) -> Outcome:
        outcomes = in_threads(read_plan, [(plan, source) for plan in plans], self.n_jobs)
        if len(outcomes) == 1:
            only: Outcome = outcomes[0]
            return only
        margins, reads, stops, bad = zip(*outcomes, strict=True)
        first_bad = min((row for row in bad if row >= 0), default=-1)
        return Outcome(np.concatenate(margins, axis=1), np.sum(reads, axis=0), np.any(stops, axis=0), first_bad)
