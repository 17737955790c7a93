"""A function over many tasks: on the workers of a cluster, or here where there is none."""

from collections.abc import Callable, Generator, Iterable
from itertools import islice
from typing import Any, TypeVar

__all__ = ["client_or_default", "spread"]

Task = TypeVar("Task")
Result = TypeVar("Result")

# Tasks that are in the cluster at a time, for each of its threads: one runs, and the next ones wait beside it. The
# scheduler never holds more, however many there are: its memory, and the time it takes to begin, do not grow with the
# data. What is lost with a client that dies, or done in vain after an error, is little, too.
FOR_EACH_THREAD = 4


def client_or_default(client: Any) -> Any:
    """Return the client, or else the one that was made last in this process; None where there is none."""
    if client is None:
        try:
            from distributed import get_client

            client = get_client()
        except (ModuleNotFoundError, ValueError):
            return None
    if getattr(client, "asynchronous", False):
        raise TypeError("The client is asynchronous, and this call waits for its tasks. Pass one that is not.")
    return client


def spread(
    client: Any, function: Callable[[Task], Result], tasks: Iterable[Task], name: str
) -> Generator[tuple[int, Result], None, None]:
    """Yield the number of each task and what the function gives for it, as they are done.

    Tasks are taken when there is room for them. One whose worker dies is given to another by the scheduler. An error
    in one is raised here, and others are cancelled, which those that run already do not notice.
    """
    if client is None:
        for number, task in enumerate(tasks):
            yield number, function(task)
        return
    from distributed import as_completed

    waiting, running, done = iter(enumerate(tasks)), dict[Any, tuple[int, Any]](), as_completed(loop=client.loop)
    until_look = most = 0
    try:
        while True:
            if until_look == 0:  # workers may come and go
                until_look = most = FOR_EACH_THREAD * max(1, sum(client.nthreads().values()))
            for number, task in islice(waiting, max(0, most - len(running))):
                future = client.submit(function, task, key=(name, number), pure=False)
                running[future.key] = number, future
                done.add(future)
            if not running:
                return
            future = next(done)
            result = future.result()
            number, _ = running.pop(future.key)
            until_look -= 1
            yield number, result
    finally:
        if running:
            client.cancel([future for _, future in running.values()])
