"""One file of arrays and a JSON header (safetensors): read without running anything, and checked array by array.

The header holds a SHA-256 of all bytes of the file, its own digits taken as zeros: a file with one wrong bit is none.
"""

import hashlib
import json
import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    from safetensors import SafetensorError, safe_open
    from safetensors.numpy import save as to_bytes
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "Model files need safetensors. Install it with: pip install 'saccade[files]'", name=missing.name
    ) from missing

from saccade.exceptions import ModelFileError
from saccade.files.writing import write_whole

__all__ = ["DIGEST", "Archive", "archive_bytes", "read_archive", "signed", "write_archive"]

HEADER, DIGEST = "saccade", "sha256"
BLANK = "0" * 64
# The header's first field, as it stands in the file: JSON within a JSON string.
_WRITTEN_DIGEST = re.compile(rb'\{\\"' + DIGEST.encode() + rb'\\": \\"([0-9a-f]{64})\\"')
_CHUNK = 2**20
# Other kinds of files, by their first bytes.
STARTS = {
    b"\x80": "a pickle, as pickle and joblib write it",
    b"\x1f\x8b": "compressed (gzip)",
    **dict.fromkeys((b"x\x01", b"x^", b"x\x9c", b"x\xda"), "compressed (zlib), as joblib does it"),
    b"BZh": "compressed (bzip2)",
    b"\xfd7zXZ": "compressed (xz)",
    b"PK\x03\x04": "a zip archive, such as .skops or .npz",
    b"tree\nversion=": "a model file of LightGBM",
    b"CBM1": "a model file of CatBoost",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
}
WAY_OUT = (
    "Only files that saccade.save wrote can be loaded. Load a model of another library by that library, pass it to "
    "saccade.attend, and save what that returns"
)


class Archive:
    """What a file holds. Arrays are handed out only with the shape and the type that they must have."""

    def __init__(self, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.header = header
        self.arrays = arrays

    def field(self, name: str, kind: type | tuple[type, ...]) -> Any:
        """Return a field of the header, which must be of this kind."""
        value = self.header.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise ModelFileError(f"its field {name!r} is {str(value)[:80]!r}")
        return value

    def names(self, n_features: int) -> list[str] | None:
        """Return the features' names, where the model knows them."""
        names: list[str] | None = self.header.get("names")
        if names is not None:
            listed = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if not listed or len(names) != n_features or len(set(names)) != n_features:
                raise ModelFileError(f"its names are not those of {n_features} features")
        return names

    def has(self, names: Iterable[str]) -> None:
        """Raise where one of these arrays is not there: before anything is built that costs memory."""
        for name in names:
            if name not in self.arrays:
                raise ModelFileError(f"it has no array {name!r}")

    def array(self, name: str, dtype: Any, shape: tuple[int | None, ...], *, finite: bool = True) -> NDArray[Any]:
        """Return an array; None in a shape stands for any length."""
        self.has([name])
        stored = self.arrays[name]
        fits = len(stored.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, stored.shape, strict=True)
        )
        if stored.dtype != np.dtype(dtype) or not fits:
            wanted = f"{np.dtype(dtype)} {shape}".replace("None", "any")
            raise ModelFileError(f"its array {name!r} is {stored.dtype} {stored.shape}, not {wanted}")
        bad = ~np.isfinite(stored) if finite else np.isnan(stored)
        if stored.dtype.kind == "f" and bad.any():
            raise ModelFileError(f"its array {name!r} has values that are not finite")
        return stored


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file that appears whole or not at all."""
    write_whole(Path(path), archive_bytes(header, arrays))


def archive_bytes(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return what such a file holds."""
    text = json.dumps({DIGEST: BLANK, **header}, allow_nan=False)
    return signed(to_bytes({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {HEADER: text}))


def signed(content: bytes) -> bytes:
    """Return a file's bytes with the digest that they have, whatever digest stood there."""
    place = _digest_in(content)
    if place is None:
        raise ValueError("The first field of the header is not the file's digest.")
    blank = content[: place.start] + BLANK.encode() + content[place.stop :]
    return blank[: place.start] + hashlib.sha256(blank).hexdigest().encode() + blank[place.stop :]


def read_archive(path: str | os.PathLike[str]) -> Archive:
    """Read a file of ours; what is not one raises a ModelFileError, and what cannot be opened an OSError."""
    if os.path.isdir(path):
        raise ModelFileError(f"it is a folder. {WAY_OUT}")
    kept, computed = _digests(path)
    try:
        with safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get(HEADER)
            if text is None:
                raise ModelFileError(f"it holds arrays (safetensors) that saccade did not write. {WAY_OUT}")
            header = json.loads(text)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except (SafetensorError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        if kept is None:
            raise ModelFileError(f"it is {_kind_of(path)}. {WAY_OUT}") from error
        raise ModelFileError(f"it is damaged ({type(error).__name__}: {str(error)[:120]})") from error
    if not isinstance(header, dict):
        raise ModelFileError("its header is no JSON object")
    if kept != computed or header.get(DIGEST) != kept:
        raise ModelFileError("it is damaged: its content is not what its SHA-256 says. Fetch or save it again")
    return Archive(header, arrays)


def _kind_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of a file that saccade did not write, from its first bytes."""
    with open(path, "rb") as file:
        head = file.read(256)
    if not head:
        return "empty"
    if head.startswith(b"{") and b"learner" in head:  # JSON or UBJSON
        return "a model file of XGBoost"
    for start, kind in STARTS.items():
        if head.startswith(start):
            return kind
    return "a text file, such as CSV" if _is_text(head) else "damaged, or of a kind that saccade does not know"


def _is_text(head: bytes) -> bool:
    """Return whether the first bytes of a file are text; the last character may be cut off."""
    try:
        text = getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def _digest_in(start_of_file: bytes) -> slice | None:
    """Return where the digest stands."""
    match = _WRITTEN_DIGEST.search(start_of_file)
    return None if match is None else slice(*match.span(1))


def _digests(path: str | os.PathLike[str]) -> tuple[str | None, str | None]:
    """Return the digest that a file holds and the one that its bytes have; None twice for a file without one."""
    with open(path, "rb") as file:
        head = file.read(8)
        head += file.read(min(int.from_bytes(head, "little"), os.path.getsize(path)))
        place = _digest_in(head)
        if place is None:
            return None, None
        digest = hashlib.sha256(head[: place.start] + BLANK.encode() + head[place.stop :])
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return head[place].decode(), digest.hexdigest()
