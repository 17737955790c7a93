"""Files that appear whole or not at all."""

import errno
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["check_writable", "write_new", "write_whole", "writing_whole"]

# It can only be looked at by changing it, which threads must not do at once.
_UMASK = threading.Lock()


def check_writable(path: Path) -> None:
    """Raise at once the OSError that writing the file would raise at the end."""
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=_scratch_prefix(path)):
        pass


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with writing_whole(path) as file:
        file.write(content)


def write_new(path: Path, content: bytes) -> None:
    """Do so, but raise FileExistsError where there is one: of several processes that write it at a time, one does."""
    scratch = path.with_name(f"{_scratch_prefix(path)}{uuid4().hex}")
    write_whole(scratch, content)
    try:
        os.link(scratch, path)
    except OSError:
        if path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
        os.replace(scratch, path)  # a file system without links
    finally:
        scratch.unlink(missing_ok=True)


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
