"""Records of an untrusted file: what is asked for is there and of the right type and length, or an error says where."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Record"]


@dataclass(frozen=True)
class Record:
    """A JSON object, and where in which file it is."""

    values: dict[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.values, dict):
            raise ValueError(f"{self.where} is damaged: {type(self.values).__name__} in place of a record.")

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def _get(self, key: str, kind: type) -> Any:
        value = self.values.get(key)
        if not isinstance(value, kind):
            raise ValueError(f"{self.where} is damaged: {key!r} is missing, or is no {kind.__name__}.")
        return value

    def part(self, key: str) -> "Record":
        return Record(self._get(key, dict), f"{self.where}, {key}")

    def parts(self, key: str) -> list["Record"]:
        return [Record(value, f"{self.where}, {key} {i}") for i, value in enumerate(self._get(key, list))]

    def text(self, key: str) -> str:
        return str(self._get(key, str))

    def texts(self, key: str) -> tuple[str, ...]:
        values = self._get(key, list)
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"{self.where} is damaged: {key!r} is to hold texts.")
        return tuple(values)

    def integer(self, key: str) -> int:
        """Return a number that is written as a text."""
        text = self.text(key)
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise ValueError(f"{self.where} is damaged: {key!r} is {text[:40]!r}, which is no number that it can be.")
        return int(text)

    def integers(self, key: str, size: int | None = None) -> NDArray[np.int64]:
        return self._array(key, "biu", size).astype(np.int64)

    def singles(self, key: str, size: int | None = None) -> NDArray[np.float32]:
        with np.errstate(over="ignore"):
            return self._array(key, "biuf", size).astype(np.float32)

    def _array(self, key: str, kinds: str, size: int | None) -> NDArray[Any]:
        given = self.values.get(key)
        try:
            values = np.asarray(given if isinstance(given, list | np.ndarray) else None)
        except ValueError:  # lists of different lengths
            values = np.empty((0, 0))
        right = values.ndim == 1 and (values.dtype.kind in kinds or values.size == 0) and values.dtype != np.uint64
        if not right or size not in (None, values.size):
            raise ValueError(
                f"{self.where} is damaged: {key!r} is no list of {'' if size is None else size} numbers of its type."
            )
        return values
