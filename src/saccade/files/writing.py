"""Files that appear whole or not at all."""

import os
import tempfile
from pathlib import Path

__all__ = ["check_writable", "write_whole"]


def check_writable(path: Path) -> None:
    """Raise at once the OSError that writing the file would raise at the end."""
    if path.exists() and not path.is_file():
        raise OSError("it is not a regular file")
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=_scratch_prefix(path)):
        pass


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the old file, and put the new one in its place; a crash in the middle leaves the old one."""
    handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=_scratch_prefix(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(scratch, 0o666 & ~umask)  # mkstemp's own mode would hide the file from everyone else
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise


def _scratch_prefix(path: Path) -> str:
    return f".{path.name}-"
