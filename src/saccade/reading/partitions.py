"""Dask collections, by their own methods. Whoever has one has imported Dask; it is not imported here."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from saccade.reading.digest import digest

__all__ = ["computed", "delayed_parts", "is_collection", "is_frame", "joined", "shipped", "stand_in", "with_whole_rows"]


def is_collection(X: Any) -> bool:
    """Whether X is a Dask DataFrame, Series or Array. Its type is asked, for a Delayed has every attribute."""
    kind = type(X)
    return hasattr(kind, "__dask_graph__") and hasattr(kind, "_meta") and (is_frame(X) or hasattr(kind, "map_blocks"))


def is_frame(X: Any) -> bool:
    """Whether a collection is a DataFrame or a Series."""
    return hasattr(type(X), "map_partitions")


def with_whole_rows(X: Any) -> Any:
    """Return an Array with all columns in each block, lazily; a DataFrame as it is."""
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array or table, got a Dask {type(X).__name__} with ndim={X.ndim}. Reshape it with "
            "X.reshape(-1, 1), or select columns by a list of their names."
        )
    if is_frame(X):
        return X
    if np.isnan(X.shape[1]):
        raise ValueError("X is a Dask Array of which nobody knows how many columns it has: X.compute_chunk_sizes().")
    return X if X.numblocks[1] == 1 else X.rechunk({1: -1})


def stand_in(X: Any) -> Any:
    """Return what has the columns of a collection and is there: a frame without rows, or an array of one row."""
    return X._meta if is_frame(X) else np.ones((1, X.shape[1]), dtype=X.dtype)


def shipped(value: Any) -> Any:
    """Return a value as a task of its own, so that a graph holds it once, whatever the number of partitions."""
    return _dask().delayed(value, name=f"{type(value).__name__}-{digest(value)}", traverse=False)


def delayed_parts(X: Any) -> list[Any]:
    """Return the partitions, or blocks of whole rows, as what can be computed one by one, in the order of the rows."""
    parts = X.to_delayed()
    return list(parts) if is_frame(X) else parts.ravel().tolist()


def computed(function: Callable[..., Any], each: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return what a function gives for each of some arguments, computed wherever the user lets Dask compute."""
    dask = _dask()
    task = dask.delayed(function, pure=False)
    return list(dask.compute(*(task(*arguments) for arguments in each)))


def joined(parts: list[Any]) -> Any:
    """Return parts of rows as one; tables as Dask joins them, also where partitions know different categories."""
    if sp.issparse(parts[0]):
        return sp.vstack(parts).tocsr()
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return _dask().dataframe.dispatch.concat(parts)


def _dask() -> Any:
    return sys.modules["dask"]
