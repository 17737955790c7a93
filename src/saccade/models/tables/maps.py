"""What fitted steps do to features, as arrays: one map a kind of step, computed as scikit-learn computes it.

A map takes features (rows, m) and returns features (rows, m'), each of which depends on one of those that it takes,
but for ``Monomials``. NaN is a missing value, or one that a step refuses. Features in single precision stay so, and are
rounded where scikit-learn rounds them, because a threshold behind a map may lie between two roundings.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.special import boxcox, ndtri

__all__ = [
    "Bins",
    "Clip",
    "Elementwise",
    "Fill",
    "Indicate",
    "Map",
    "Match",
    "Monomials",
    "Power",
    "Quantiles",
    "Scale",
    "Select",
    "Splines",
    "Threshold",
    "UFUNCS",
]

Reals = NDArray[np.float64]
# Quantiles of a normal distribution are cut off here, as in scikit-learn's QuantileTransformer.
BOUNDS_THRESHOLD = 1e-7
# NumPy's functions of one number that are taken by name.
UFUNCS: dict[str, np.ufunc] = {
    function.__name__: function
    for function in (
        np.abs,
        np.arcsinh,
        np.arctan,
        np.cbrt,
        np.ceil,
        np.cos,
        np.exp,
        np.expm1,
        np.floor,
        np.log,
        np.log10,
        np.log1p,
        np.log2,
        np.negative,
        np.reciprocal,
        np.rint,
        np.sign,
        np.sin,
        np.sqrt,
        np.square,
        np.tanh,
    )
}


class Map(Protocol):
    """What a step does to features."""

    def __call__(self, features: Reals) -> Reals: ...

    @property
    def width(self) -> int | None:
        """How many features it returns; None for as many as it takes."""

    def __getitem__(self, places: NDArray[np.intp]) -> "Map":
        """Return the map for some of the features that it takes, where it takes each by itself."""


@dataclass(frozen=True, eq=False)
class Scale:
    """(x - minus) / over * times + plus: no rounding is saved, so that edges of bins behind it are met to the bit."""

    minus: Reals
    over: Reals
    times: Reals
    plus: Reals
    rounded: bool = False  # whether these numbers are rounded to the precision of the features first

    width = None

    @classmethod
    def of(
        cls, n: int, *, minus: Any = 0.0, over: Any = 1.0, times: Any = 1.0, plus: Any = 0.0, rounded: bool = False
    ) -> "Scale":
        made = (np.broadcast_to(np.asarray(part, np.float64), (n,)) for part in (minus, over, times, plus))
        minus, over, times, plus = made
        return cls(minus, over, times, plus, rounded)

    def __call__(self, features: Reals) -> Reals:
        for operation, numbers in zip(
            (np.subtract, np.divide, np.multiply, np.add), (self.minus, self.over, self.times, self.plus), strict=True
        ):
            features = _like(operation(features, _like(numbers, features) if self.rounded else numbers), features)
        return features

    def __getitem__(self, places: NDArray[np.intp]) -> "Scale":
        return Scale(self.minus[places], self.over[places], self.times[places], self.plus[places], self.rounded)


@dataclass(frozen=True, eq=False)
class Clip:
    """What lies outside of a range becomes its end."""

    low: Reals
    high: Reals

    width = None

    def __call__(self, features: Reals) -> Reals:
        return _like(np.clip(features, self.low, self.high), features)

    def __getitem__(self, places: NDArray[np.intp]) -> "Clip":
        return Clip(self.low[places], self.high[places])


@dataclass(frozen=True, eq=False)
class Fill:
    """A missing value, or what stands for one, is replaced."""

    missing: float  # NaN, or the number that stands for missing values
    value: Reals  # by feature

    width = None

    def __call__(self, features: Reals) -> Reals:
        return _like(np.where(_is(features, self.missing), self.value, features), features)

    def __getitem__(self, places: NDArray[np.intp]) -> "Fill":
        return Fill(self.missing, self.value[places])


@dataclass(frozen=True, eq=False)
class Indicate:
    """1 where a value is missing, else 0."""

    missing: float

    width = None

    def __call__(self, features: Reals) -> Reals:
        return _is(features, self.missing).astype(np.float64)

    def __getitem__(self, places: NDArray[np.intp]) -> "Indicate":
        return self


@dataclass(frozen=True, eq=False)
class Bins:
    """Which of the intervals between ascending edges a value lies in, counted from 0, of one feature.

    An edge belongs to the interval above it.
    """

    edges: Reals

    width = 1

    def __call__(self, features: Reals) -> Reals:
        found = np.searchsorted(self.edges, features, side="right").astype(np.float64)
        return np.where(np.isnan(features), np.nan, found)

    def __getitem__(self, places: NDArray[np.intp]) -> "Bins":
        return self


@dataclass(frozen=True, eq=False)
class Threshold:
    """1 above a threshold, else 0."""

    value: Reals  # by feature

    width = None

    def __call__(self, features: Reals) -> Reals:
        return np.where(np.isnan(features), np.nan, features > _like(self.value, features))

    def __getitem__(self, places: NDArray[np.intp]) -> "Threshold":
        return Threshold(self.value[places])


@dataclass(frozen=True, eq=False)
class Match:
    """A row of a table for each number that one feature may have: for encoders of numbers."""

    values: Reals  # ascending
    table: Reals  # (values + 2, m): a row for each, for any other number, and for a missing one

    @property
    def width(self) -> int:
        return int(self.table.shape[1])

    def __call__(self, features: Reals) -> Reals:
        values, column = self.values, features[:, 0]
        if values.size == 0:
            place = np.zeros(column.size, dtype=np.intp)
        else:
            found = np.minimum(np.searchsorted(values, column), values.size - 1)
            place = np.where(values[found] == column, found, values.size)
        matched: Reals = self.table[np.where(np.isnan(column), values.size + 1, place)]
        return matched

    def __getitem__(self, places: NDArray[np.intp]) -> "Match":
        return self


@dataclass(frozen=True, eq=False)
class Select:
    """Some of the features."""

    places: NDArray[np.intp]

    @property
    def width(self) -> int:
        return int(self.places.size)

    def __call__(self, features: Reals) -> Reals:
        return features[:, self.places]

    def __getitem__(self, places: NDArray[np.intp]) -> "Select":
        raise TypeError("Features are selected by block.")


@dataclass(frozen=True, eq=False)
class Monomials:
    """Products of powers of features."""

    powers: NDArray[np.int64]  # (m', m)

    @property
    def width(self) -> int:
        return int(self.powers.shape[0])

    def __call__(self, features: Reals) -> Reals:
        made = np.ones((features.shape[0], self.powers.shape[0]), features.dtype)
        for k, powers in enumerate(self.powers):
            for j in np.flatnonzero(powers):
                made[:, k] *= features[:, j] ** int(powers[j])
        return made

    def __getitem__(self, places: NDArray[np.intp]) -> "Monomials":
        raise TypeError("Monomials mix features.")


@dataclass(frozen=True, eq=False)
class Splines:
    """B-splines of one feature, as scikit-learn's SplineTransformer continues them beyond its knots."""

    knots: Reals
    coefficients: Reals  # (splines, m)
    degree: int
    extrapolation: str
    low: float  # the outermost knots within which splines are evaluated
    high: float

    @property
    def width(self) -> int:
        return int(self.coefficients.shape[1])

    def __call__(self, features: Reals) -> Reals:
        x = features[:, 0]
        spline = BSpline(self.knots, self.coefficients, self.degree, extrapolate=True)
        if self.extrapolation == "periodic":
            period = self.high - self.low
            made: Reals = spline(np.where(np.isnan(x), np.nan, self.low + (x - self.low) % period))
            return made
        made = spline(x)
        if self.extrapolation == "continue":
            return made
        inside = (x >= self.low) & (x <= self.high)
        if self.extrapolation == "error":
            return np.where(inside[:, None], made, np.nan)
        ends, slopes = spline([self.low, self.high]), spline([self.low, self.high], nu=1)
        steep = 1.0 if self.extrapolation == "linear" else 0.0
        below, above = (x < self.low)[:, None], (x > self.high)[:, None]
        made = np.where(below, ends[0] + steep * slopes[0] * (x - self.low)[:, None], made)
        return np.where(above, ends[1] + steep * slopes[1] * (x - self.high)[:, None], made)

    def __getitem__(self, places: NDArray[np.intp]) -> "Splines":
        return self


@dataclass(frozen=True, eq=False)
class Quantiles:
    """The share of training values below one feature's, by interpolation, or the normal quantile of that share."""

    quantiles: Reals
    references: Reals
    normal: bool

    width = 1

    def __call__(self, features: Reals) -> Reals:
        x, quantiles, references = features[:, 0], self.quantiles, self.references
        if self.normal:
            below, above = x - BOUNDS_THRESHOLD < quantiles[0], x + BOUNDS_THRESHOLD > quantiles[-1]
        else:
            below, above = x == quantiles[0], x == quantiles[-1]
        # From both sides, so that a run of equal quantiles gets the middle of its shares.
        share = 0.5 * (np.interp(x, quantiles, references) - np.interp(-x, -quantiles[::-1], -references[::-1]))
        share = np.where(below, 0.0, np.where(above, 1.0, share))
        if self.normal:
            ends = ndtri(BOUNDS_THRESHOLD - np.spacing(1)), ndtri(1 - (BOUNDS_THRESHOLD - np.spacing(1)))
            share = np.clip(ndtri(share), *ends)
        return _like(np.where(np.isnan(x), np.nan, share)[:, None], features)

    def __getitem__(self, places: NDArray[np.intp]) -> "Quantiles":
        return self


@dataclass(frozen=True, eq=False)
class Power:
    """The Box-Cox or Yeo-Johnson transform."""

    exponents: Reals  # by feature
    box_cox: bool

    width = None

    def __call__(self, features: Reals) -> Reals:
        made = np.empty_like(features)
        for j, exponent in enumerate(self.exponents):
            if exponent == np.float32(exponent):  # fitted in single precision, in which it also counts
                exponent = features.dtype.type(exponent)
            with np.errstate(invalid="ignore", divide="ignore"):
                x = features[:, j]
                made[:, j] = boxcox(np.where(x > 0, x, np.nan), exponent) if self.box_cox else _yeo_johnson(x, exponent)
        return made

    def __getitem__(self, places: NDArray[np.intp]) -> "Power":
        return Power(self.exponents[places], self.box_cox)


@dataclass(frozen=True, eq=False)
class Elementwise:
    """A function of NumPy, by its name."""

    function: str  # one of UFUNCS

    width = None

    def __call__(self, features: Reals) -> Reals:
        with np.errstate(all="ignore"):  # what has no value, or an infinite one, is refused
            made: Reals = UFUNCS[self.function](features)
        return made

    def __getitem__(self, places: NDArray[np.intp]) -> "Elementwise":
        return self


def _like(values: NDArray[Any], features: Reals) -> Reals:
    """Return values in the precision of some features."""
    return values.astype(features.dtype, copy=False)


def _yeo_johnson(x: Reals, exponent: float) -> Reals:
    if np.isnan(exponent):  # a constant feature is left as it is
        return x
    upper, lower = np.maximum(x, 0.0), np.minimum(x, 0.0)
    near = np.finfo(np.result_type(x, exponent)).eps
    above = np.log1p(upper) if abs(exponent) < near else np.expm1(exponent * np.log1p(upper)) / exponent
    other = 2.0 - exponent
    below = -np.log1p(-lower) if abs(other) <= near else -np.expm1(other * np.log1p(-lower)) / other
    return np.where(np.isnan(x), np.nan, np.where(x >= 0, above, below))


def _is(features: Reals, value: float) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.isnan(features) if np.isnan(value) else features == value
    return found
