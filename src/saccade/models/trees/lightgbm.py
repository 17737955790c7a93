"""Import LGBMClassifier and Booster of LightGBM from the text of ``model_to_string``.

Checked with LightGBM 3.3.5, 4.0.0 and 4.7.0, whose texts have the formats v3 and v4. The rules of nodes are those of
LightGBM's ``tree.h``.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.models.categories import Categories
from saccade.models.trees.assembling import Tree, assemble
from saccade.models.trees.boosting import (
    FIT_A_CLASSIFIER,
    Rounds,
    class_names,
    classes_of,
    library_name,
    logistic,
    margins_from,
    smallest,
)
from saccade.models.trees.ensemble import Ensemble, Sum
from saccade.models.trees.imported import Imported
from saccade.terminal import printable

__all__ = ["ACCEPTED", "are_default", "take_apart"]

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

ACCEPTED = "LightGBM's LGBMClassifier, and its Booster with the objective binary, multiclass or multiclassova"

FORMATS = ("v3", "v4")
IS_CATEGORICAL, DEFAULT_LEFT = 1, 2
MISSING_NONE, MISSING_ZERO, MISSING_NAN = range(3)
# Dense rows have zeros in place of values up to this (kZeroThreshold, a float).
ZERO = float(np.float32(1e-35))


def take_apart(model: Any) -> Imported | None:
    """Return a fitted model's trees; None for a model of another library."""
    names = class_names(model, "lightgbm")
    if not names & {"Booster", "LGBMModel"}:
        return None
    if "Booster" not in names and "LGBMClassifier" not in names:
        raise TypeError(
            f"{type(model).__name__} is none of the classifiers that can be read. {FIT_A_CLASSIFIER} Accepted are "
            f"{ACCEPTED}."
        )
    is_booster = "Booster" in names
    booster = model if is_booster else model.booster_
    # Like predict, this takes the iterations up to best_iteration where early stopping found one.
    imported = _read(booster.model_to_string())

    def labels_of_booster(X: Any) -> NDArray[Any]:
        predicted = np.asarray(model.predict(X))
        return (predicted > 0.5).astype(int) if predicted.ndim == 1 else predicted.argmax(axis=1)

    return replace(
        imported,
        classes=imported.classes if is_booster else classes_of(model, imported.classes.size),
        margins=lambda X: margins_from(model.predict(X, raw_score=True)),
        labels=labels_of_booster if is_booster else lambda X: np.asarray(model.predict(X)),
    )


@dataclass(frozen=True)
class Header:
    """What stands before the trees."""

    n_scores: int
    sigmoid: float
    averages: bool  # boosting_type="rf"
    names: tuple[str, ...]
    categorical: tuple[int, ...]

    @property
    def n_columns(self) -> int:
        return len(self.names)

    def column(self, number: int) -> str:
        return f"column {number} ({printable(self.names[number])})"


def _read(text: str) -> Imported:
    before, _, rest = text.partition("\nend of trees")
    start, *trees = before.split("\nTree=")
    header = _header(start, rest)
    if not trees:
        raise ValueError("The LightGBM model has no trees.")
    parsed = [_tree(_fields(lines), number) for number, lines in enumerate(trees)]
    # Random forests have the sum as raw score, and divide it for the probability.
    divisor = len(trees) // header.n_scores if header.averages else 1
    return Imported(
        ensemble=_ensemble(header, [tree for tree, _ in parsed], _zero_is_missing(header, parsed), divisor),
        classes=np.arange(max(header.n_scores, 2)),
        columns=None if are_default(header.names) else header.names,
        library=library_name("LightGBM", "lightgbm"),
        margins=None,
        labels=None,
        probability=partial(_probability, header.sigmoid, divisor) if header.n_scores == 1 else None,
        categories=_categories(header, rest),
    )


def _fields(lines: str) -> dict[str, str]:
    return {key: value for key, _, value in (line.partition("=") for line in lines.split("\n"))}


def are_default(names: Iterable[str]) -> bool:
    """Return whether these are the names that LightGBM gives to columns without any."""
    return all(name == f"Column_{number}" for number, name in enumerate(names))


# The header


def _header(start: str, rest: str) -> Header:
    fields = _fields(start)
    version = fields.get("version", "")
    if version not in FORMATS:
        raise ValueError(f"The LightGBM model has the format {version!r}. Supported formats: {', '.join(FORMATS)}.")
    objective, *options = fields.get("objective", "custom").split() or ["custom"]
    _check_objective(objective)
    given = dict(option.partition(":")[::2] for option in options)
    names = tuple(fields["feature_names"].split(" "))
    return Header(
        n_scores=int(fields["num_tree_per_iteration"]),
        sigmoid=float(given.get("sigmoid", "1")),
        averages="average_output" in fields,
        names=names,
        categorical=_categorical_columns(fields, rest, names),
    )


def _check_objective(objective: str) -> None:
    if objective in ("binary", "multiclass", "multiclassova"):
        return
    if objective == "custom":
        reason = "a custom objective, so it is not known how its raw scores become labels"
    else:
        reason = f"the objective {objective}, which is not one of a classifier"
    raise TypeError(f"The LightGBM model has {reason}. {FIT_A_CLASSIFIER} Accepted are {ACCEPTED}.")


def _categorical_columns(fields: dict[str, str], rest: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return the columns that were given as categorical, whether a tree uses them or not."""
    infos = fields.get("feature_infos", "").split(" ")
    columns = {number for number, info in enumerate(infos) if ":" in info and not info.startswith("[")}
    # A column with a single value has no entry there.
    _, _, parameter = rest.partition("\n[categorical_feature: ")
    given = parameter.partition("]\n")[0].removeprefix("name:").split(",")
    columns.update(int(item) for item in given if item.isdecimal() and len(item) < 10)
    columns.update(names.index(item) for item in given if item in names)
    return tuple(sorted(column for column in columns if column < len(names)))


def _categories(header: Header, rest: str) -> dict[int, Categories]:
    """Return what the codes of data frames' categorical columns stand for."""
    _, found, line = rest.rpartition("\npandas_categorical:")
    listed = json.loads(line.partition("\n")[0]) if found else None
    if not listed:
        return {}
    if len(listed) != len(header.categorical):
        raise ValueError(
            f"The LightGBM model was fitted on a data frame with {len(listed)} columns of categories, of which it "
            f"takes {len(header.categorical)} as categorical, but it does not say which. Fit it with the codes of "
            "ordered categories as numbers, and with categories in every column of categorical_feature."
        )
    return {
        column: Categories(_as_array(values), numbers_too=False)
        for column, values in zip(header.categorical, listed, strict=True)
    }


def _as_array(values: list[Any]) -> NDArray[Any]:
    same = len({type(value) for value in values}) == 1
    return np.array(values, dtype=None if same else object)


# The trees


def _numbers(fields: dict[str, str], key: str, kind: type) -> NDArray[Any]:
    return np.array([kind(text) for text in fields[key].split()], dtype=np.float64 if kind is float else np.int64)


def _tree(fields: dict[str, str], number: int) -> tuple[Tree, Integers]:
    """Return a tree, whose leaves follow its splits, and the missing type of each split: -1 for categories."""
    if fields.get("is_linear", "0").strip() != "0":
        raise TypeError(f"Tree {number} has linear models in its leaves (linear_tree), which cannot be read early.")
    value = _numbers(fields, "leaf_value", float)
    if value.size == 1:
        nothing = np.zeros(0, np.int64)
        return _with_leaves(nothing, np.zeros(0), nothing, nothing, np.zeros(0, bool), value, {}), nothing
    column, decision = _numbers(fields, "split_feature", int), _numbers(fields, "decision_type", int)
    threshold = _numbers(fields, "threshold", float)
    categorical = (decision & IS_CATEGORICAL) > 0
    missing = (decision >> 2) & 3
    # NaN counts as 0.0 where there were none in training, and is in no set of categories.
    missing_left = np.where(missing == MISSING_NONE, threshold >= 0.0, (decision & DEFAULT_LEFT) > 0) & ~categorical
    sets = _sets(fields, threshold, np.flatnonzero(categorical))
    left, right = _numbers(fields, "left_child", int), _numbers(fields, "right_child", int)
    tree = _with_leaves(column, _beside_zero(threshold), left, right, missing_left, value, sets)
    return tree, np.where(categorical, -1, missing)


def _with_leaves(
    column: Integers,
    threshold: Reals,
    left: Integers,
    right: Integers,
    missing_left: NDArray[np.bool_],
    value: Reals,
    sets: dict[int, NDArray[np.integer]],
) -> Tree:
    """Return a tree with the leaves, which LightGBM numbers -1, -2, …, after the splits."""
    n_splits, n_leaves = column.size, value.size

    def numbered(child: Integers) -> Integers:
        return np.concatenate([np.where(child < 0, n_splits - 1 - child, child), np.full(n_leaves, -1)])

    def padded(values: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([values, np.zeros(n_leaves, values.dtype)])

    return Tree(
        column=padded(column),
        threshold=padded(threshold),
        left=numbered(left),
        right=numbered(right),
        missing_left=padded(missing_left),
        value=np.concatenate([np.zeros(n_splits), value]),
        sets=sets or None,
    )


def _beside_zero(threshold: Reals) -> Reals:
    """Return thresholds that decide values close to zero as LightGBM does, which makes them zero in dense rows."""
    if np.abs(threshold).min() > ZERO:
        return threshold
    moved = np.where((threshold >= 0) & (threshold <= ZERO), ZERO, threshold)
    return np.where((threshold < 0) & (threshold >= -ZERO), np.nextafter(-ZERO, -np.inf), moved)


def _sets(fields: dict[str, str], threshold: Reals, nodes: NDArray[np.intp]) -> dict[int, NDArray[np.integer]]:
    """Return the categories that go left, by node; the threshold of such a node is the number of its set."""
    if not nodes.size:
        return {}
    bounds, words = _numbers(fields, "cat_boundaries", int), _numbers(fields, "cat_threshold", int)
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    starts = 32 * bounds
    return {
        node: np.flatnonzero(bits[starts[number] : starts[number + 1]])
        for node, number in zip(nodes.tolist(), threshold[nodes].astype(int).tolist(), strict=True)
    }


def _zero_is_missing(header: Header, parsed: list[tuple[Tree, Integers]]) -> NDArray[np.bool_] | None:
    column = np.concatenate([tree.column[: missing.size] for tree, missing in parsed])
    missing = np.concatenate([missing for _, missing in parsed])
    is_zero, is_other = np.zeros((2, header.n_columns), bool)
    is_zero[column[missing == MISSING_ZERO]] = True
    is_other[column[(missing != MISSING_ZERO)]] = True
    if (is_zero & is_other).any():
        which = header.column(int(np.flatnonzero(is_zero & is_other)[0]))
        raise ValueError(
            f"The LightGBM model treats zeros of {which} as missing values in some trees and not in others, as after "
            "continued training with another zero_as_missing. Such a model is not supported."
        )
    return is_zero if is_zero.any() else None


def _probability(sigmoid: float, divisor: int, margin: Reals) -> Reals:
    return logistic(sigmoid * (margin / divisor))


def _ensemble(header: Header, trees: list[Tree], zero_is_missing: NDArray[np.bool_] | None, divisor: int) -> Ensemble:
    n_scores = header.n_scores
    score = np.tile(np.arange(n_scores, dtype=np.int32), len(trees) // n_scores)
    rounds = Rounds(trees, score, n_scores).merged()

    def is_second(margin: float) -> bool:
        if n_scores == 1:
            return bool(_probability(header.sigmoid, divisor, np.array([margin]))[0] > 0.5)
        return exp(-margin / divisor) < 1.0  # softmax of two

    return Ensemble(
        nodes=assemble(rounds.trees),
        score=rounds.score,
        n_scores=rounds.n_scores,
        n_columns=header.n_columns,
        sum=Sum(start=np.zeros(n_scores), positive_from=smallest(is_second, np.float64)),
        zero_is_missing=zero_is_missing,
        integers_single=True,
        slope=header.sigmoid / divisor if n_scores == 1 else 1.0 / divisor,
    )
