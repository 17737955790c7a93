"""Any fitted additive classifier, linear, of trees or over a raw table, read attentively, with a certificate."""

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from html import escape
from numbers import Integral
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import (
    check_is_fitted,
    validate_data,
)

from saccade.asking.mixin import AskingMixin
from saccade.learners.pegasos import Pegasos
from saccade.models.additive import Additive
from saccade.models.agreement import named_by, own_codes
from saccade.models.apart import ACCEPTED, take_apart
from saccade.models.saved import SavedModel
from saccade.models.thresholds import at_threshold
from saccade.models.trees.apart import as_classifier
from saccade.planning.boundaries import Boundary, as_boundary
from saccade.planning.families import Priced
from saccade.planning.narrowed import narrowed
from saccade.planning.offered import holds_objects, numbers, rows_offered, sample_of
from saccade.planning.orders import CODES
from saccade.planning.part_prices import part_prices, row_costs, with_screens
from saccade.planning.prepare import Terms, prepare, split_rows
from saccade.planning.prices import Feature, price_list
from saccade.promises.promise import promise_of
from saccade.promises.shortage import Given
from saccade.reading.deferred import answer
from saccade.reading.inputs import Demanded, read_checked
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
from saccade.reading.partitions import is_collection, stand_in, with_whole_rows
from saccade.reading.plan import Outcome, Reading
from saccade.reading.progress import Progress
from saccade.reading.reader import read_audited, read_plan
from saccade.reading.samples import Drawn, draw
from saccade.reading.sources import Source
from saccade.reading.tables import take_columns, take_rows

__all__ = ["AttentiveClassifier", "attend"]

_log = logging.getLogger(__name__)
# Of the rows that do not calibrate, the estimator is fitted on this share, and the others plan.
FITTING_SHARE = 0.75


def _no_rank(name: str) -> AttributeError:
    return AttributeError(
        f"AttentiveClassifier has no {name}: the margin at which a reading stopped says on which side of the threshold "
        "a row lies, and not how far. Use full_margin(X) for margins from all features, estimator_.predict_proba(X) "
        "for probabilities, read(X).margin for the margin at the stop, and threshold= to change where the label "
        "changes."
    )


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
    """Read a fitted classifier attentively: of every class the same labels, up to a share delta, from less.

    Parameters
    ----------
    model : fitted classifier
        A tree ensemble (LightGBM, XGBoost, CatBoost, scikit-learn), a linear classifier, naive Bayes, alone or behind
        steps that work column by column, or ExplainableBoostingClassifier. What is said of features below is said of
        the raw columns of a pipeline, and of the trees of an ensemble, but for ``costs`` and ``groups``, which are of
        columns.
    X : array, CSR matrix or table
        Held-out rows, drawn like those that will be predicted. Never use training rows: a model is overconfident on
        them, and the certificate would be invalid. A share of ``calibration_size`` certifies the plan that the others
        make. Of a Dask DataFrame or Array a uniform sample of up to 500,000 rows, or 50,000,000 values, is drawn by
        partition.
    y : array of shape (rows,), optional
        The true labels, which only ``promise="accuracy"`` needs. For a Dask collection they may be one, too.
    delta, confidence, promise, threshold, boundary, order, costs, groups, average_features, fewest, calibration_size, \
when_too_few, n_jobs, random_state
        As for ``AttentiveClassifier``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from saccade import attend
    >>> X, y = make_classification(8000, 100, n_informative=20, shuffle=False, random_state=0)
    >>> order = np.random.default_rng(0).permutation(8000)
    >>> fitted_on, held_out = order[:3000], order[3000:]
    >>> model = LogisticRegression().fit(X[fitted_on], y[fitted_on])
    >>> attentive = attend(model, X[held_out], delta=0.05, random_state=0)
    >>> [record.lost_share <= 0.05 for record in attentive.certificate_.by_class]
    [True, True]
    >>> attentive.certificate_.features_per_row < 25
    True
    """
    if model is None:
        raise TypeError(f"model is None. Pass a fitted classifier: {ACCEPTED}.")
    if hasattr(X, "predict") and not hasattr(model, "predict"):
        raise TypeError(f"X is a {type(X).__name__}, not rows. Pass the fitted model first, and then the rows.")
    if isinstance(model, AttentiveClassifier):
        raise TypeError(
            "model is an AttentiveClassifier, which has been certified. To certify its model anew pass that: "
            "model.estimator_."
        )
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


class AttentiveClassifier(AskingMixin, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that stops reading features, or trees, once a row's label is clear, under a certified promise.

    ``fit`` fits the estimator on half of the rows, and plans and calibrates on others. With a ``FrozenEstimator``
    nothing is fitted, and all rows plan and calibrate. Never pass rows that the frozen estimator was fitted on: a model
    is overconfident on them, and the certificate would be invalid.

    Parameters
    ----------
    estimator : tree ensemble, linear classifier, naive Bayes, pipeline of steps that work column by column before one,
        ExplainableBoostingClassifier, or None for ``Pegasos()``
    delta : float, or dict of label to float
        The share that may go wrong; with ``promise="classes"`` each class may have its own, and 1 promises nothing.
    confidence : float
        The probability, over the calibration rows, that the promise holds.
    promise : {"classes", "rows", "accuracy"}
        What is promised. ``"classes"``: for every class c, of the rows that the full model labels c at most delta get
        another label, and of the rows labelled c here at most delta have another from the full model. ``"rows"``: of
        all rows together at most delta get another label, which may be all rows of a rare class. ``"accuracy"``: the
        share of right labels falls by at most delta, and a rare class may be lost, too; it saves most where the full
        model itself is unsure.
    threshold : float, optional
        For two classes, from where on the second is given: its probability where the model has ``predict_proba``, else
        its margin.
        FixedThresholdClassifier and TunedThresholdClassifierCV bring their own. All margins are measured from it.
    boundary : {"conditional", "curved", "constant", "full"} or a boundary
    order : {"greedy", "sorted", "natural", "permuted", "sampled", "sampled-printed"}
    costs : array of shape (n_features,), or dict of feature or group to cost, optional
        What each feature costs, for the greedy order and for the choice of the plan; 1 where nothing is said. What
        costs 0 is read first. Features are columns: a tree costs those on the row's path that were not bought before.
    groups : dict of group to features, or a label for each feature, optional
        Features that are bought together, once: a blood sample, a record. A group costs what ``costs`` says of it, or
        the sum of its features' costs.
    calibration_size : float
        The share of rows that calibrate. Of the others three quarters fit the estimator, unless it is frozen, and the
        rest plan.
    average_features : float, optional
        In place of delta: read at most so many features per row on average, as measured on the planning rows. The
        certificate says which delta it gives, for every class where the promise is by class. Of CSR rows it is stored
        values that count, and rows that store few are read in full.
    fewest : {"features", "columns"}
        What is to be few: the features that decide a row, on average, or the columns that any row reads, for data that
        is stored in columns, such as Parquet. Then ``costs`` are what a column costs, such as its bytes. For trees only
        the first is possible.
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
    prices_ : Prices, by column
    columns_ : list, the columns that the plan can ask for, in reading order; by name where ``fit`` was given names

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
        if self.promise == "accuracy" and y is None:
            raise ValueError('promise="accuracy" needs y, the true label of each row of X. Pass it, or promise less.')
        with Progress(label="Checking rows") as progress:
            return self._fit(X, y, fit_params, progress)

    def _fit(self, X: Any, y: Any, fit_params: dict[str, Any], progress: Progress) -> Self:
        drawn_from = None
        if is_collection(X):
            progress.now("Drawing rows")
            X, y, drawn_from = self._drawn(X, y)
        given = X
        X, y = rows_offered(X, y)
        random = check_random_state(self.random_state)
        mixed = random.permutation(X.shape[0])
        held_out = round(self.calibration_size * mixed.size)
        calibration, planning = mixed[:held_out], mixed[held_out:]
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = FrozenEstimator(as_classifier(estimator.estimator))
        else:
            fitting, planning = np.split(planning, [round(FITTING_SHARE * planning.size)])
            progress.now(f"Fitting on {fitting.size:,} rows")
            estimator = self._fitted(X, y, np.sort(fitting), fit_params)
        progress.now(f"Reading {planning.size + calibration.size:,} rows")
        model = at_threshold(estimator, self.threshold)
        additive = named_by(take_apart(model), X)
        if holds_objects(X) and not additive.takes_objects:
            X = numbers(X)
        taken = additive.as_taken(given)
        X = X if taken is given else taken
        prices = price_list(self.costs, self.groups, additive.n_columns, additive.columns)
        stated, terms = self._has_costs, self._terms(additive.classes)
        seed = int(random.randint(2**31 - 1))
        narrow = narrowed(additive, X, planning, prices, terms.boundary, terms.order, seed)
        planning, calibration = split_rows(planning, calibration, (narrow or additive).coef.shape[1])
        if stated and terms.chooses_parts:
            additive = with_screens(additive, X, planning)
        parts = narrow or additive
        # A look costs time, which is not to be weighed against what users say that columns cost.
        saved = part_prices(parts, X, planning, prices, stated=stated)
        priced = Priced(parts, saved, prices, looking=not stated, narrowed=narrow)
        true = y if self.promise == "accuracy" else None
        plans_on, calibrates_on = (sample_of(model, parts, X, true, rows) for rows in (planning, calibration))
        progress.now(f"Planning on {planning.size:,} rows, calibrating on {calibration.size:,}")
        _log.debug("%d parts of %d rows read after %.2f s", parts.coef.shape[1], X.shape[0], progress.seconds)
        offered = Given(X.shape[0], drawn_from)
        prepared = prepare(priced, plans_on, calibrates_on, terms, additive.classes, offered, seed)
        certificate = prepared.certificate
        if stated:
            some = take_rows(X, calibration)
            source = additive.source(some)
            outcome = read_plan(prepared.plan, source, self.n_jobs)
            paid = row_costs(additive, prepared.plan, prices, some, source, outcome)
            certificate = replace(certificate, cost_per_row=float(paid.mean()), cost_of_all=float(prices.price.sum()))
        validate_data(self, X, skip_check_array=True)
        self.estimator_, self.classes_, self.additive_ = model, additive.classes, additive
        self.plan_, self.certificate_ = prepared.plan._replace(saves_nothing=certificate.saves_nothing), certificate
        self.population_, self.prices_ = prepared.population, prices
        self.__dict__.pop("_shared_questions", None)  # of an earlier fit
        _log.info(
            "planned on %d rows, %d checkpoints, and calibrated on %d in %.2f s: %r",
            planning.size,
            self.plan_.checkpoints.size,
            calibration.size,
            progress.seconds,
            self.certificate_,
        )
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, reading no further than the plan demands.

        For a Dask DataFrame it is a lazy Series named label, for a Dask Array a lazy Array; only columns that the plan
        can ask for are asked of the graph, where they are known by name.
        """
        labels: NDArray[Any] = answer(self, X, "label", full=False)
        return labels

    @property
    def decision_function(self) -> NoReturn:
        """There is none: an early margin ranks nothing."""
        raise _no_rank("decision_function")

    @property
    def predict_proba(self) -> NoReturn:
        """There is none: an early margin is no probability."""
        raise _no_rank("predict_proba")

    def full_margin(self, X: Any) -> NDArray[np.float64]:
        """Return the margins from all features, measured from the threshold; of a Dask collection lazily."""
        margins: NDArray[np.float64] = answer(self, X, "margin", full=True)
        return margins

    def read(self, X: Any) -> Reading:
        """Return label, margin, number of features read and whether the reading stopped early, for each row.

        With ``costs`` or ``groups`` also what the row costs: what an inquiry about it spends.

        For a Dask DataFrame these are the columns of a lazy one, with ``margin_`` and the class for each of several;
        for a Dask Array the reading has lazy Arrays.
        """
        reading: Reading = answer(self, X, full=False)
        return reading

    @property
    def columns_(self) -> list[Feature]:
        """The columns that the plan can ask for, in reading order; in the order of ``fit`` where these are all.

        By name where rows are matched by name, because those that planned had names, else by place.
        """
        check_is_fitted(self)
        names, demanded = getattr(self, "feature_names_in_", None), self._demanded()
        columns = np.sort(demanded) if demanded.size == self.n_features_in_ else demanded
        return columns.tolist() if names is None else [str(name) for name in names[columns]]

    def _demanded(self) -> NDArray[np.intp]:
        return self.additive_.columns_of(self.plan_.demanded)

    def _demanded_by(self, full: bool) -> Demanded | None:
        return None if full else self._demanded

    def _reading(self, X: Any, *, full: bool, costs: bool = False, skip_bad: bool = False) -> Reading:
        run, demanded = self._run_in_full if full else self._run_plan, self._demanded_by(full)
        paid = self._costs if costs and self._has_costs else None
        return read_checked(self, self._as_taken(X), self._source, run, demanded, skip_bad=skip_bad, costs=paid)

    @property
    def _has_costs(self) -> bool:
        return self.costs is not None or self.groups is not None

    def _costs(self, X: Any, source: Source, outcome: Outcome) -> NDArray[np.float64]:
        return row_costs(self.additive_, self.plan_, self.prices_, X, source, outcome)

    def _snapshot(self) -> Self:
        """Return a copy with no more than reading needs."""
        kept = copy(self)
        kept.estimator = None
        for name in ("estimator_", "certificate_", "population_"):
            kept.__dict__.pop(name, None)
        return kept

    def _as_taken(self, X: Any) -> Any:
        additive: Additive | None = self.__dict__.get("additive_")  # reading says so where there is none
        return X if additive is None else additive.as_taken(X)

    def _source(self, X: Any) -> Source:
        return self.additive_.source(X)

    def _run_plan(self, source: Source) -> Outcome:
        return read_plan(self.plan_, source, self.n_jobs)

    def _run_in_full(self, source: Source) -> Outcome:
        return read_plan(self.plan_.without_stops(), source, self.n_jobs)

    def _run_audited(self, source: Source, rows: NDArray[np.uint32]) -> tuple[Outcome, Outcome]:
        return read_audited(self.plan_, source, rows, self.n_jobs)

    @property
    def _own_codes(self) -> Callable[[Any], NDArray[np.intp]] | None:
        """The labels of the model's own predict, as codes; None if only its parts are known."""
        model = self.__dict__.get("estimator_")
        if model is None or isinstance(model, SavedModel):
            return None
        names = getattr(self, "feature_names_in_", None)
        return lambda X: own_codes(model, take_columns(X, names), self.additive_)

    def get_metadata_routing(self) -> MetadataRouter:
        """Say that what ``fit`` is given beyond X and y goes to the estimator's ``fit``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        estimator = Pegasos() if self.estimator is None else self.estimator
        return MetadataRouter(owner=self).add(estimator=estimator, method_mapping=mapping)

    def _check_parameters(self) -> None:
        check_parameters(self, self._kinds)

    def _drawn(self, X: Any, y: Any) -> Drawn:
        """Return a sample of a Dask collection for a frozen estimator, after what can be checked without computing."""
        if not isinstance(self.estimator, FrozenEstimator):
            raise TypeError(
                f"X is a Dask {type(X).__name__}, of which a sample is enough to plan and calibrate, but not to fit an "
                "estimator. Fit it first, for example saccade.dask.DaskPegasos, and pass it to saccade.attend with "
                "rows that it was not fitted on."
            )
        model = at_threshold(FrozenEstimator(as_classifier(self.estimator.estimator)), self.threshold)
        whole = with_whole_rows(X)
        named_by(take_apart(model), stand_in(whole))
        return draw(whole, y if self.promise == "accuracy" else None, self.random_state)

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

    def _repr_html_(self) -> str:
        """Return the certificate as a table, for notebooks."""
        shown = f"<pre>{escape(repr(self))}</pre>"
        return f"{shown}{self.certificate_._repr_html_()}" if hasattr(self, "certificate_") else shown

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Return what notebooks show."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
