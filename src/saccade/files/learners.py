"""Learners in files: their parameters, and all that they carry from one example to the next."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.files.encodings import encoding_from, encoding_parts
from saccade.files.parameters import decode, decode_labels, encode, encode_labels
from saccade.files.sketches import sketch_from, sketch_parts
from saccade.kernels import state
from saccade.kernels.state import Walk
from saccade.learners.classifier import AttentiveLearner
from saccade.learners.exponentiated_gradient import ExponentiatedGradient
from saccade.learners.passes import Memory
from saccade.learners.passive_aggressive import PassiveAggressive
from saccade.learners.pegasos import Pegasos
from saccade.learners.perceptron import Perceptron
from saccade.learners.scaling import Scaling

__all__ = ["LEARNERS", "learner_from", "learner_parts"]

LEARNERS: dict[str, type[AttentiveLearner]] = {
    kind.__name__: kind for kind in (Pegasos, Perceptron, PassiveAggressive, ExponentiatedGradient)
}
# Room to work in holds nothing that is worth keeping; numbers are kept by their names.
STEPPED = ["weights", "correction", "potential"]
WALKED = [name for name in Walk._fields if name not in ("path", "work_real", "work_whole")]
MAY_BE_INFINITE = {"cushion"}
# What learners did before they had these parameters.
WITHOUT_COST: dict[str, Any] = {"cost": "features", "tol": None}
# The entries of the learner's two arrays of numbers. An older file may lack one, which then is as in a new learner.
SCALARS = (
    *("scale", "intercept", "norm2", "total", "average_weight", "intercept_correction", "expected_0", "expected_1"),
    *("weight_sum", "width_0", "width_1", "important_share", "multiplier", "factor_0", "factor_1", "loss"),
    *("mean_norm2", "clock", "gain", "mass", "shift", "intercept_potential", "largest"),
)
COUNTERS = (
    *("step", "changes", "next_reorder", "reorders", "tracked", "taught", "n_examples", "n_filtered", "n_skipped"),
    *("n_updates", "n_read", "n_read_filtered", "n_audited", "n_important", "n_missed"),
)


def learner_parts(model: AttentiveLearner) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a fitted learner."""
    learners = model._learners
    seeds = [learner.settings.seed for learner in learners]
    now = model._build(model.coef_.shape[1], learners[0].state.weights.dtype, seeds)
    if any(new.settings != old.settings for new, old in zip(now, learners, strict=True)):
        raise ValueError("Parameters were changed after fit. Fit again, or set them back, before saving.")
    header = {
        "parameters": {name: encode(name, value) for name, value in model.get_params(deep=False).items()},
        "classes": encode_labels(model.classes_),
        "names": _names(model),
        "seeds": seeds,
        "n_iter": int(model.n_iter_),
        "alarmed": bool(model._alarmed),
        "dtype": learners[0].state.weights.dtype.name,
    }
    stepped = [name for name in STEPPED if getattr(learners[0].state, name) is not None]
    arrays = {name: np.stack([getattr(learner.state, name) for learner in learners]) for name in stepped}
    arrays |= {name: np.stack([getattr(learner.walk, name) for learner in learners]) for name in WALKED}
    for entries, group in ((SCALARS, "scalars"), (COUNTERS, "counters")):
        stacked = np.stack([getattr(learner.state, group) for learner in learners])
        arrays |= {entry: stacked[:, _place(entry)] for entry in entries}
    about_rows, row_hashes = sketch_parts(model._sketch)
    arrays |= row_hashes
    if model._memories:
        header["memory_rows"] = [memory.shape[1] for memory in model._memories]
        arrays["memory"] = np.concatenate(model._memories, axis=1)
    if model._scaling is not None:
        arrays |= {"scaling.centre": model._scaling.centre, "scaling.unit": model._scaling.unit}
    if model.encoding_ is not None:
        header["encoding"] = encoding_parts(model.encoding_)
    return {**header, **about_rows}, arrays


def _place(entry: str) -> int:
    """Return where the kernels keep a number."""
    place: int = getattr(state, entry.upper())
    return place


def learner_from(archive: Archive, kind: type[AttentiveLearner]) -> AttentiveLearner:
    """Build a learner, as it would be made anew, and give it what was learned, piece by piece, where it fits."""
    model = _built(kind, archive.field("parameters", dict))
    classes = decode_labels(archive.header.get("classes"))
    count = 1 if classes.size == 2 else classes.size
    single = str(archive.header.get("dtype")) == "float32"
    archive.has([*STEPPED[:2], *WALKED])
    weights = archive.array("weights", np.float32 if single else np.float64, (count, None))
    n, seeds = weights.shape[1], archive.field("seeds", list)
    if n == 0 or len(seeds) != count or not all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds):
        raise ModelFileError(f"its seeds are {str(seeds)[:80]}")
    encoding = encoding_from(archive)
    if encoding is not None and encoding.n_features != n:
        raise ModelFileError(f"its encoding has {encoding.n_features} features, and it has weights for {n}")
    n_columns = n if encoding is None else len(encoding.columns)
    names = archive.names(n_columns)
    archive.array("order", np.uint32, (count, n))  # what is built next takes memory in proportion to n
    model._scaling, model._encoding = _scaling(archive, n), encoding
    try:
        fresh = model._build(n, weights.dtype, seeds)
    except (ValueError, ArithmeticError) as error:
        raise ModelFileError(f"its parameters are not those of {kind.__name__}: {error}") from error
    stepped = [name for name in STEPPED if getattr(fresh[0].state, name) is not None]
    moved = {name: _kept(archive, name, getattr(fresh[0].state, name), count) for name in stepped}
    moved["scalars"] = _numbers(archive, SCALARS, [learner.state.scalars for learner in fresh])
    moved["counters"] = _numbers(archive, COUNTERS, [learner.state.counters for learner in fresh])
    known = {name: _kept(archive, name, getattr(fresh[0].walk, name), count) for name in WALKED}
    if (known["order"] >= n).any() or (moved["counters"] < 0).any() or (known["counts"] < 0).any():
        raise ModelFileError("its order or its counters are impossible")
    learners = [
        replace(
            learner,
            state=learner.state._replace(**{name: array[k].copy() for name, array in moved.items()}),
            walk=learner.walk._replace(**{name: array[k].copy() for name, array in known.items()}),
        )
        for k, learner in enumerate(fresh)
    ]
    model._take(learners, classes, sketch_from(archive))
    model._memories = _memories(archive, count)
    model.n_features_in_ = n_columns
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.n_iter_, model._alarmed = archive.field("n_iter", int), archive.field("alarmed", bool)
    if model.n_iter_ < 0:
        raise ModelFileError(f"its field 'n_iter' is {model.n_iter_}")
    return model


def _scaling(archive: Archive, n: int) -> Scaling | None:
    """Return in which units the learner learned, where it did not learn from rows as they are."""
    if "scaling.unit" not in archive.arrays:
        return None
    scaling = Scaling(*(archive.array(f"scaling.{name}", np.float64, (n,)) for name in ("centre", "unit")))
    if (scaling.unit <= 0).any():
        raise ModelFileError("its scaling is impossible")
    return scaling


def _memories(archive: Archive, count: int) -> list[Memory]:
    """Return what is remembered of the rows of each batch, where the learner has not come to the end of its passes."""
    if "memory" not in archive.arrays:
        return []
    memory = archive.array("memory", np.float32, (count, None, 2), finite=False)
    rows = archive.field("memory_rows", list)
    if not all(type(size) is int and size >= 0 for size in rows) or sum(rows) != memory.shape[1]:
        raise ModelFileError(f"its field 'memory_rows' is {str(rows)[:80]}")
    return [part.copy() for part in np.split(memory, np.cumsum(rows)[:-1], axis=1)]


def _kept(archive: Archive, name: str, like: NDArray[Any], count: int) -> NDArray[Any]:
    return archive.array(name, like.dtype, (count, *like.shape), finite=name not in MAY_BE_INFINITE)


def _numbers(archive: Archive, entries: tuple[str, ...], fresh: list[NDArray[Any]]) -> NDArray[Any]:
    """Return the numbers of every learner, by their names; those that the file lacks as they are in a new learner."""
    numbers = np.stack(fresh)
    for entry in entries:
        if entry in archive.arrays:
            numbers[:, _place(entry)] = archive.array(entry, numbers.dtype, (len(fresh),))
    return numbers


def _built(kind: type[AttentiveLearner], parameters: dict[str, Any]) -> AttentiveLearner:
    parameters = WITHOUT_COST | parameters if "cost" not in parameters else parameters
    try:
        model = kind(**{name: decode(name, value) for name, value in parameters.items()})
        model._check_parameters()
    except ModelFileError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelFileError(f"its parameters are not those of {kind.__name__}: {error}") from error
    return model


def _names(model: AttentiveLearner) -> list[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
