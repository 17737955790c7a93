"""Public names for Dask; their code lives in ``saccade.cluster``."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saccade.cluster.learners import DaskExponentiatedGradient, DaskPassiveAggressive, DaskPegasos, DaskPerceptron

# Where each public name lives. It is imported when it is first used.
_HOMES = {
    "DaskExponentiatedGradient": "saccade.cluster.learners",
    "DaskPassiveAggressive": "saccade.cluster.learners",
    "DaskPegasos": "saccade.cluster.learners",
    "DaskPerceptron": "saccade.cluster.learners",
}

__all__ = [
    "DaskExponentiatedGradient",
    "DaskPassiveAggressive",
    "DaskPegasos",
    "DaskPerceptron",
]


if not TYPE_CHECKING:  # else a name that is misspelt would be one of any type

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'saccade.dask' has no attribute {name!r}")
        try:
            return getattr(import_module(_HOMES[name]), name)
        except ModuleNotFoundError as missing:
            raise ImportError(
                f"saccade.dask needs {missing.name}. Install it with: pip install 'saccade[dask]'", name=missing.name
            ) from missing


def __dir__() -> list[str]:
    return __all__
