"""Learners for Dask collections: estimators around the local ones, which they become by ``to_local``."""

from collections.abc import Callable
from copy import deepcopy
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from saccade.cluster.mixing import learn_from_partitions
from saccade.cluster.tasks import client_or_default, tasks_of
from saccade.learners.classifier import AttentiveLearner, all_or_nothing
from saccade.learners.exponentiated_gradient import ExponentiatedGradient
from saccade.learners.passive_aggressive import PassiveAggressive
from saccade.learners.pegasos import Pegasos
from saccade.learners.perceptron import Perceptron
from saccade.learners.record import warn_if_level_not_held

__all__ = ["DaskExponentiatedGradient", "DaskPassiveAggressive", "DaskPegasos", "DaskPerceptron"]

# Workers stand for jobs, and nothing goes on from the fit before.
LEFT_OUT = {"n_jobs", "warm_start"}
# What a fitted learner shows of the local one.
SHOWN = ("classes_", "coef_", "feature_names_in_", "intercept_", "n_features_in_", "n_iter_", "t_", "training_")


def _constructor(kind: type[AttentiveLearner]) -> Callable[..., None]:
    """Return a constructor with the parameters of a local learner, and ``client``."""
    local = signature(kind.__init__)
    kept = [parameter for name, parameter in local.parameters.items() if name not in LEFT_OUT]
    expected = local.replace(parameters=[*kept, Parameter("client", Parameter.KEYWORD_ONLY, default=None)])

    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        given = expected.bind(self, *args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            if value is not self:
                setattr(self, name, value)

    construct.__signature__ = expected  # type: ignore[attr-defined]
    return construct


class DaskLearner(ClassifierMixin, BaseEstimator):
    """The common part of the learners for Dask; not for direct use."""

    client: Any
    _kind: ClassVar[type[AttentiveLearner]]
    _local: AttentiveLearner

    def __init_subclass__(cls, *, of: type[AttentiveLearner]) -> None:
        cls._kind = of
        cls.__init__ = _constructor(of)  # type: ignore[method-assign]
        super().__init_subclass__()

    @property
    def client_(self) -> Any:
        """The client that ``fit`` uses: ``client``, or the default one; None where there is none."""
        return client_or_default(self.client)

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the partitions in up to ``max_iter`` passes.

        Parameters
        ----------
        X : Dask DataFrame or Dask Array of shape (rows, features)
            Of numbers; the chunks of an array hold whole rows, and may be CSR matrices.
        y : Dask Series or Dask Array of shape (rows,), partitioned like X
        sample_weight : Dask Series or Dask Array of shape (rows,), partitioned like X, optional
            How much each example counts, relative to the mean; a row of weight 0 is passed over.
        """
        local = self._kind(**self._without_client())
        local._check_parameters()
        learn_from_partitions(local, tasks_of(self.client_), X, y, sample_weight)
        self._local = local
        for name in SHOWN:
            self.__dict__.pop(name, None)
            if hasattr(local, name):
                setattr(self, name, getattr(local, name))
        warn_if_level_not_held(local._level, local.training_)
        return self

    def to_local(self) -> AttentiveLearner:
        """Return the fitted learner without Dask: the same weights, to be saved, attended or read."""
        check_is_fitted(self)
        return deepcopy(self._local)

    def predict(self, X: Any) -> Any:
        """Return the label of each row, as the local learner does."""
        check_is_fitted(self)
        return self._local.predict(X)

    def decision_function(self, X: Any) -> Any:
        """Return the margins of each row, as the local learner does."""
        check_is_fitted(self)
        return self._local.decision_function(X)

    def _without_client(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name != "client"}

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy with the same client, which cannot be copied."""
        given = {name: clone(value, safe=False) for name, value in self._without_client().items()}
        return type(self)(**given, client=self.client)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}


class DaskPegasos(DaskLearner, of=Pegasos):
    """Pegasos over the partitions of a Dask cluster, by iterative parameter mixing (McDonald, Hall and Mann 2010).

    In every pass each partition is learned from on the worker where it lies, beginning with the mean of the last pass;
    then the results are averaged: each weight over the rows that hold its feature. The model depends on the
    partitioning and on ``random_state``, and not on the number of workers or on their timing. With one partition it is
    the one of :class:`saccade.Pegasos`, for rows in an array. Partitions should be alike: where each has rows of one
    class only, less is learned.

    Rows are brought to the workers once, and kept there until ``fit`` ends, with what is remembered of their margins
    (8 bytes a row and class). Where a worker dies, what it held is computed anew, to the same bits.

    Parameters
    ----------
    lam, boundary, order, max_iter, tol, n_iter_no_change, average, fit_intercept, project, rule, audit, cost, \
shuffle, class_weight, random_state
        As for :class:`saccade.Pegasos`; rows are shuffled within their partitions.
    client : distributed.Client or None, default=None
        None takes the default client, and where there is none Dask's scheduler in this process.

    Attributes
    ----------
    classes_, coef_, intercept_, n_iter_, t_, training_
        As for :class:`saccade.Pegasos`.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from saccade.dask import DaskPegasos
    >>> X, y = (da.from_array(values, chunks=(1000, -1)[: values.ndim]) for values in make_classification(
    ...     4000, 200, n_informative=20, class_sep=2.0, random_state=0))
    >>> model = DaskPegasos(random_state=0).fit(X, y)
    >>> model.to_local()
    Pegasos(random_state=0)
    >>> bool(model.to_local().score(X.compute(), y.compute()) > 0.95)
    True
    """


class DaskPerceptron(DaskLearner, of=Perceptron):
    """The averaged perceptron over the partitions of a Dask cluster, like :class:`saccade.dask.DaskPegasos`.

    Parameters
    ----------
    boundary, order, max_iter, tol, n_iter_no_change, average, fit_intercept, audit, cost, shuffle, class_weight, \
random_state
        As for :class:`saccade.Perceptron`.
    client : distributed.Client or None, default=None

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from saccade.dask import DaskPerceptron
    >>> X, y = make_classification(2000, 50, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = DaskPerceptron(random_state=0).fit(da.from_array(X, (500, -1)), da.from_array(y, 500))
    >>> bool(model.to_local().score(X, y) > 0.9)
    True
    """


class DaskPassiveAggressive(DaskLearner, of=PassiveAggressive):
    """Passive-Aggressive classification over the partitions of a Dask cluster, like :class:`saccade.dask.DaskPegasos`.

    Parameters
    ----------
    C, variant, boundary, order, max_iter, tol, n_iter_no_change, average, fit_intercept, audit, cost, shuffle, \
class_weight, random_state
        As for :class:`saccade.PassiveAggressive`.
    client : distributed.Client or None, default=None

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from saccade.dask import DaskPassiveAggressive
    >>> X, y = make_classification(2000, 50, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = DaskPassiveAggressive(random_state=0).fit(da.from_array(X, (500, -1)), da.from_array(y, 500))
    >>> bool(model.to_local().score(X, y) > 0.9)
    True
    """


class DaskExponentiatedGradient(DaskLearner, of=ExponentiatedGradient):
    """Exponentiated gradient over the partitions of a Dask cluster, like :class:`saccade.dask.DaskPegasos`.

    Parameters
    ----------
    eta, norm, boundary, order, max_iter, tol, n_iter_no_change, average, fit_intercept, audit, cost, shuffle, \
class_weight, random_state
        As for :class:`saccade.ExponentiatedGradient`.
    client : distributed.Client or None, default=None

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import make_classification
    >>> from saccade.dask import DaskExponentiatedGradient
    >>> X, y = make_classification(2000, 50, n_informative=20, class_sep=2.0, random_state=0)
    >>> model = DaskExponentiatedGradient(random_state=0).fit(da.from_array(X, (500, -1)), da.from_array(y, 500))
    >>> bool(model.to_local().score(X, y) > 0.9)
    True
    """
