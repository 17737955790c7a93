"""Keep compiled kernels from one process to the next, in numba's own file format.

numba's cache notices a change of the file that defines a kernel, but not of the functions and records compiled into it
(numba#1833); two processes that save at the same time can swap their code; and it unpickles whatever lies in its
folder. So kernels are kept in a folder for each state of their sources, under a lock, and only where no one else can
write.
"""

import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator

from saccade.exceptions import KernelsNotKeptWarning, warn

__all__ = ["keep"]

# Settings of numba that change the machine code.
SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")
# Number of states of the sources that are kept: of versions, branches and environments.
KEPT_STATES = 4
_log = logging.getLogger(__name__)


def _state() -> str:
    """Return a digest of all that machine code depends on, except for the types of a kernel's arguments."""
    settings = [getattr(config, name, None) for name in SETTINGS]
    digest = hashlib.sha256(repr((numba.__version__, sys.version, settings)).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


def _is_private(folder: Path) -> bool:
    """Return whether only this user and root can change the folder, or replace it or one of its parents."""
    for path in (folder, *folder.parents):
        about = path.stat()
        own_group = about.st_gid == os.getegid() == os.geteuid()  # which has no other members, by convention
        writable = about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and not own_group)
        sticky = path != folder and about.st_mode & stat.S_ISVTX  # others cannot rename what is not theirs, as in /tmp
        if about.st_uid not in (0, os.geteuid()) or (writable and not sticky):
            return False
    return True


def _remove_old_states(parent: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # another process removes them too
        for old in sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT_STATES]:
            shutil.rmtree(old, ignore_errors=True)


@cache
def _folder(root: str) -> Path | None:
    """Return the folder for the present state of the sources; None, with a warning, if there is no safe one.

    ``root`` is NUMBA_CACHE_DIR.
    """
    chosen = root or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(chosen, "saccade", _state())
    try:
        if not folder.is_dir():
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)  # another process may just have made it
            _remove_old_states(folder.parent)
        folder = folder.resolve()
        reason = "" if _is_private(folder) else "it, or a parent, can be changed by other users"
    except OSError as error:
        reason = error.strerror or str(error)
    if reason:
        _warn_not_kept(f"{folder} ({reason})")
    return None if reason else folder


@cache
def _warn_not_kept(where: str) -> None:
    warn(
        f"Compiled kernels cannot be kept in {where}, so each process compiles them anew, which takes seconds. Set the "
        "environment variable NUMBA_CACHE_DIR to a folder that only you can write to.",
        KernelsNotKeptWarning,
    )


@contextlib.contextmanager
def _locked(folder: Path, mode: int) -> Iterator[None]:
    """Hold a lock; a folder that this user may only read needs none."""
    if not os.access(folder, os.W_OK):
        yield
        return
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, mode)
        yield


def _fields(kind: Any) -> list[Any]:
    """Return the field names of named tuples: numba compares the types of fields, and kernels use their places."""
    own = [getattr(kind, "fields", ())] if isinstance(kind, types.BaseTuple) else []
    return own + [_fields(part) for part in getattr(kind, "types", ())]


class _Locator(UserProvidedCacheLocator):
    """The folder of the present state."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        self._cache_path = str(_folder(getattr(config, "CACHE_DIR", "")))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file)


class _Impl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 - as numba has it


class _KernelCache(FunctionCache):
    _impl_class = _Impl

    def _index_key(self, sig: Any, codegen: Any) -> str:
        fields = [_fields(kind) for kind in getattr(sig, "args", sig)]
        code = hashlib.sha256(self._py_func.__code__.co_code).hexdigest()
        return repr((str(sig), fields, codegen.magic_tuple(), code))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        folder = Path(self.cache_path)
        with contextlib.suppress(Exception):  # whatever is wrong with a file, the kernel can be compiled
            with _locked(folder, fcntl.LOCK_SH):
                found = super().load_overload(sig, target_context)
            if found is not None:
                return found
        _announce(folder)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        folder = Path(self.cache_path)
        if not os.access(folder, os.W_OK):
            return
        try:
            with _locked(folder, fcntl.LOCK_EX):
                try:
                    super().save_overload(sig, data)
                except Exception:  # a damaged index
                    self.flush()
                    super().save_overload(sig, data)
        except Exception as error:
            _warn_not_kept(f"{folder} ({getattr(error, 'strerror', None) or error})")


@cache
def _announce(folder: Path) -> None:
    _log.info("compiling kernels, which takes some seconds; they are kept in %s", folder)


def keep(dispatcher: Any) -> Any:
    """Let a function that numba will compile be kept from one process to the next."""
    # The dispatcher has no cache if numba is told not to compile.
    if hasattr(dispatcher, "_cache") and _folder(getattr(config, "CACHE_DIR", "")) is not None:
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher
