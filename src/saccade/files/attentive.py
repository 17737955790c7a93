"""Certified models in files: the plan, the certificate, what is known of the features, and the linear model behind."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.parameters import decode, decode_labels, encode, encode_labels
from saccade.models.linear import LoadedLinear, linear_model
from saccade.planning.absence import Population
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.promises.certificate import Certificate
from saccade.reading.plan import Plan

__all__ = ["attentive_from", "attentive_parts"]


def attentive_parts(model: AttentiveClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted AttentiveClassifier."""
    parameters = model.get_params(deep=False)
    del parameters["estimator"]
    population, linear = model.population_, linear_model(model.estimator_)
    header = {
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "classes": encode_labels(model.classes_),
        "names": None if model._names is None else list(model._names),
        "named": hasattr(model, "feature_names_in_"),
        "certificate": asdict(model.certificate_),
        "spare": sorted(list(features) for features in population.spare),
    }
    arrays = {f"plan.{name}": value for name, value in model.plan_._asdict().items()}
    arrays |= {f"regression.{one.name}": getattr(population.regression, one.name) for one in fields(Regression)}
    arrays |= {f"population.{name}": getattr(population, name) for name in ("mean", "variance", "low", "high")}
    arrays |= {"prices.purchase": model.prices_.purchase, "prices.price": model.prices_.price}
    arrays |= {"linear.coef": linear.coef, "linear.intercept": linear.intercept}
    return header, arrays


def attentive_from(archive: Archive) -> AttentiveClassifier:
    """Build an AttentiveClassifier from a file whose every index has been checked: readers trust their plans."""
    classes = decode_labels(archive.header.get("classes"))
    scores = 1 if classes.size == 2 else classes.size
    plan = _plan(archive, scores)
    n = plan.n_features
    names = archive.names(n)
    linear = LoadedLinear(
        archive.array("linear.coef", np.float64, (scores, n)),
        archive.array("linear.intercept", np.float64, (scores,)),
        classes,
        names,
    )
    try:
        parameters = {name: decode(name, value) for name, value in archive.field("parameters", dict).items()}
        model = AttentiveClassifier(FrozenEstimator(linear), **parameters)
        model._check_parameters()
    except ModelFileError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelFileError(f"its parameters are not those of AttentiveClassifier: {error}") from error
    model.estimator_, model.classes_, model.plan_ = model.estimator, classes, plan
    model.certificate_ = _certificate(archive, n)
    model.population_, model.prices_ = _population(archive, n, scores), _prices(archive, n)
    model._names, model.n_features_in_ = None if names is None else tuple(names), n
    if names is not None and archive.field("named", bool):
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _plan(archive: Archive, scores: int) -> Plan:
    coef = archive.array("plan.coef", np.float64, (scores, None))
    order = archive.array("plan.order", np.uint32, (None,))
    stops = archive.array("plan.checkpoints", np.int64, (None,))
    first = archive.array("plan.first", np.int64, stops.shape)
    begins = archive.array("plan.begins", np.int64, stops.shape)
    weighed = np.append(0, np.cumsum(stops - first)) if _ascends(stops, order.size) else np.zeros(1, dtype=np.int64)
    before = np.append(0, stops[:-1])[: stops.size]
    weights = archive.array("plan.weights", np.float64, (scores, None))
    possible = (
        coef.shape[1] > 0
        and (order < coef.shape[1]).all()
        and _ascends(stops, order.size)
        and ((first == 0) | (first == before)).all()
        and np.array_equal(begins, weighed[:-1])
        and weights.shape[1] >= weighed[-1]
    )
    if not possible:
        raise ModelFileError("its plan is impossible")
    return Plan(
        order=order,
        checkpoints=stops,
        first=first,
        begins=begins,
        weights=weights,
        shift=archive.array("plan.shift", np.float64, (scores, stops.size)),
        lower=archive.array("plan.lower", np.float64, stops.shape, finite=False),
        upper=archive.array("plan.upper", np.float64, stops.shape, finite=False),
        coef=coef,
        offset=archive.array("plan.offset", np.float64, (scores,)),
    )


def _ascends(stops: NDArray[np.int64], last: int) -> bool:
    inside = ((stops >= 1) & (stops <= last)).all()  # first of all: differences of what is not inside may wrap around
    return bool(inside and (np.diff(stops) > 0).all())


def _population(archive: Archive, n: int, scores: int) -> Population:
    order = archive.array("regression.order", np.int64, (None,))
    m = order.size
    if m > n or ((order < 0) | (order >= n)).any() or np.unique(order).size != m:
        raise ModelFileError("its regression is impossible")
    regression = Regression(
        order=order.astype(np.intp),
        mean=archive.array("regression.mean", np.float64, (m,)),
        factor=archive.array("regression.factor", np.float64, (m, m)),
        gains=archive.array("regression.gains", np.float64, (m, scores)),
        expected=archive.array("regression.expected", np.float64, (scores,)),
        spread=archive.array("regression.spread", np.float64, (scores, scores)),
    )
    by_feature = {
        name: archive.array(f"population.{name}", np.float64, (n,)) for name in ("mean", "variance", "low", "high")
    }
    spare = archive.field("spare", list)
    if not all(isinstance(one, list) and all(type(j) is int and 0 <= j < n for j in one) for one in spare):
        raise ModelFileError("its field 'spare' names features that there are not")
    return Population(regression, **by_feature, spare=frozenset(tuple(one) for one in spare))


def _prices(archive: Archive, n: int) -> Prices:
    purchase = archive.array("prices.purchase", np.int64, (n,))
    price = archive.array("prices.price", np.float64, (None,))
    if ((purchase < 0) | (purchase >= price.size)).any() or (price <= 0).any():
        raise ModelFileError("its prices are impossible")
    return Prices(purchase.astype(np.intp), price)


def _certificate(archive: Archive, n_features: int) -> Certificate:
    found = archive.field("certificate", dict)
    kinds = {one.name: int if one.type in (int, "int") else float for one in fields(Certificate)}
    if set(found) != set(kinds) or not all(
        isinstance(found[name], int | kind) and not isinstance(found[name], bool) for name, kind in kinds.items()
    ):
        raise ModelFileError(f"its certificate is {str(found)[:80]}")
    try:
        numbers: dict[str, Any] = {name: kind(found[name]) for name, kind in kinds.items()}
    except OverflowError as error:
        raise ModelFileError(f"its certificate has a number that is too large: {error}") from error
    certificate = Certificate(**numbers)
    shares = (certificate.delta, certificate.confidence, certificate.disagreement, certificate.upper_bound)
    counts = (certificate.n_calibration, certificate.features_per_row)
    possible = all(0 <= share <= 1 for share in shares) and all(0 <= one < np.inf for one in counts)
    if not possible or certificate.n_features != n_features:
        raise ModelFileError(f"its certificate is impossible: {str(found)[:200]}")
    return certificate
