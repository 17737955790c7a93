"""Learners in model files: parameters, weights and plans, to predict and to read, but not to go on learning."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.parameters import decode, decode_labels, encode, encode_labels
from saccade.files.plans import plan_from, plan_parts
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.exponentiated_gradient import ExponentiatedGradient
from saccade.learners.passive_aggressive import PassiveAggressive
from saccade.learners.pegasos import Pegasos
from saccade.learners.perceptron import Perceptron
from saccade.learners.record import TrainingRecord
from saccade.reading.plan import Plan

__all__ = ["LEARNERS", "learner_from", "learner_parts"]

LEARNERS: dict[str, type[AttentiveLearner]] = {
    kind.__name__: kind for kind in (Pegasos, Perceptron, PassiveAggressive, ExponentiatedGradient)
}
COUNTS = ("n_iter_", "t_")


def learner_parts(model: AttentiveLearner) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted learner."""
    names = getattr(model, "feature_names_in_", None)
    header = {
        "parameters": {name: encode(name, value) for name, value in model.get_params(deep=False).items()},
        "classes": encode_labels(model.classes_),
        "names": None if names is None else [str(name) for name in names],
        "training": asdict(model.training_),
        **{name: int(getattr(model, name)) for name in COUNTS},
    }
    arrays: dict[str, NDArray[Any]] = {"coef": model.coef_, "intercept": model.intercept_}
    for number, plan in enumerate(model.plans_):
        arrays |= plan_parts(plan, f"plan.{number}")
    return header, arrays


def learner_from(archive: Archive, kind: type[AttentiveLearner]) -> AttentiveLearner:
    """Build a learner of a kind."""
    try:
        parameters = {name: decode(name, value) for name, value in archive.field("parameters", dict).items()}
        model = kind(**parameters)
        model._check_parameters()
    except ModelFileError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelFileError(f"its parameters are not those of {kind.__name__}: {error}") from error
    classes = decode_labels(archive.header.get("classes"))
    scores = 1 if classes.size == 2 else classes.size
    coef = archive.array("coef", np.float64, (scores, None))
    if coef.shape[1] == 0:
        raise ModelFileError("its model has no features")
    intercept, names = archive.array("intercept", np.float64, (scores,)), archive.names(coef.shape[1])
    alone = (Plan.in_full(coef[k : k + 1], intercept[k : k + 1]) for k in range(scores))
    model._saved_plans = [plan_from(archive, f"plan.{k}", plan) for k, plan in enumerate(alone)]
    model.coef_, model.intercept_, model.classes_ = coef, intercept, classes
    model.n_features_in_ = coef.shape[1]
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_iter_, model.t_ = (_count(archive.header, name) for name in COUNTS)
    counted = archive.field("training", dict)
    model.training_ = TrainingRecord(**{field.name: _count(counted, field.name) for field in fields(TrainingRecord)})
    return model


def _count(stated: dict[str, Any], name: str) -> int:
    value = stated.get(name)
    if type(value) is not int or not 0 <= value < 2**63:
        raise ModelFileError(f"its field {name!r} is {str(value)[:80]!r}")
    return value
