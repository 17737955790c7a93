"""Where tasks run: on the workers of a cluster, or by Dask's scheduler in this process where there is none."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import dask
from dask.base import compute
from dask.delayed import delayed as delay

__all__ = ["Result", "Tasks", "client_or_default", "tasks_of"]

Value = TypeVar("Value")
# Until a result is collected it is Dask's future, or the value itself where tasks run here.
Result = Any


class Tasks(Protocol):
    """Pure functions, run where their arguments lie; results stay there until they are collected."""

    def begin(self, delayed: Sequence[Any]) -> list[Result]:
        """Compute delayed values."""

    def map(self, function: Callable[..., Any], *columns: Sequence[Any], same: Sequence[Any] = ()) -> list[Result]:
        """Call a function with the first of each column, the second, and so on, and what is the same for all calls.

        Among all of these may be results of other calls.
        """

    def keep(self, value: Any) -> Result:
        """Return a value as a result that many calls can share."""

    def collect(self, results: Sequence[Result]) -> list[Any]:
        """Return the values of results, in their order."""


def client_or_default(client: Any) -> Any:
    """Return the client, or else the one that was made last in this process; None if there is none."""
    if client is None:
        try:
            from distributed import get_client

            client = get_client()
        except (ModuleNotFoundError, ValueError):
            return None
    if getattr(client, "asynchronous", False):
        raise TypeError("The client is asynchronous, and this call waits for its tasks. Pass one that is not.")
    return client


def tasks_of(client: Any) -> Tasks:
    """Return where tasks run for this client, or where there is none."""
    return _Here() if client is None else _OnCluster(client)


class _OnCluster:
    """Results are futures. What a lost worker held is computed anew by Dask, from what it had been computed from.

    For that the scheduler keeps all calls that a living result depends on, with the values in them, also those of
    results that nobody waits for any more.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def begin(self, delayed: Sequence[Any]) -> list[Result]:
        futures: list[Result] = self._client.compute(list(delayed))
        return futures

    def map(self, function: Callable[..., Any], *columns: Sequence[Any], same: Sequence[Any] = ()) -> list[Result]:
        repeated = ([value] * len(columns[0]) for value in same)
        futures: list[Result] = self._client.map(function, *columns, *repeated, pure=False)
        return futures

    def keep(self, value: Any) -> Result:
        # As part of a call, where Dask warns of large values. One that was scattered would be lost with its worker.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(_as_it_is, value, pure=False)

    def collect(self, results: Sequence[Result]) -> list[Any]:
        values: list[Any] = self._client.gather(list(results))
        return values


class _Here:
    """Results are the values themselves."""

    def begin(self, delayed: Sequence[Any]) -> list[Result]:
        return list(compute(*delayed))

    def map(self, function: Callable[..., Any], *columns: Sequence[Any], same: Sequence[Any] = ()) -> list[Result]:
        calls = [partial(function, *call, *same) for call in zip(*columns, strict=True)]
        return self.begin([delay(call, pure=False)() for call in calls])

    def keep(self, value: Any) -> Result:
        return value

    def collect(self, results: Sequence[Result]) -> list[Any]:
        return list(results)


def _as_it_is(value: Value) -> Value:
    return value
