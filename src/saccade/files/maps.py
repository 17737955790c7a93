"""The maps of a term's formula in files: arrays by path, the rest as JSON, and an audit for each kind of map."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from saccade.exceptions import ModelFileError
from saccade.files.archive import Archive
from saccade.models.tables import maps

__all__ = ["MapAudit", "ascending", "is_saved", "map_from", "map_parts", "reals"]

Reals = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]

EXTRAPOLATIONS = ("constant", "linear", "continue", "periodic", "error")


def reals(archive: Archive, name: str, shape: tuple[int | None, ...]) -> Reals:
    """Return an array of numbers, some of which may be NaN: where a value is refused."""
    archive.has([name])
    stored = archive.arrays[name]
    known = np.isnan(stored) if stored.dtype == np.float64 else np.zeros(stored.shape, dtype=bool)
    return archive.array(name, np.float64, shape) if not known.any() else _with_gaps(archive, name, shape, known)


def _with_gaps(archive: Archive, name: str, shape: tuple[int | None, ...], gaps: NDArray[np.bool_]) -> Reals:
    stored = archive.arrays[name]
    Archive({}, {name: np.where(gaps, 0.0, stored)}).array(name, np.float64, shape)
    return stored


def ascending(archive: Archive, name: str, *, strictly: bool = False) -> Reals:
    """Return an array of finite numbers, each above the one before it, or equal to it."""
    stored: Reals = archive.array(name, np.float64, (None,))
    right = stored[1:] > stored[:-1] if strictly else stored[1:] >= stored[:-1]
    if not right.all():
        raise ModelFileError(f"its array {name!r} does not ascend")
    return stored


class MapAudit:
    """The fields of one map in a file, which is to take features of some number."""

    def __init__(self, archive: Archive, about: dict[str, Any], path: str, width: int) -> None:
        self._archive, self._about, self._path, self.width = archive, Archive(about, archive.arrays), path, width

    def reals(self, name: str, *shape: int | None) -> Reals:
        return reals(self._archive, f"{self._path}.{name}", shape)

    def ascending(self, name: str, *, strictly: bool = False) -> Reals:
        return ascending(self._archive, f"{self._path}.{name}", strictly=strictly)

    def integers(self, name: str, *shape: int | None) -> NDArray[np.int64]:
        return self._archive.array(f"{self._path}.{name}", np.int64, shape)

    def number(self, name: str) -> float:
        return float(self.reals(name, 1)[0])

    def field(self, name: str, kind: type) -> Any:
        return self._about.field(name, kind)

    def takes_one(self) -> None:
        """Raise unless a single feature comes in."""
        if self.width != 1:
            raise ModelFileError(f"its {self._path} takes one feature, and gets {self.width}")

    def impossible(self, why: str) -> ModelFileError:
        return ModelFileError(f"its {self._path} is impossible: {why}")


def _scale(found: MapAudit) -> maps.Scale:
    minus, over, times, plus = (found.reals(name, found.width) for name in ("minus", "over", "times", "plus"))
    made = maps.Scale(minus, over, times, plus, found.field("rounded", bool))
    if (made.over == 0).any():
        raise found.impossible("it divides by zero")
    return made


def _clip(found: MapAudit) -> maps.Clip:
    return maps.Clip(found.reals("low", found.width), found.reals("high", found.width))


def _fill(found: MapAudit) -> maps.Fill:
    return maps.Fill(found.number("missing"), found.reals("value", found.width))


def _indicate(found: MapAudit) -> maps.Indicate:
    return maps.Indicate(found.number("missing"))


def _bins(found: MapAudit) -> maps.Bins:
    found.takes_one()
    return maps.Bins(found.ascending("edges"))


def _threshold(found: MapAudit) -> maps.Threshold:
    return maps.Threshold(found.reals("value", found.width))


def _match(found: MapAudit) -> maps.Match:
    found.takes_one()
    values = found.ascending("values", strictly=True)
    return maps.Match(values, found.reals("table", values.size + 2, None))


def _select(found: MapAudit) -> maps.Select:
    places = found.integers("places", None)
    if ((places < 0) | (places >= found.width)).any():
        raise found.impossible("it selects features that there are not")
    return maps.Select(places.astype(np.intp))


def _monomials(found: MapAudit) -> maps.Monomials:
    powers = found.integers("powers", None, found.width)
    if (powers < 0).any():
        raise found.impossible("a power is negative")
    return maps.Monomials(powers)


def _splines(found: MapAudit) -> maps.Splines:
    found.takes_one()
    made = maps.Splines(
        knots=found.ascending("knots"),
        coefficients=found.reals("coefficients", None, None),
        degree=found.field("degree", int),
        extrapolation=found.field("extrapolation", str),
        low=found.number("low"),
        high=found.number("high"),
    )
    if made.extrapolation not in EXTRAPOLATIONS or not made.low < made.high:
        raise found.impossible("its splines have no range, or go on beyond it in no way that is known")
    try:
        if made.degree >= made.knots.size:
            raise ValueError(f"{made.knots.size} knots are too few for the degree {made.degree}")
        BSpline(made.knots, np.nan_to_num(made.coefficients), made.degree)
    except ValueError as error:
        raise found.impossible(str(error)[:120]) from error
    return made


def _quantiles(found: MapAudit) -> maps.Quantiles:
    found.takes_one()
    quantiles, references = found.ascending("quantiles"), found.ascending("references")
    if quantiles.size == 0 or references.size != quantiles.size:
        raise found.impossible(f"{quantiles.size} quantiles have {references.size} references")
    return maps.Quantiles(quantiles, references, found.field("normal", bool))


def _power(found: MapAudit) -> maps.Power:
    return maps.Power(found.reals("exponents", found.width), found.field("box_cox", bool))


def _elementwise(found: MapAudit) -> maps.Elementwise:
    name = found.field("function", str)
    if name not in maps.UFUNCS:
        raise found.impossible(f"{name[:40]!r} is no function that is taken by name")
    return maps.Elementwise(name)


# Each kind of map, and what makes it again of audited fields.
_KINDS: dict[str, tuple[type, Callable[[MapAudit], maps.Map]]] = {
    "Bins": (maps.Bins, _bins),
    "Clip": (maps.Clip, _clip),
    "Elementwise": (maps.Elementwise, _elementwise),
    "Fill": (maps.Fill, _fill),
    "Indicate": (maps.Indicate, _indicate),
    "Match": (maps.Match, _match),
    "Monomials": (maps.Monomials, _monomials),
    "Power": (maps.Power, _power),
    "Quantiles": (maps.Quantiles, _quantiles),
    "Scale": (maps.Scale, _scale),
    "Select": (maps.Select, _select),
    "Splines": (maps.Splines, _splines),
    "Threshold": (maps.Threshold, _threshold),
}


def is_saved(step: maps.Map) -> bool:
    """Whether a map is of a kind that files hold: any but the functions of users."""
    name = type(step).__name__
    return name in _KINDS and type(step) is _KINDS[name][0]


def map_parts(step: maps.Map, path: str, width: int, arrays: Arrays) -> dict[str, Any]:
    """Return what JSON can hold of a map that takes so many features, and add its arrays."""
    about: dict[str, Any] = {"map": type(step).__name__}
    for own in fields(step):  # type: ignore[arg-type]  # all are dataclasses
        value = getattr(step, own.name)
        if isinstance(value, str | bool | np.bool_ | int | np.integer):
            about[own.name] = value.item() if isinstance(value, np.generic) else value
        elif isinstance(value, float | np.floating):
            arrays[f"{path}.{own.name}"] = np.array([value], dtype=np.float64)
        else:
            arrays[f"{path}.{own.name}"] = _kept(np.asarray(value), width if step.width is None else None)
    return about


def _kept(array: NDArray[Any], width: int | None) -> NDArray[Any]:
    """Return an array in the type that files have; one number for all features as one for each."""
    kept = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    return kept if width is None or kept.ndim > 1 else np.broadcast_to(kept, (width,))


def map_from(archive: Archive, about: Any, path: str, width: int) -> tuple[maps.Map, int]:
    """Return a map that takes so many features, and how many it makes of them."""
    name = about.get("map") if isinstance(about, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        raise ModelFileError(f"its {path} is {str(about)[:80]}, which is no map that this version of saccade knows")
    made = _KINDS[name][1](MapAudit(archive, about, path, width))
    return made, width if made.width is None else made.width
