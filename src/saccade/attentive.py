"""Any fitted linear classifier, read attentively, with a certificate."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, NoReturn, Self

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
from saccade.learners.held_out import refuse_training_rows
from saccade.learners.pegasos import Pegasos
from saccade.models.additive import Additive
from saccade.models.agreement import named_by, own_labels
from saccade.models.apart import take_apart
from saccade.models.thresholds import at_threshold
from saccade.planning.boundaries import Boundary, as_boundary
from saccade.planning.choosing import Sample
from saccade.planning.families import Priced
from saccade.planning.orders import CODES
from saccade.planning.prepare import Terms, prepare, split_rows
from saccade.planning.prices import Feature, price_list
from saccade.promises.certificate import strictest
from saccade.promises.labels import Labels
from saccade.promises.promise import promise_of
from saccade.reading.arrays import FLOATS_AND_BYTES
from saccade.reading.inputs import check_numbers, codes_among, read_checked
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
from saccade.reading.plan import Outcome, Reading
from saccade.reading.reader import read_plan
from saccade.reading.sources import Source
from saccade.reading.tables import as_table, refuse_other_containers, take_rows

__all__ = ["AttentiveClassifier", "attend"]

# Of the rows that do not calibrate, the estimator is fitted on this share, and the others plan.
FITTING_SHARE = 0.75


def attend(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    delta: float | Mapping[Any, float] = 0.01,
    confidence: float = 0.95,
    promise: str = "classes",
    threshold: float | None = None,
    boundary: str | Boundary = "conditional",
    order: str = "greedy",
    costs: ArrayLike | Mapping[Any, float] | None = None,
    groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    average_features: float | None = None,
    fewest: str = "features",
    calibration_size: float = 0.3,
    when_too_few: str = "raise",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> "AttentiveClassifier":
    """Read a fitted linear classifier attentively: the same labels, up to a share delta, from a few features per row.

    Parameters
    ----------
    model : fitted linear classifier, or Pipeline of per-feature scalers that ends in one
    X : rows such as will be predicted; no labels are needed. Some plan, the others calibrate.
    delta, confidence, threshold, boundary, order, costs, groups, average_features, fewest, random_state
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
        promise=promise,
        threshold=threshold,
        boundary=boundary,
        order=order,
        costs=costs,
        groups=groups,
        average_features=average_features,
        fewest=fewest,
        calibration_size=calibration_size,
        when_too_few=when_too_few,
        n_jobs=n_jobs,
        random_state=random_state,
    ).fit(X, y)


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
    threshold : float, optional
        For two classes, where the label changes: a probability where the model has ``predict_proba``, else a margin.
        FixedThresholdClassifier and TunedThresholdClassifierCV bring their own. All margins are measured from it.
    boundary : {"conditional", "curved", "constant", "full"} or a boundary
    order : {"greedy", "sorted", "natural", "permuted", "sampled", "sampled-printed"}
    costs : array of shape (n_features,), or dict of feature or group to cost, optional
        What each feature costs, for the greedy order and for the choice of the plan; 1 where nothing is said. What
        costs 0 is read first.
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
        With ``threshold`` the estimator is in a FixedThresholdClassifier.
    additive_ : Additive, what the estimator was taken apart into
    plan_ : Plan
    certificate_ : Certificate
    population_ : Population, what the planning rows tell of the features
    prices_ : Prices
    columns_ : list, the columns that the plan can ask for, in reading order; by name where names are known

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
        "delta": [real(0, 1), instance(dict)],
        "confidence": [real(0, 1)],
        "promise": [text({"classes", "rows", "accuracy"})],
        "threshold": [real(-math.inf), NONE],
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
        delta: float | Mapping[Any, float] = 0.01,
        confidence: float = 0.95,
        promise: str = "classes",
        threshold: float | None = None,
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
        self.promise = promise
        self.threshold = threshold
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
        calibration, planning = mixed[:held_out], mixed[held_out:]
        estimator = self.estimator
        if not isinstance(estimator, FrozenEstimator):
            fitting, planning = np.split(planning, [round(FITTING_SHARE * planning.size)])
            estimator = self._fitted(X, y, np.sort(fitting), fit_params)
        model = at_threshold(estimator, self.threshold)
        additive = named_by(take_apart(model), X)
        prices = price_list(self.costs, self.groups, additive.n_columns, additive.columns)
        # A look costs time, which is not to be weighed against what users say that columns cost.
        priced = Priced(additive, prices.to_plan_by(), looking=self.costs is None and self.groups is None)
        planning, calibration = split_rows(planning, calibration, additive.coef.shape[1])
        if isinstance(estimator, FrozenEstimator):
            refuse_training_rows(estimator, X, np.concatenate([planning, calibration]))
        true = y if self.promise == "accuracy" else None
        plans_on, calibrates_on = (_sample(model, additive, X, true, rows) for rows in (planning, calibration))
        terms, seed = self._terms(additive.classes), int(random.randint(2**31 - 1))
        prepared = prepare(priced, plans_on, calibrates_on, terms, additive.classes, X.shape[0], seed)
        validate_data(self, X, skip_check_array=True)
        self.estimator_, self.classes_, self.additive_ = model, additive.classes, additive
        self.plan_, self.certificate_, self.population_ = prepared.plan, prepared.certificate, prepared.population
        self.prices_ = prices
        self.__dict__.pop("_shared_questions", None)  # of an earlier fit
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, reading no further than the plan demands."""
        return self.read(X).label

    @property
    def decision_function(self) -> NoReturn:
        """There is none: an early margin ranks nothing."""
        raise AttributeError(
            "AttentiveClassifier has no decision_function: the margin at which a reading stopped says on which side of "
            "the threshold a row lies, and not how far. Use full_margin(X) for margins from all features, "
            "estimator_.predict_proba(X) for probabilities, read(X).margin for the margin at the stop, and threshold= "
            "to change where the label changes."
        )

    def full_margin(self, X: Any) -> NDArray[np.float64]:
        """Return the margins from all features, measured from the threshold."""
        return read_checked(self, X, self._source, self._run_in_full).margin

    def read(self, X: Any) -> Reading:
        """Return label, margin, number of features read and whether the reading stopped early, for each row."""
        return read_checked(self, X, self._source, self._run_plan, self._demanded)

    def read_source(self, source: Source, *, full: bool = False) -> Reading:
        """Read the rows of any storage, in full or not; a row whose values are not finite has such a margin."""
        check_is_fitted(self)
        return Reading.of(self.classes_, self._run_in_full(source) if full else self._run_plan(source))

    def predict_source(self, source: Source) -> Reading:
        """Read the rows of any storage as ``predict`` does: by the plan."""
        return self.read_source(source)

    @property
    def columns_(self) -> list[Feature]:
        """The columns that the plan can ask for, in reading order: by name where names are known, else by place."""
        check_is_fitted(self)
        names = self.additive_.columns
        return [part if names is None else names[part] for part in self._demanded().tolist()]

    def _demanded(self) -> NDArray[np.intp]:
        return self.plan_.demanded

    def _source(self, X: Any) -> Source:
        return self.additive_.source(X)

    def _run_plan(self, source: Source) -> Outcome:
        return read_plan(self.plan_, source, self.n_jobs)

    def _run_in_full(self, source: Source) -> Outcome:
        return read_plan(self.plan_.without_stops(), source, self.n_jobs)

    def inquire(
        self,
        costs: ArrayLike | Mapping[Any, float] | None = None,
        *,
        known: Any = None,
        groups: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
    ) -> Inquiry:
        """Begin to ask for the features of one row, one after another, until its label is clear.

        ``known`` values cost nothing: a dict of feature to value, with None for what cannot be had, or a pandas Series,
        such as a row of a table, whose missing values are not known yet. ``costs`` and ``groups``, where given, replace
        those of the model for this row. They change what ``spent`` says and what is fetched together, not the order,
        for the plan is what is certified.
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
        """Return what inquiries go by, shared by all of them that have no prices of their own."""
        shared: Questions | None = self.__dict__.get("_shared_questions")
        if shared is None:
            check_is_fitted(self)
            delta, columns = strictest(self.certificate_.delta), self.additive_.columns
            shared = Questions(self.plan_, self.population_, self.prices_, self.classes_, columns, delta)
            self._shared_questions = shared
        if costs is None and groups is None:
            return shared
        given = self.costs if costs is None else costs, self.groups if groups is None else groups
        return replace(shared, prices=price_list(*given, self.additive_.n_columns, self.additive_.columns))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_shared_questions"}

    def get_metadata_routing(self) -> MetadataRouter:
        """Say that what ``fit`` is given beyond X and y goes to the estimator's ``fit``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        estimator = Pegasos() if self.estimator is None else self.estimator
        return MetadataRouter(owner=self).add(estimator=estimator, method_mapping=mapping)

    def _check_parameters(self) -> None:
        check_parameters(self, self._kinds)

    def _check_given(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return rows that can be cut into parts, and labels that go with them."""
        refuse_other_containers(X)
        if as_table(X) is None:
            check_numbers(X)
            X = check_array(X, accept_sparse="csr", dtype=FLOATS_AND_BYTES, ensure_all_finite=False, input_name="X")
        if self.promise == "accuracy" and y is None:
            raise ValueError('promise="accuracy" needs y, the true label of each row of X. Pass it, or promise less.')
        if y is not None:
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

    def _terms(self, classes: NDArray[Any]) -> Terms:
        return Terms(
            promise=promise_of(self.promise, self.delta, classes),
            confidence=self.confidence,
            boundary=as_boundary(self.boundary, planned=True),
            order=self.order,
            average_features=self.average_features,
            fewest=self.fewest,
            when_too_few=self.when_too_few,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _sample(model: Any, additive: Additive, X: Any, y: Any, rows: NDArray[np.intp]) -> Sample:
    """Return the part values of some rows, and the model's own labels of them."""
    values = additive.values(X, rows)
    true = None if y is None else codes_among(take_rows(y, rows), additive.classes)
    return Sample(values, Labels(own_labels(model, X, rows, additive, values), additive.classes.size, true))
