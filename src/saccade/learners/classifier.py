"""What Pegasos, Perceptron and Passive-Aggressive have in common: a scikit-learn classifier over online learners."""

import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from saccade.boundaries import Budget, as_boundary
from saccade.exceptions import LevelNotHeldWarning, OtherVersionWarning
from saccade.inputs import Rows, check_rows, encode_labels, raise_not_finite
from saccade.kernels.reordering import shuffle
from saccade.kernels.state import STEP
from saccade.learners.online import OnlineLearner, UpdateRule, new_learner
from saccade.learners.record import TrainingRecord
from saccade.orders import check_order
from saccade.plan import Plan, Reading
from saccade.readers.rows import read_rows
from saccade.version import __version__

__all__ = ["AttentiveLearner"]

# The chance of a false alarm when the audit's count is tested against the level.
ALARM = 0.01


class AttentiveLearner(ClassifierMixin, BaseEstimator):
    """The common part of the learners; not for direct use.

    A learner reads the features of an example one after another and asks its boundary whether the margin is already
    clear. A clear example is filtered; the others are read to the end and may move the weights.
    """

    boundary: Any
    order: str
    max_iter: int
    average: bool
    fit_intercept: bool
    audit: float
    shuffle: bool
    class_weight: Any
    warm_start: bool
    n_jobs: int | None
    random_state: Any

    def _update_rule(self) -> UpdateRule:
        """Return the learner's own rule; raise on bad parameters of its own."""
        raise TypeError(f"{type(self).__name__} is not for direct use: take Pegasos, Perceptron or PassiveAggressive.")

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, CSR matrix or table of shape (rows, features)
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), optional
            How much each example counts, relative to the mean so far; a row of weight 0 is passed over.
        """
        self._check_parameters()
        going_on = self.warm_start and hasattr(self, "_learners")
        X, y = check_rows(self, X, y=y, reset=not going_on)
        classes, codes = encode_labels(y)
        if going_on and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True goes on with the classes {self.classes_.tolist()}, but y has {classes.tolist()}. "
                "Pass y with the same classes, or set warm_start=False."
            )
        weight = self._weights(X, y, classes, codes, sample_weight, in_part=False)
        learners = [one.copy() for one in self._learners] if going_on else self._new_learners(X, classes)
        seed, first = learners[0].settings.seed, int(learners[0].counters[STEP])
        rows = np.arange(X.shape[0], dtype=np.uint32)
        for turn in range(self.max_iter):
            if self.shuffle:
                shuffle(rows, seed, first + turn)
            self._pass(learners, X, codes, rows, weight)
        self._take(learners, classes)
        self.n_iter_ = self.max_iter
        self._warn_if_level_not_held()
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one pass over the rows, in their order; the first call needs all ``classes``.

        The same stream of rows gives the same bits, however it is split into calls.
        """
        first = not hasattr(self, "_learners")
        self._check_parameters()
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" is not supported by partial_fit, which does not see all labels. Compute the '
                "weights with sklearn.utils.compute_class_weight on a sample and pass them as a dict."
            )
        X, y = check_rows(self, X, y=y, reset=first)
        known = self._classes_for(y, classes, first)
        codes = np.searchsorted(known, y)
        if not np.array_equal(known[np.minimum(codes, len(known) - 1)], y):
            raise ValueError(f"y has labels that are not among the classes {known.tolist()} of the first call.")
        weight = self._weights(X, y, known, codes, sample_weight, in_part=True)
        learners = self._new_learners(X, known) if first else [one.copy() for one in self._learners]
        self._pass(learners, X, codes, np.arange(X.shape[0], dtype=np.uint32), weight)
        self._take(learners, known)
        self._warn_if_level_not_held()
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, reading no further than the boundary demands."""
        return self.read(X).label

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin at which the reading of each row ended: the one that ``predict`` goes by.

        Use ``full_margin`` for margins that were read to the end.
        """
        return self.read(X).margin

    def full_margin(self, X: Any) -> NDArray[np.float64]:
        """Return the margins from all features: ``X @ coef_.T + intercept_``, one column per class beyond two."""
        X = self._check_for_reading(X)
        margin, _, _ = self._read_all(X, [plan._replace(checkpoints=plan.checkpoints[:0]) for plan in self._plans])
        return margin

    def read(self, X: Any) -> Reading:
        """Return label, margin, number of features read and whether the reading stopped early, for each row."""
        X = self._check_for_reading(X)
        margin, n_read, stopped = self._read_all(X, self._plans)
        index = margin.argmax(axis=1) if margin.ndim == 2 else (margin > 0).astype(np.intp)
        return Reading(self.classes_[index], margin, n_read, stopped)

    def _check_for_reading(self, X: Any) -> Rows:
        check_is_fitted(self)
        return check_rows(self, X, reset=False)

    def _read_all(self, X: Rows, plans: list[Plan]) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        results = self._in_threads(read_rows, [(plan, X) for plan in plans])
        for *_, bad in results:
            if bad >= 0:
                raise_not_finite(self, X, bad)
        margins, reads, stops, _ = zip(*results, strict=True)
        if len(plans) == 1:
            return margins[0], reads[0], stops[0]
        return np.stack(margins, axis=1), np.sum(reads, axis=0), np.all(stops, axis=0)

    def _in_threads(self, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
        """Run independent calls, in threads where there are several; the kernels let go of the interpreter's lock."""
        if len(calls) == 1:
            return [function(*calls[0])]
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(delayed(function)(*call) for call in calls))

    def _check_parameters(self) -> None:
        self._update_rule()
        check_order(self.order)
        boundary = as_boundary(self.boundary)
        boundary.law(0.0)
        if isinstance(boundary, Budget) and self.order == "sorted":
            raise ValueError(
                "Budget cannot be learned with order='sorted': it would never read, and so never learn, the features "
                "that have no weight yet. Choose order='permuted', 'sampled' or 'natural'."
            )
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise ValueError(
                f"max_iter={self.max_iter!r}: expected an integer of at least 1, the passes over the rows."
            )
        if not 0 <= self.audit <= 1:
            raise ValueError(f"audit={self.audit!r}: expected a share between 0 and 1; 0 switches the audit off.")

    def _new_learners(self, X: Rows, classes: NDArray[Any]) -> list[OnlineLearner]:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but got one class: "
                f"{classes.tolist()}."
            )
        dtype: np.dtype[Any] = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
        return [
            new_learner(
                X.shape[1],
                dtype,
                as_boundary(self.boundary),
                self.order,
                self._update_rule(),
                fit_intercept=self.fit_intercept,
                average=self.average,
                audit=self.audit,
                seed=seed,
            )
            for seed in self._seeds(1 if len(classes) == 2 else len(classes))
        ]

    def _seeds(self, count: int) -> list[int]:
        """Draw a seed for each learner from the random state, without the cost of making one from an integer."""
        if isinstance(self.random_state, Integral):
            drawn = np.random.SeedSequence(int(self.random_state)).generate_state(count) >> 1
        else:
            drawn = check_random_state(self.random_state).randint(2**31, size=count)
        return [int(seed) for seed in drawn]

    def _classes_for(self, y: NDArray[Any], classes: ArrayLike | None, first: bool) -> NDArray[Any]:
        if not first:
            known: NDArray[Any] = self.classes_
            if classes is not None and not np.array_equal(np.unique(classes), known):
                raise ValueError(
                    f"classes={np.unique(classes).tolist()} is not the same as on the last call to partial_fit: "
                    f"{known.tolist()}."
                )
            return known
        if classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that will ever come.")
        encode_labels(y)
        return np.unique(classes)

    def _weights(
        self,
        X: Rows,
        y: NDArray[Any],
        classes: NDArray[Any],
        codes: NDArray[np.intp],
        sample_weight: ArrayLike | None,
        *,
        in_part: bool,
    ) -> NDArray[np.float64]:
        """Return the weight of each row; an empty array where all weigh the same."""
        if sample_weight is None and self.class_weight is None:
            return np.empty(0)
        weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True, allow_all_zero_weights=in_part
        )
        if self.class_weight is not None:
            weight = weight * compute_class_weight(self.class_weight, classes=classes, y=y)[codes]
        return np.asarray(weight, dtype=np.float64)

    def _pass(
        self,
        learners: list[OnlineLearner],
        X: Rows,
        codes: NDArray[np.intp],
        rows: NDArray[np.uint32],
        weight: NDArray[np.float64],
    ) -> None:
        if len(learners) == 1:
            targets = [codes.astype(np.int8)]
        else:
            targets = [(codes == index).astype(np.int8) for index in range(len(learners))]
        bad = self._in_threads(
            OnlineLearner.learn, [(one, X, target, rows, weight) for one, target in zip(learners, targets, strict=True)]
        )
        for row in bad:
            if row >= 0:
                raise_not_finite(self, X, row)

    def _take(self, learners: list[OnlineLearner], classes: NDArray[Any]) -> None:
        """Make what was learned visible, all at once, so that a failure before this leaves the model as it was."""
        plans = [one.plan() for one in learners]
        self._learners, self._plans = learners, plans
        self.classes_ = classes
        self.coef_ = np.stack([plan.coef for plan in plans])
        self.intercept_ = np.array([plan.offset for plan in plans])
        self.t_ = int(learners[0].counters[STEP])
        self.training_ = TrainingRecord.of(one.counters for one in learners)

    def _warn_if_level_not_held(self) -> None:
        delta, record = getattr(as_boundary(self.boundary), "delta", None), self.training_
        if delta is None or not record.decision_error > delta:
            return
        if binom.sf(record.n_missed - 1, record.n_important, delta) < ALARM:
            warnings.warn(
                f"The level delta={delta} was not held while learning: of {record.n_important} audited important "
                f"examples {record.n_missed} would have been filtered, {record.decision_error:.1%}. More passes "
                "(max_iter) or a larger audit let the boundary settle; a smaller delta makes it more cautious.",
                LevelNotHeldWarning,
                stacklevel=3,
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_saccade_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        version = state.pop("_saccade_version", "unknown")
        if version != __version__:
            warnings.warn(
                f"This {type(self).__name__} was pickled by saccade {version} and is loaded by {__version__}; it may "
                "behave differently or not at all. Fit it again, or load it with the version that wrote it.",
                OtherVersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
