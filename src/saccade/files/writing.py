"""Files that appear whole or not at all."""

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["write_whole", "writing_whole"]

# It can only be looked at by changing it, which threads must not do at once.
_UMASK = threading.Lock()


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Write beside the old file, and put the new one in its place; a crash in the middle leaves the old one.

    Where the path is a link, what it points to is replaced.
    """
    path = path.resolve()
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=_scratch_prefix(path))
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with _UMASK:
            umask = os.umask(0)
            os.umask(umask)
        os.chmod(scratch, 0o666 & ~umask)  # mkstemp's own mode would hide the file from everyone else
        os.replace(scratch, path)
    except BaseException as error:
        os.unlink(scratch)
        if isinstance(error, OSError) and error.filename is None and error.strerror:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _scratch_prefix(path: Path) -> str:
    return f".{path.name}-"
