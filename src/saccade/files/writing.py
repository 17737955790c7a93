"""Files that appear whole or not at all."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

__all__ = ["write_whole", "writing_whole"]

# Scratch files lie beside what is written. Those of other hosts, which may share the folder, are not looked at.
SCRATCH = f".saccade-{os.uname().nodename}-"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with writing_whole(path) as file:
        file.write(content)


@contextmanager
def writing_whole(path: Path) -> Iterator[BinaryIO]:
    """Write beside the old file, and put the new one in its place; a crash in the middle leaves the old one.

    The new file has the owner and the permissions of the old one. Where the path is a link, what it points to is
    replaced. What is no file, such as a device or a FIFO, is written to as it is.
    """
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = path.resolve()
    _remove_abandoned(path.parent)
    scratch = path.with_name(f"{SCRATCH}{os.getpid()}-{uuid4().hex}")
    try:
        with _locked_file(scratch, path.stat() if path.exists() else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(scratch, path)
    except BaseException as error:
        scratch.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.strerror and error.filename in (None, str(scratch)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def _locked_file(scratch: Path, old: os.stat_result | None) -> BinaryIO:
    """Create a file with the owner and permissions of an old one, and lock it until it is closed."""
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode)
    while True:
        handle = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:  # or else another process has just taken it for an abandoned one
            break
        os.close(handle)
    if old is not None:
        with suppress(PermissionError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, mode)
    return os.fdopen(handle, "wb")


def _remove_abandoned(folder: Path) -> None:
    """Remove the scratch files of processes that were killed: those that nobody has locked.

    The number of a process says nothing: it may have been given to another one, or stand for one in another container.
    """
    for scratch in folder.glob(f"{SCRATCH}*"):
        with suppress(OSError), open(scratch, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            scratch.unlink()
