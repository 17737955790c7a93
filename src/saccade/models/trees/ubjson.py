"""Universal Binary JSON, as much of it as XGBoost writes.

https://ubjson.org: a value is a letter for its type and its bytes, most significant first. Arrays of one type come back
as NumPy arrays. A file is untrusted: lengths are compared with what is left before anything is made of them.
"""

import struct
from typing import Any

import numpy as np

__all__ = ["decode"]

DEPTH = 64
NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f", b"D": ">d"}
CONSTANTS = {b"T": True, b"F": False, b"Z": None}


def decode(content: bytes) -> Any:
    """Return the value that a file holds; ValueError where it is damaged."""
    reader = _Reader(content)
    value = reader.value(0)
    if reader.at != len(content):
        raise ValueError(f"{len(content) - reader.at} bytes follow its end")
    return value


class _Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.content) - self.at:
            raise ValueError(f"{size} bytes are to follow byte {self.at} of {len(self.content)}")
        self.at += size
        return self.content[self.at - size : self.at]

    def follows(self, mark: bytes) -> bool:
        if self.content[self.at : self.at + 1] != mark:
            return False
        self.at += 1
        return True

    def value(self, depth: int) -> Any:
        if depth > DEPTH:
            raise ValueError(f"it is nested deeper than {DEPTH} levels")
        kind = self.take(1)
        if kind in FORMATS:
            return self.number(kind)
        if kind in CONSTANTS:
            return CONSTANTS[kind]
        if kind == b"S":
            return self.text()
        if kind == b"{":
            return self.record(depth)
        if kind == b"[":
            return self.array(depth)
        raise ValueError(f"type {kind!r} at byte {self.at - 1} is not known")

    def number(self, kind: bytes) -> int | float:
        form = FORMATS[kind]
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return value  # type: ignore[no-any-return]

    def count(self) -> int:
        kind = self.take(1)
        if kind not in FORMATS or kind in b"dD":
            raise ValueError(f"a length at byte {self.at - 1} has the type {kind!r}")
        return int(self.number(kind))

    def text(self) -> str:
        return self.take(self.count()).decode()

    def record(self, depth: int) -> dict[str, Any]:
        made = {}
        while not self.follows(b"}"):
            key = self.text()
            made[key] = self.value(depth + 1)
        return made

    def array(self, depth: int) -> Any:
        if self.follows(b"$"):
            kind = self.take(1)
            if kind not in NUMBERS or not self.follows(b"#"):
                raise ValueError(f"an array at byte {self.at - 1} is of the type {kind!r}")
            dtype = np.dtype(NUMBERS[kind])
            return np.frombuffer(self.take(self.count() * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        if self.follows(b"#"):
            return [self.value(depth + 1) for _ in range(self.count())]  # each takes a byte, or there is an error
        made = []
        while not self.follows(b"]"):
            made.append(self.value(depth + 1))
        return made
