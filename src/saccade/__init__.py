"""Additive classifiers that stop reading features as soon as the decision is clear."""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from saccade.version import __version__

if TYPE_CHECKING:
    from saccade.attentive import AttentiveClassifier, attend
    from saccade.display import PlanDisplay
    from saccade.files.models import load, save
    from saccade.io.arrow import mapper
    from saccade.io.fit import fit_files
    from saccade.io.predict import predict_files
    from saccade.learners.exponentiated_gradient import ExponentiatedGradient
    from saccade.learners.passive_aggressive import PassiveAggressive
    from saccade.learners.pegasos import Pegasos
    from saccade.learners.perceptron import Perceptron
    from saccade.planning.boundaries import Budget, Conditional, ConstantSTST, CurvedSTST, Full
    from saccade.terminal import show_progress
    from saccade.watching.watch import Watch

# Where each public name lives. It is imported when it is first used: scikit-learn and numba take a second to import.
_HOMES = {
    "AttentiveClassifier": "saccade.attentive",
    "Budget": "saccade.planning.boundaries",
    "Conditional": "saccade.planning.boundaries",
    "ConstantSTST": "saccade.planning.boundaries",
    "CurvedSTST": "saccade.planning.boundaries",
    "ExponentiatedGradient": "saccade.learners.exponentiated_gradient",
    "Full": "saccade.planning.boundaries",
    "PassiveAggressive": "saccade.learners.passive_aggressive",
    "Pegasos": "saccade.learners.pegasos",
    "Perceptron": "saccade.learners.perceptron",
    "PlanDisplay": "saccade.display",
    "Watch": "saccade.watching.watch",
    "attend": "saccade.attentive",
    "fit_files": "saccade.io.fit",
    "load": "saccade.files.models",
    "mapper": "saccade.io.arrow",
    "predict_files": "saccade.io.predict",
    "save": "saccade.files.models",
    "show_progress": "saccade.terminal",
}

__all__ = [
    "AttentiveClassifier",
    "Budget",
    "Conditional",
    "ConstantSTST",
    "CurvedSTST",
    "ExponentiatedGradient",
    "Full",
    "PassiveAggressive",
    "Pegasos",
    "Perceptron",
    "PlanDisplay",
    "Watch",
    "__version__",
    "attend",
    "fit_files",
    "load",
    "mapper",
    "predict_files",
    "save",
    "show_progress",
]

# An application that has no handlers of its own is told nothing.
logging.getLogger("saccade").addHandler(logging.NullHandler())


if not TYPE_CHECKING:  # else a name that is misspelt would be one of any type

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'saccade' has no attribute {name!r}")
        home = _HOMES[name]
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
