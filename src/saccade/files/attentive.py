"""Certified models in files: the plan, the certificate, what is known of the features, and the model behind."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator

from saccade.attentive import AttentiveClassifier
from saccade.exceptions import ModelFileError
from saccade.files.additive import additive_from, additive_parts
from saccade.files.archive import Archive
from saccade.files.certificates import certificate_from, certificate_parts
from saccade.files.parameters import decode, decode_labels, encode, encode_labels
from saccade.files.plans import plan_from, plan_parts
from saccade.models.additive import Additive
from saccade.models.saved import SavedModel
from saccade.planning.absence import Population
from saccade.planning.prices import Prices
from saccade.planning.regression import Regression
from saccade.reading.plan import Plan

__all__ = ["attentive_from", "attentive_parts"]


def attentive_parts(model: AttentiveClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted AttentiveClassifier."""
    parameters = model.get_params(deep=False)
    del parameters["estimator"]
    population = model.population_
    header, arrays = additive_parts(model.additive_)
    header |= {
        "parameters": {name: encode(name, value) for name, value in parameters.items()},
        "classes": encode_labels(model.classes_),
        "names": None if model.additive_.columns is None else list(model.additive_.columns),
        "named": hasattr(model, "feature_names_in_"),
        "certificate": certificate_parts(model.certificate_),
    }
    arrays |= plan_parts(model.plan_, "plan")
    arrays |= {f"regression.{field.name}": getattr(population.regression, field.name) for field in fields(Regression)}
    arrays |= {f"population.{name}": getattr(population, name) for name in ("mean", "variance", "low", "high")}
    if population.missing.any():
        arrays["population.missing"] = population.missing
    if population.codes:
        sizes = [seen.size for seen in population.codes.values()]
        arrays["population.codes"] = np.concatenate(list(population.codes.values()))
        arrays["population.coded"] = np.repeat(np.array(list(population.codes), dtype=np.int64), sizes)
    arrays |= {"prices.purchase": model.prices_.purchase, "prices.price": model.prices_.price}
    return header, arrays


def attentive_from(archive: Archive) -> AttentiveClassifier:
    """Build an AttentiveClassifier from a file."""
    classes = decode_labels(archive.header.get("classes"))
    additive = additive_from(archive, classes)
    whole = Plan.in_full(additive.coef, additive.intercept, additive.unit, additive.of_trees)
    plan = plan_from(archive, "plan", whole._replace(of_terms=not (additive.of_trees or additive.each_needs_one)))
    prices = _prices(archive, additive.n_columns)
    stated = archive.field("certificate", dict)
    certificate = certificate_from(stated, classes.tolist(), plan, float(prices.price.sum()))
    plan = plan._replace(saves_nothing=certificate.saves_nothing)
    try:
        parameters = {name: decode(name, value) for name, value in archive.field("parameters", dict).items()}
        saved = SavedModel(additive, parameters.get("threshold"))
        model = AttentiveClassifier(FrozenEstimator(saved), **parameters)
        model._check_parameters()
    except ModelFileError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelFileError(f"its parameters are not those of AttentiveClassifier: {error}") from error
    model.estimator_, model.classes_, model.additive_, model.plan_ = model.estimator, classes, additive, plan
    model.certificate_ = certificate
    model.population_, model.prices_ = _population(archive, additive), prices
    model.n_features_in_ = additive.n_columns
    if additive.columns is not None and archive.field("named", bool):
        model.feature_names_in_ = np.array(additive.columns, dtype=object)
    return model


def _population(archive: Archive, additive: Additive) -> Population:
    (scores, n), n_columns = additive.coef.shape, additive.n_columns
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
        score_covariance=archive.array("regression.score_covariance", np.float64, (scores, scores)),
    )
    if (np.diagonal(regression.factor) <= 0).any():
        raise ModelFileError("its regression is impossible")
    by_part = {name: archive.array(f"population.{name}", np.float64, (n,)) for name in ("mean", "variance")}
    finite = additive.parts_are_columns  # trees take infinite values, and columns without any value
    by_column = {
        name: archive.array(f"population.{name}", np.float64, (n_columns,), finite=finite) for name in ("low", "high")
    }
    missing = np.zeros(n_columns, dtype=np.bool_)
    if "population.missing" in archive.arrays:
        missing = archive.array("population.missing", np.bool_, (n_columns,))
    return Population(
        regression,
        **by_part,
        **by_column,
        missing=missing,
        codes=_codes(archive, n_columns),
    )


def _codes(archive: Archive, n_columns: int) -> dict[int, NDArray[np.float64]]:
    """Return the codes that were seen, by column: in the file one after another, each with its column."""
    if "population.codes" not in archive.arrays:
        return {}
    codes = archive.array("population.codes", np.float64, (None,))
    coded = archive.array("population.coded", np.int64, codes.shape)
    same = coded[1:] == coded[:-1]
    possible = (
        codes.size > 0
        and ((coded >= 0) & (coded < n_columns)).all()
        and (coded[1:] >= coded[:-1]).all()
        and (codes[1:] > codes[:-1])[same].all()
    )
    if not possible:
        raise ModelFileError("its codes of categories are none, do not ascend, or are of columns that there are not")
    columns, begins = np.unique(coded, return_index=True)
    return dict(zip(columns.tolist(), np.split(codes, begins[1:]), strict=True))


def _prices(archive: Archive, n: int) -> Prices:
    purchase = archive.array("prices.purchase", np.int64, (n,))
    price = archive.array("prices.price", np.float64, (None,))
    if ((purchase < 0) | (purchase >= price.size)).any() or (price < 0).any():
        raise ModelFileError("its prices are impossible")
    return Prices(purchase.astype(np.intp), price)
