"""Any fitted linear classifier, read attentively, with a certificate."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from saccade.asking.inquiry import Inquiry, Questions, resume
from saccade.asking.lazily import Fetch, LazyReading, read_lazily, read_lazily_async
from saccade.learners.pegasos import Pegasos
from saccade.models.linear import LinearModel, linear_model
from saccade.planning.absence import Population
from saccade.planning.boundaries import Boundary, Conditional, as_boundary
from saccade.planning.choosing import affordable, allowed_share, boldest, spare_features, unstopped
from saccade.planning.families import Family, Scores
from saccade.planning.orders import CODES
from saccade.planning.planners import plan_columns, plan_family
from saccade.planning.prices import Feature, Prices, price_list
from saccade.promises.certificate import Certificate
from saccade.promises.learn_then_test import rows_needed
from saccade.reading.inputs import as_read_only, check_rows, feature_names, is_plain, raise_not_finite
from saccade.reading.parameters import (
    ARRAY_LIKE,
    NONE,
    RANDOM_STATE,
    Kinds,
    check_parameters,
    having,
    instance,
    real,
    text,
)
from saccade.reading.plan import Plan, Reading, decided
from saccade.reading.reader import read_plan
from saccade.reading.tables import as_table, take_rows

__all__ = ["AttentiveClassifier", "attend"]

# More rows than these would hardly change a plan or a certificate.
MOST_PLANNING_ROWS = 20_000
MOST_PLANNING_CELLS = 100_000_000
MOST_CALIBRATION_ROWS = 50_000
MOST_CALIBRATION_CELLS = 120_000_000
FLOATS_AND_BYTES = (np.float64, np.float32, np.uint8)


def attend(
    model: Any,
    X: Any,
    *,
    delta: float = 0.01,
    confidence: float = 0.95,
    boundary: str | Boundary = "conditional",
    order: str = "greedy",
    costs: ArrayLike | Mapping[Any, float] | None = None,
    groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    average_features: float | None = None,
    fewest: str = "features",
    random_state: Any = None,
) -> "AttentiveClassifier":
    """Read a fitted linear classifier attentively: the same labels, up to a share delta, from a few features per row.

    Parameters
    ----------
    model : fitted linear classifier, or Pipeline of per-feature scalers that ends in one
    X : rows such as will be predicted; no labels are needed. Some plan, the others calibrate.
    delta, confidence, boundary, order, costs, groups, average_features, fewest, random_state
        As for ``AttentiveClassifier``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from saccade import attend
    >>> X, y = make_classification(5000, 100, n_informative=20, shuffle=False, random_state=0)
    >>> attentive = attend(LogisticRegression().fit(X, y), X, delta=0.05, random_state=0)
    >>> attentive.certificate_.upper_bound <= 0.05
    True
    >>> bool(attentive.read(X).n_read.mean() < 20)
    True
    """
    return AttentiveClassifier(
        FrozenEstimator(model),
        delta=delta,
        confidence=confidence,
        boundary=boundary,
        order=order,
        costs=costs,
        groups=groups,
        average_features=average_features,
        fewest=fewest,
        random_state=random_state,
    ).fit(X)


class AttentiveClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A linear classifier that stops reading a row's features once its label is clear, at a certified level.

    ``fit`` fits the estimator on a part of the rows and plans there, and calibrates on the rows held out. With a
    ``FrozenEstimator`` nothing is fitted, and ``y`` is not needed.

    Parameters
    ----------
    estimator : linear classifier, Pipeline of per-feature scalers that ends in one, or None for ``Pegasos()``
    delta : float
        The share of rows that may get another label than the full model gives them.
    confidence : float
        The probability, over the calibration rows, that the promise holds.
    boundary : {"conditional", "curved", "constant", "full"} or a boundary
    order : {"greedy", "sorted", "natural", "permuted", "sampled", "sampled-printed"}
    costs : array of shape (n_features,), or dict of feature or group to cost, optional
        What each feature costs, for the greedy order and for the choice of the plan; 1 where nothing is said.
    groups : dict of group to features, or a label for each feature, optional
        Features that are bought together, once: a blood sample, a record. A group costs what ``costs`` says of it, or
        the sum of its features' costs.
    calibration_size : float
        The share of rows that calibrate.
    average_features : float, optional
        In place of delta: read at most so many features per row on average. The certificate says which delta it gives.
    fewest : {"features", "columns"}
        What is to be few: the features that decide a row, on average, or the columns that any row reads, for data that
        is stored in columns, such as Parquet. Then ``costs`` are what a column costs, such as its bytes.
    when_too_few : {"raise", "read"}
        Where the rows do not suffice for the promise: an error, or a plan that reads every feature.
    n_jobs : int, optional
        Threads that predict.
    random_state : int, RandomState or None

    Attributes
    ----------
    estimator_, classes_, n_features_in_, feature_names_in_
    plan_ : Plan
    certificate_ : Certificate
    population_ : Population, what the planning rows tell of the features
    prices_ : Prices

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from saccade import AttentiveClassifier
    >>> X, y = make_classification(5000, 50, random_state=0)
    >>> model = AttentiveClassifier(delta=0.05, random_state=0).fit(X, y)
    >>> model.certificate_.delta
    0.05
    """

    _kinds: ClassVar[Kinds] = {
        "estimator": [having("fit"), NONE],
        "delta": [real(0, 1)],
        "confidence": [real(0, 1)],
        "boundary": [instance(str), having("law", "limit")],
        "order": [text({"greedy", *CODES})],
        "costs": [ARRAY_LIKE, instance(dict), NONE],
        "groups": [ARRAY_LIKE, instance(dict), NONE],
        "calibration_size": [real(0, 1)],
        "average_features": [real(0), NONE],
        "fewest": [text({"features", "columns"})],
        "when_too_few": [text({"raise", "read"})],
        "n_jobs": [instance(Integral), NONE],
        "random_state": [RANDOM_STATE],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        delta: float = 0.01,
        confidence: float = 0.95,
        boundary: str | Boundary = "conditional",
        order: str = "greedy",
        costs: ArrayLike | Mapping[Any, float] | None = None,
        groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
        calibration_size: float = 0.3,
        average_features: float | None = None,
        fewest: str = "features",
        when_too_few: str = "raise",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.delta = delta
        self.confidence = confidence
        self.boundary = boundary
        self.order = order
        self.costs = costs
        self.groups = groups
        self.calibration_size = calibration_size
        self.average_features = average_features
        self.fewest = fewest
        self.when_too_few = when_too_few
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator, plan and calibrate; or plan and calibrate only, where the estimator is frozen."""
        self._check_parameters()
        X, y = self._check_given(X, y)
        random = check_random_state(self.random_state)
        mixed = random.permutation(X.shape[0])
        held_out = round(self.calibration_size * mixed.size)
        calibration, others = mixed[:held_out], mixed[held_out:]
        estimator = self.estimator
        if not isinstance(estimator, FrozenEstimator):
            estimator = self._fitted(X, y, np.sort(others), fit_params)
        model = linear_model(estimator)
        self._check_fits(model, X)
        seed = int(random.randint(2**31 - 1))
        found = model.names if model.names is not None else feature_names(X)
        names = None if found is None else tuple(map(str, found))
        prices = price_list(self.costs, self.groups, model.coef.shape[1], names)
        plan, certificate, population = self._planned(model, prices, X, others, calibration, seed)
        validate_data(self, X, skip_check_array=True)
        self.estimator_, self.classes_, self.plan_, self.certificate_ = estimator, model.classes, plan, certificate
        self.population_, self.prices_ = population, prices
        self._names = names
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, reading no further than the plan demands."""
        return self.read(X).label

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margin at which the reading of each row ended: the one that ``predict`` goes by."""
        return self.read(X).margin

    def full_margin(self, X: Any) -> NDArray[np.float64]:
        """Return the margins from all features."""
        X = self._check(X)
        return _margins(self._read(self.plan_.without_stops(), X)[0])

    def read(self, X: Any) -> Reading:
        """Return label, margin, number of features read and whether the reading stopped early, for each row."""
        X = self._check(X)
        margin, n_read, stopped = self._read(self.plan_, X)
        return Reading(self.classes_[decided(margin)], _margins(margin), n_read, stopped)

    def inquire(
        self,
        costs: ArrayLike | Mapping[Any, float] | None = None,
        *,
        known: Mapping[Feature, float | None] | None = None,
        groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    ) -> Inquiry:
        """Begin to ask for the features of one row, one after another, until its label is clear.

        ``known`` values cost nothing. ``costs`` and ``groups``, where given, replace those of the model for this row.
        They change what ``spent`` says and what is fetched together, not the order, for the plan is what is certified.
        """
        return Inquiry(self._questions(costs, groups), known)

    def resume(self, text: str) -> Inquiry:
        """Go on with an inquiry that ``Inquiry.to_json`` wrote down, in another process or on another day."""
        return resume(text, self._questions())

    def predict_lazily(
        self,
        fetch: Fetch,
        rows: Iterable[Any],
        *,
        concurrency: int = 1,
        batch: int | None = None,
    ) -> LazyReading:
        """Predict rows whose features are fetched when they are wanted.

        Parameters
        ----------
        fetch : function or coroutine function
            ``fetch(row, feature)`` returns the value, None where it cannot be had, or a dict of several features'
            values. With ``batch`` it is called with a list of rows that want the same feature, and returns a list.
        rows : whatever ``fetch`` knows rows by: keys, records, addresses
        concurrency : int
            How many calls there may be at once; plain functions are then called from threads.
        batch : int, optional
            How many rows a call may be about.

        Returns
        -------
        LazyReading
            ``label``, ``margin``, ``n_asked``, ``spent``, ``certified``, and ``failed``: the exceptions by row. Labels
            of rows that failed are masked. Retries and time-outs are the caller's.
        """
        return read_lazily(self._questions(), fetch, rows, concurrency=concurrency, batch=batch)

    async def predict_lazily_async(
        self,
        fetch: Fetch,
        rows: Iterable[Any],
        *,
        concurrency: int = 1,
        batch: int | None = None,
    ) -> LazyReading:
        """Do as ``predict_lazily`` does where an event loop is already running."""
        return await read_lazily_async(self._questions(), fetch, rows, concurrency=concurrency, batch=batch)

    def _questions(self, costs: Any = None, groups: Any = None) -> Questions:
        check_is_fitted(self)
        prices = self.prices_
        if costs is not None or groups is not None:
            given = self.costs if costs is None else costs, self.groups if groups is None else groups
            prices = price_list(*given, self.plan_.n_features, self._names)
        delta = self.certificate_.delta
        return Questions(self.plan_, self.population_, prices, self.classes_, self._names, delta)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say that what ``fit`` is given beyond X and y goes to the estimator's ``fit``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        estimator = Pegasos() if self.estimator is None else self.estimator
        return MetadataRouter(owner=self).add(estimator=estimator, method_mapping=mapping)

    def _check_parameters(self) -> None:
        check_parameters(self, self._kinds)

    def _check_given(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return rows that can be cut into parts, and labels that go with them."""
        if as_table(X) is None:
            X = check_array(X, accept_sparse="csr", dtype=FLOATS_AND_BYTES, ensure_all_finite=False, input_name="X")
        if y is not None and not isinstance(self.estimator, FrozenEstimator):
            y = column_or_1d(y, warn=True)
            assert_all_finite(y, input_name="y")
            check_consistent_length(X, y)
            check_classification_targets(y)
        return X, y

    def _fitted(self, X: Any, y: Any, rows: NDArray[np.intp], fit_params: dict[str, Any]) -> Any:
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: the estimator is fitted with it. Wrap a fitted one "
                "in sklearn.frozen.FrozenEstimator to fit without y."
            )
        estimator = Pegasos(random_state=self.random_state) if self.estimator is None else clone(self.estimator)
        routed = process_routing(self, "fit", **fit_params).estimator.fit
        part = {name: take_rows(value, rows) for name, value in routed.items()}
        return estimator.fit(take_rows(X, rows), take_rows(y, rows), **part)

    def _check_fits(self, model: LinearModel, X: Any) -> None:
        given, taught = X.shape[1], model.coef.shape[1]
        if given != taught:
            raise ValueError(
                f"The model was fitted on {taught} features, but X has {given}. Pass rows of the same features."
            )
        columns = feature_names(X)
        if model.names is not None and columns is not None and list(model.names) != list(columns):
            apart = next(k for k in range(taught) if model.names[k] != columns[k])
            raise ValueError(
                "The feature names should match those that the model was fitted on, in the same order: column "
                f"{apart} of X is {str(columns[apart])!r}, not {str(model.names[apart])!r}."
            )

    def _planned(
        self,
        model: LinearModel,
        prices: Prices,
        X: Any,
        planning: NDArray[np.intp],
        calibration: NDArray[np.intp],
        seed: int,
    ) -> tuple[Plan, Certificate, Population]:
        n = model.coef.shape[1]
        priced = self.costs is not None or self.groups is not None
        scores = Scores(model.coef, model.intercept, prices, looking=not priced)
        enough = max(MOST_CALIBRATION_CELLS // n, 4 * rows_needed(self.delta, self.confidence))
        calibration = calibration[: min(MOST_CALIBRATION_ROWS, enough)]
        planning = planning[: min(MOST_PLANNING_ROWS, MOST_PLANNING_CELLS // n)]
        if planning.size == 0 or calibration.size == 0:
            raise ValueError(
                f"{planning.size + calibration.size} rows are too few to plan on some and calibrate on others."
            )
        planning_rows = self._as_floats(X, planning)
        allowed = allowed_share(calibration.size, self.delta, self.confidence)
        family = self._family(scores, planning_rows, allowed, seed)
        calibration_rows = self._as_floats(X, calibration)
        population = Population(
            regression=family.regression,
            mean=planning_rows.mean(axis=0, dtype=np.float64),
            variance=planning_rows.var(axis=0, dtype=np.float64),
            low=np.minimum(planning_rows.min(axis=0), calibration_rows.min(axis=0)).astype(np.float64),
            high=np.maximum(planning_rows.max(axis=0), calibration_rows.max(axis=0)).astype(np.float64),
        )
        plan, certificate = self._chosen(family, planning_rows, calibration_rows)
        spare = spare_features(plan, certificate, population, prices, calibration_rows)
        return plan, certificate, replace(population, spare=spare)

    def _family(self, scores: Scores, rows: NDArray[Any], allowed: float, seed: int) -> Family:
        boundary = self._boundary()
        if self.fewest == "features":
            return plan_family(scores, rows, boundary, self.order, allowed, seed)
        if not isinstance(boundary, Conditional) or self.order != "greedy":
            raise ValueError(
                f"fewest='columns' chooses its own order by what features tell of the margin: it does not go with "
                f"boundary={self.boundary!r}, order={self.order!r}. Leave these two as they are by default."
            )
        return plan_columns(scores, rows, boundary, seed)

    def _chosen(self, family: Family, planning: NDArray[Any], calibration: NDArray[Any]) -> tuple[Plan, Certificate]:
        """Return the plan that keeps the level, or the average, at the least cost."""
        if self.average_features is not None:
            return affordable(family, planning, calibration, self.average_features, self.confidence)
        size, level = calibration.shape[0], (self.delta, self.confidence)
        found = boldest(family, calibration, *level)
        if found is None and self.when_too_few == "raise":
            enough = size >= rows_needed(*level)
            reason = (
                f"even the safest plan of {self._boundary()!r} gives other labels too often"
                if enough
                else f"at least {rows_needed(*level)} are needed, and more where labels disagree"
            )
            raise ValueError(
                f"{size} calibration rows do not suffice to promise delta={self.delta} with "
                f"confidence={self.confidence}: {reason}. {'Choose another boundary' if enough else 'Pass more rows'}, "
                "raise delta or calibration_size, or set when_too_few='read' for a plan that reads every feature."
            )
        return unstopped(family, size, *level) if found is None else found

    def _boundary(self) -> Boundary:
        return Conditional() if self.boundary == "conditional" else as_boundary(self.boundary)

    def _as_floats(self, X: Any, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return some rows as an array of floats, all of them finite: what is planned on is read in full."""
        part = check_array(take_rows(X, rows), accept_sparse="csr", dtype=FLOATS_AND_BYTES, input_name="X")
        dense = part.toarray() if hasattr(part, "toarray") else part
        return np.ascontiguousarray(dense, dtype=np.float64 if dense.dtype == np.float64 else np.float32)

    def _check(self, X: Any) -> Any:
        if not is_plain(self, X, reset=False):
            check_is_fitted(self)
            if (table := as_table(X)) is not None:
                validate_data(self, X, reset=False, skip_check_array=True)
                X = table.one_array()
                if X is None or X.dtype not in FLOATS_AND_BYTES:
                    return table
                return as_read_only(X)
        return check_rows(self, X, reset=False)

    def _read(self, plan: Plan, X: Any) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_]]:
        margin, n_read, stopped, bad = read_plan(plan, X, self.n_jobs)
        if bad >= 0:
            raise_not_finite(self, X, bad)
        return margin, n_read, stopped

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _margins(margin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return margins as scikit-learn gives them: one per row for two classes, else one per row and class."""
    return margin[:, 0] if margin.shape[1] == 1 else margin
