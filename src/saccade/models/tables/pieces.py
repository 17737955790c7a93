"""A function of one number in pieces, each a polynomial: what scalers, bins and splines make of a column."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.kernels.lookups import evaluate_pieces
from saccade.models.tables.blocks import Formula
from saccade.models.tables.maps import (
    Bins,
    Clip,
    Fill,
    Indicate,
    Map,
    Match,
    Monomials,
    Scale,
    Select,
    Splines,
    Threshold,
)

__all__ = ["Pieces", "least_numbers", "pieces_of"]

Reals = NDArray[np.float64]
Precision = type[np.float64] | type[np.float32]
PRECISIONS: tuple[Precision, ...] = (np.float64, np.float32)
Weighed = tuple[Formula, Reals]  # features, and the weights of each in each score, (scores, features)

# Polynomials of a higher degree are left to the maps themselves.
MOST_DEGREE = 3
# An interval that is narrower than this, relative to its place, is taken as a single number.
NARROW = 1e-14
# Polynomials that miss a function by more than this share of its values are not used.
MISSED = 1e-8


@dataclass(frozen=True, eq=False)
class Pieces:
    """Polynomials in x - origin, one for each interval between edges; an edge belongs to the interval above it."""

    edges: Reals  # (pieces - 1,) ascending
    single: Reals  # the same for numbers in single precision, which steps round otherwise
    origin: Reals  # (pieces,)
    coefficients: Reals  # (pieces, scores, degree + 1), the constants first
    missing: Reals  # (scores,) where there is no number; NaN where that is refused

    @property
    def line(self) -> tuple[Reals, Reals] | None:
        """Slope and value at 0 of a straight line that takes no missing values, as linear models have; else None."""
        degree = self.coefficients.shape[2] - 1
        if self.edges.size or degree > 1 or not np.isnan(self.missing).all():
            return None
        constant = self.coefficients[0, :, 0]
        slope = self.coefficients[0, :, 1] if degree else np.zeros_like(constant)
        return slope, constant - slope * self.origin[0]

    def __call__(self, values: Reals) -> Reals:
        made = np.empty((values.size, self.missing.size))
        self.write(values, made)
        return made

    def write(self, values: Reals, out: NDArray[np.floating]) -> None:
        """Write the values of all scores, (values, scores)."""
        edges = self.single if values.dtype == np.float32 else self.edges
        evaluate_pieces(values.astype(np.float64, copy=False), edges, self.origin, self.coefficients, self.missing, out)


class _Shape(Enum):
    """What is known of features as a function of the column."""

    RISING = 1  # where one changes it grows, so that the place where it reaches a value can be searched for
    STEPS = 2  # constant between the edges
    POLYNOMIAL = 3  # between the edges


@dataclass(frozen=True)
class _Walked:
    """What is known after some maps."""

    edges: Reals  # (edges, 2), of numbers in double and in single precision
    degree: int
    shape: _Shape


def pieces_of(weighed: Sequence[Weighed]) -> Pieces | None:
    """Return the weighted features of a column of numbers, all together, in pieces; None where they have none."""
    walked = [_walk(formula) for formula, _ in weighed]
    known = [one for one in walked if one is not None and one.degree <= MOST_DEGREE]
    if len(known) < len(walked):
        return None
    edges, single = np.nan_to_num(np.unique(np.concatenate([one.edges for one in known]), axis=0).T)
    if (np.diff(edges) == 0).any() or (np.diff(single) < 0).any():  # rounding puts them into another order
        return None
    pieces = _interpolated(weighed, np.ascontiguousarray(edges), max(one.degree for one in known))
    return pieces and replace(pieces, single=np.ascontiguousarray(single))


def _walk(formula: Formula) -> _Walked | None:
    """Return what is known of the features that a formula makes of a number."""
    if formula.inputs or len(formula.columns) > 1:
        return None
    walked: _Walked | None = _Walked(np.zeros((0, 2)), 1, _Shape.RISING)
    for k, step in enumerate(formula.maps):
        walked = None if walked is None else _walk_on(walked, step, Formula(formula.columns, formula.maps[:k]))
    return walked


def _walk_on(walked: _Walked, step: Map, before: Formula) -> _Walked | None:
    """Return what is known behind one more map; ``before`` are those before it."""
    edges, degree, shape = walked.edges, walked.degree, walked.shape
    if isinstance(step, Select):
        return walked
    if isinstance(step, Scale):
        rising = shape is not _Shape.RISING or bool((step.times / step.over >= 0).all())
        return walked if rising else _Walked(edges, degree, _Shape.POLYNOMIAL)
    if isinstance(step, Fill) and np.isnan(step.missing):  # no number changes
        return walked
    if isinstance(step, Indicate) and np.isnan(step.missing):
        return _Walked(edges, 0, _Shape.STEPS)
    if shape is _Shape.STEPS:
        return walked
    if isinstance(step, Monomials):
        return _Walked(edges, degree * int(step.powers.sum(axis=1).max(initial=0)), _Shape.POLYNOMIAL)
    if shape is not _Shape.RISING:
        return None
    found = [_reached(before, j, levels) for j, levels in enumerate(_levels(step))]
    edges = np.concatenate([edges, *found])
    edges = edges[np.isfinite(edges[:, 0])]
    if isinstance(step, Clip):
        return _Walked(edges, degree, _Shape.RISING)
    if isinstance(step, Splines):
        periodic = step.extrapolation == "periodic"
        return None if periodic else _Walked(edges, degree * step.degree, _Shape.POLYNOMIAL)
    if isinstance(step, Fill):
        return _Walked(edges, degree, _Shape.POLYNOMIAL)
    return _Walked(edges, 0, _Shape.STEPS) if isinstance(step, Bins | Threshold | Match | Indicate) else None


def _levels(step: Map) -> list[Reals]:
    """Return where each feature that a map takes changes from one polynomial to another: at these and above.

    (levels, 2) for each: of features in double and in single precision.
    """
    if isinstance(step, Clip):
        ends = np.broadcast_arrays(step.low, step.high)
        return [_as_they_are([low, high]) for low, high in zip(*ends, strict=True)]
    if isinstance(step, Bins):
        return [_as_they_are(step.edges)]
    if isinstance(step, Threshold):
        return [_rounded(value)[1:] for value in step.value]
    if isinstance(step, Match):
        return [_as_they_are(np.concatenate([step.values, np.nextafter(step.values, np.inf)]))]
    if isinstance(step, Splines):
        inner = step.knots[(step.knots > step.low) & (step.knots < step.high)]
        return [_as_they_are(np.concatenate([[step.low], inner, np.nextafter([step.high], np.inf)]))]
    if isinstance(step, Fill | Indicate):
        return [_rounded(step.missing)] * (step.value.size if isinstance(step, Fill) else 1)
    return []


def _as_they_are(levels: Any) -> Reals:
    """Return levels that features of any precision are compared with as they are."""
    return np.stack([levels, levels], axis=1)


def _rounded(value: float) -> Reals:
    """Return a value that is rounded to the precision of the features, and the next number."""
    values = [precision(value) for precision in PRECISIONS]
    return np.array([values, [np.nextafter(value, np.inf, dtype=value.dtype) for value in values]], dtype=np.float64)


def _reached(before: Formula, feature: int, levels: Reals) -> Reals:
    """Return the least numbers, (levels, 2), at which a feature that rises reaches each level; infinity if none do."""

    def least(of: Reals, precision: Precision) -> Reals:
        if not before.maps and precision is np.float64:
            return of
        return least_numbers(lambda numbers: _features(before, numbers)[:, feature] >= of, of.size, precision)

    return np.stack([least(of, precision) for of, precision in zip(levels.T, PRECISIONS, strict=True)], axis=1)


def least_numbers(holds: Callable[[Reals], NDArray[np.bool_]], count: int, precision: Precision = np.float64) -> Reals:
    """Return the least numbers for which something holds, each of several; it holds for all greater ones, too.

    Numbers are halved in their order as bits, which is that of their values. Infinite where it never holds, or always.
    """
    low, high = (np.full(count, end) for end in _ordered(np.array([-np.inf, np.inf], dtype=precision)))
    while (high > low + 1).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # the difference would overflow
        with np.errstate(all="ignore"):  # a scale may be zero in single precision
            above = holds(_numbers(middle))
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return _numbers(high).astype(np.float64)


def _ordered(numbers: NDArray[np.floating]) -> NDArray[np.signedinteger]:
    bits = numbers.view(f"i{numbers.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits)


def _numbers(ordered: NDArray[np.signedinteger]) -> Reals:
    bits = np.where(ordered < 0, np.iinfo(ordered.dtype).min - ordered, ordered)
    numbers: Reals = bits.view(f"f{ordered.itemsize}")
    return numbers


def _interpolated(weighed: Sequence[Weighed], edges: Reals, degree: int) -> Pieces | None:
    """Return the polynomials through values of a function at degree + 1 numbers of each piece, unless they miss it."""
    origin, points, ends = _points(*_around(weighed, edges), edges, degree)
    missing = _summed(weighed, np.array([np.nan]))[0]
    values = _summed(weighed, points.ravel()).reshape(*points.shape, -1)  # (pieces, degree + 1, scores)
    apart = points - origin[:, None]
    length = np.maximum(np.abs(apart).max(axis=1), np.finfo(float).tiny)
    narrow = (apart[:, -1] == apart[:, 0]) if degree else np.zeros(origin.size, dtype=bool)
    powers = (apart / length[:, None])[:, :, None] ** np.arange(degree + 1)
    powers[narrow] = np.eye(degree + 1)
    between = np.append((points[:, 1:] + points[:, :-1]) / 2, ends[:, None], axis=1)
    largest = np.abs(values).max(axis=1)  # (pieces, scores)
    values[narrow, 1:] = 0.0
    with np.errstate(all="ignore"):  # of numbers whose cubes are no numbers
        made = np.linalg.solve(powers, values) / length[:, None, None] ** np.arange(degree + 1)[:, None]
    made[narrow, 1:] = 0.0
    pieces = Pieces(edges, edges, origin, np.ascontiguousarray(made.transpose(0, 2, 1)), missing)
    if degree == 0:
        return pieces
    own = _summed(weighed, between.ravel()).reshape(*between.shape, -1)
    missed = np.abs(pieces(between.ravel()).reshape(own.shape) - own)
    hit = (missed <= MISSED * largest[:, None]) | np.isnan(own)
    return pieces if hit.all() else None


def _points(middle: float, size: float, edges: Reals, degree: int) -> tuple[Reals, Reals, Reals]:
    """Return the origin of each piece, numbers within it, (pieces, degree + 1), and its last one."""
    if edges.size == 0:
        ends = np.array([[middle - size, middle + size]])
    else:
        last = np.nextafter(edges, -np.inf)
        ends = np.stack([np.append(last[0] - size, edges), np.append(last, edges[-1] + size)], axis=1)
    narrow = ends[:, 1] - ends[:, 0] <= NARROW * np.abs(ends).max(axis=1)
    last_of = ends[:, 1].copy()
    ends[narrow, 1] = ends[narrow, 0]
    share = np.linspace(0, 1, degree + 1)
    points = ends[:, :1] * (1 - share) + ends[:, 1:] * share
    points[:, 0], points[:, -1] = ends[:, 0], ends[:, -1] if degree else ends[:, 0]
    origin = np.where(np.arange(edges.size + 1) == 0, ends[:, 1], ends[:, 0]) if edges.size else np.array([middle])
    return origin, points, last_of


def _around(weighed: Sequence[Weighed], edges: Reals) -> tuple[float, float]:
    """Return a number among those of a column and how far they lie from it, as far as edges and scales tell.

    Parabolas of large numbers that differ little would be rounded away around 0.
    """
    first = [next((step for step in formula.maps if isinstance(step, Scale)), None) for formula, _ in weighed]
    scales = [step for step in first if step is not None]
    with np.errstate(all="ignore"):
        wide = np.concatenate([np.zeros(0), *(step.over / step.times for step in scales)])
        roots = np.concatenate([np.zeros(0), *(step.minus - step.plus / step.times * step.over for step in scales)])
    roots, wide = roots[np.isfinite(roots)], wide[np.isfinite(wide)]
    near = np.concatenate([edges, roots])
    middle = float(np.median(roots)) if roots.size else float(np.median(near)) if near.size else 0.0
    size = float(np.abs(np.concatenate([near - middle, wide])).max(initial=0.0)) or abs(middle)
    return middle, size if 0 < size < np.inf else 1.0


def _summed(weighed: Sequence[Weighed], numbers: Reals) -> Reals:
    """Return the weighted sums of features of some numbers, (numbers, scores)."""
    total: Reals = sum((_features(formula, numbers) @ weights.T for formula, weights in weighed), np.zeros(1))
    return total


def _features(formula: Formula, numbers: Reals) -> Reals:
    return formula.features(lambda _: numbers)
