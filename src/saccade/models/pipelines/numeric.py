"""Steps that take each feature as a number: scalers, bins, splines, quantiles, powers, thresholds, polynomials."""

import warnings
from typing import Any

import numpy as np
import sklearn
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from saccade.models.pipelines.features import Blocks, RefusedError, counted, each, elementwise
from saccade.models.tables.blocks import (
    Block,
    Constant,
    Foreign,
    Formula,
    Known,
    Lookup,
    Made,
    Raw,
    as_numbers,
    expanded,
    mapped,
)
from saccade.models.tables.maps import (
    Bins,
    Clip,
    Fill,
    Match,
    Monomials,
    Power,
    Quantiles,
    Scale,
    Splines,
    Threshold,
)

__all__ = ["STEPS"]

# StandardScaler rounds its numbers to the precision of the rows before it scales them.
ROUNDS_SCALES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)


def standard(step: StandardScaler, blocks: Blocks) -> Blocks:
    n = counted(blocks)
    minus, over = (step.mean_ if step.with_mean else 0.0), (step.scale_ if step.with_std else 1.0)
    return elementwise(blocks, Scale.of(n, minus=minus, over=over, rounded=ROUNDS_SCALES))


def robust(step: RobustScaler, blocks: Blocks) -> Blocks:
    n = counted(blocks)
    minus, over = (step.center_ if step.with_centering else 0.0), (step.scale_ if step.with_scaling else 1.0)
    return elementwise(blocks, Scale.of(n, minus=minus, over=over))


def max_abs(step: MaxAbsScaler, blocks: Blocks) -> Blocks:
    scaled = elementwise(blocks, Scale.of(counted(blocks), over=step.scale_))
    return _clipped(scaled, -1.0, 1.0) if getattr(step, "clip", False) else scaled


def min_max(step: MinMaxScaler, blocks: Blocks) -> Blocks:
    scaled = elementwise(blocks, Scale.of(counted(blocks), times=step.scale_, plus=step.min_))
    return _clipped(scaled, *step.feature_range) if step.clip else scaled


def _clipped(blocks: Blocks, low: float, high: float) -> Blocks:
    n = counted(blocks)
    return elementwise(blocks, Clip(np.full(n, float(low)), np.full(n, float(high))))


def binarizer(step: Binarizer, blocks: Blocks) -> Blocks:
    return elementwise(blocks, Threshold(np.full(counted(blocks), float(step.threshold))))


def bins(step: KBinsDiscretizer, blocks: Blocks) -> Blocks:
    def made_of(place: int, made: Made) -> tuple[Made, int]:
        binned = mapped(made, Bins(np.asarray(step.bin_edges_[place][1:-1], dtype=np.float64)))
        if step.encode == "ordinal":
            return binned, 1
        n = int(step.n_bins_[place])
        table = np.concatenate([np.eye(n), np.full((2, n), np.nan)])
        return mapped(binned, Match(np.arange(n, dtype=np.float64), table)), n

    return each(blocks, made_of)


def splines(step: SplineTransformer, blocks: Blocks) -> Blocks:
    zeros = getattr(step, "handle_missing", "error") == "zeros"
    if zeros and step.extrapolation == "error":
        raise RefusedError(step, "refuses some numbers and takes missing ones, which cannot be told apart behind it.")

    def made_of(place: int, made: Made) -> tuple[Made, int]:
        spline = step.bsplines_[place]
        t, k = spline.t, int(spline.k)
        n = t.size - k - 1
        width = spline.c.shape[1] - (not step.include_bias)
        low, high = (float(t[k]), float(t[n] if step.extrapolation == "periodic" else t[-k - 1]))
        made = mapped(made, Splines(t, np.asarray(spline.c[:, :width]), k, step.extrapolation, low, high))
        return mapped(made, Fill(np.nan, np.zeros(width))) if zeros else made, width

    if step.extrapolation == "linear" and step.degree < 2:
        _check_splines(step, made_of)
    return each(blocks, made_of)


def _check_splines(step: SplineTransformer, made_of: Any) -> None:
    """Raise where scikit-learn (1.6 to 1.9) counts a degree up from feature to feature, and moves the outer knots."""
    knots = np.stack([spline.t for spline in step.bsplines_], axis=1)
    numbers = np.concatenate([knots, (knots[1:] + knots[:-1]) / 2])
    made = [made_of(j, Formula((j,)))[0].features(lambda column: numbers[:, column]) for j in range(knots.shape[1])]
    with warnings.catch_warnings():  # of names
        warnings.simplefilter("ignore")
        own = step.transform(numbers)
    own = own.toarray() if hasattr(own, "toarray") else np.asarray(own)
    if not np.allclose(np.concatenate(made, axis=1), own):
        raise RefusedError(
            step,
            "of several columns continues only the first as it says, with degree < 2 (a fault of scikit-learn). Give "
            "each column a SplineTransformer of its own.",
        )


def quantiles(step: QuantileTransformer, blocks: Blocks) -> Blocks:
    normal = step.output_distribution == "normal"
    return each(
        blocks, lambda place, made: (mapped(made, Quantiles(step.quantiles_[:, place], step.references_, normal)), 1)
    )


def power(step: PowerTransformer, blocks: Blocks) -> Blocks:
    made = elementwise(blocks, Power(np.asarray(step.lambdas_, dtype=np.float64), step.method == "box-cox"))
    return standard(step._scaler, made) if step.standardize else made  # private: seen in scikit-learn 1.6 to 1.9


def polynomials(step: PolynomialFeatures, blocks: Blocks) -> Blocks:
    """Return products of powers, by the columns that they need."""
    powers, known = np.asarray(step.powers_, dtype=np.int64), expanded(blocks)
    by_columns: dict[tuple[int, ...], list[int]] = {}
    for place, own in enumerate(powers):
        needed = {column for block in known if own[block.places].any() for column in block.made.columns}
        by_columns.setdefault(tuple(sorted(needed)), []).append(place)
    products: Blocks = []
    for columns, listed in by_columns.items():
        places = np.array(listed)
        used = [block for block in known if powers[np.ix_(places, block.places)].any()]
        inside = np.concatenate([block.places for block in used]) if used else np.zeros(0, dtype=np.intp)
        product = Monomials(powers[np.ix_(places, inside)])
        products.append(Block(places, _product(columns, used, product)))
    return products


def _product(columns: tuple[int, ...], used: list[Known], product: Monomials) -> Made:
    if not columns:
        constants = [block.made.values for block in used if isinstance(block.made, Constant)]
        return Constant(product(np.concatenate([*constants, np.zeros(0)])[None])[0])
    if len(used) == 1:
        return mapped(used[0].made, product)
    return Formula(columns, (product,), tuple(_input(block.made) for block in used))


def _input(made: Made) -> Lookup | Formula | Foreign:
    if isinstance(made, Constant):
        raise TypeError("PolynomialFeatures multiplies a constant feature. Leave constant features out.")
    return as_numbers(made) if isinstance(made, Raw) else made


STEPS: dict[type, Any] = {
    StandardScaler: standard,
    RobustScaler: robust,
    MaxAbsScaler: max_abs,
    MinMaxScaler: min_max,
    Binarizer: binarizer,
    KBinsDiscretizer: bins,
    SplineTransformer: splines,
    QuantileTransformer: quantiles,
    PowerTransformer: power,
    PolynomialFeatures: polynomials,
}
