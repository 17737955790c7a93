"""Where compiled kernels are kept from one process to the next.

numba's own cache asks only whether the file that defines a kernel has changed, and not the files of the functions that
are compiled into it; it unpickles what another version left before it asks; and two processes that compile at once may
give two kernels one file. So kernels are kept here: in a folder for each state of their sources, a file for each kernel
and the types of its arguments, with a checksum. Whatever cannot be read is compiled anew.

What is used of numba is private, and seen to work with 0.59 to 0.68. Where it is missing, numba keeps kernels its way.
"""

import contextlib
import hashlib
import logging
import os
import pickle
import shutil
import sys
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any

import numba
from numba import config, types

from saccade.exceptions import KernelsNotKeptWarning
from saccade.terminal import WIPE, is_watched, write

try:
    from numba.core.caching import CompileResultCacheImpl
    from numba.core.serialize import dumps
    from numba.misc.appdirs import AppDirs

    class _Parts(CompileResultCacheImpl):
        """numba's way of taking a compiled kernel apart and of putting it together, without its search for a folder."""

        def __init__(self) -> None: ...

    _PARTS: Any = _Parts()
except (ImportError, TypeError):
    _PARTS = None

__all__ = ["keep"]

# So many states of the sources have a folder, the latest: of versions, branches and environments.
KEPT = 4
# Settings of numba that change what comes out, and that people turn on and off.
SETTINGS = ("OPT", "BOUNDSCHECK", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT")

_SOURCES = Path(__file__).parent
_log = logging.getLogger(__name__)


def _stamps() -> list[tuple[str, int, int]]:
    """Return what changes when a file does: a look at it, without reading."""
    with os.scandir(_SOURCES) as entries:
        files = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(".py")]
    return sorted((name, stat.st_size, stat.st_mtime_ns) for name, stat in files)


def _digest(names: list[str]) -> str:
    """Return a name for the present state: the sources of all kernels, numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.implementation.cache_tag}".encode())
    for name in names:
        digest.update(name.encode() + b"\0" + hashlib.sha256((_SOURCES / name).read_bytes()).digest())
    return digest.hexdigest()[:20]


# Taken before any kernel is imported. Files that change later are not those that this process runs.
try:
    _STAMPS = _stamps()
    _STATE = _digest([name for name, *_ in _STAMPS]) if _STAMPS else ""
except OSError:  # imported from an archive
    _STAMPS, _STATE = [], ""


def _as_imported() -> bool:
    """Return whether the sources are still those that this process began with."""
    try:
        return _stamps() == _STAMPS
    except OSError:
        return False


def _roots() -> list[Path]:
    """Return the folders that hold a folder for each state, in the order in which they are tried."""
    chosen = getattr(config, "CACHE_DIR", "")  # NUMBA_CACHE_DIR
    if chosen:
        return [Path(chosen) / "saccade"]
    roots = [_SOURCES / "__pycache__" / "compiled", Path(AppDirs("numba", False).user_cache_dir) / "saccade"]
    return [root for root in roots if root.is_absolute()]  # where nobody has a home, it is '~'


def _remove_others(root: Path) -> None:
    """Remove the folders of all states but the latest."""
    with contextlib.suppress(OSError):
        states = sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
        for path in states[:-KEPT]:
            shutil.rmtree(path, ignore_errors=True)


def _make(folder: Path) -> None:
    """Make a folder unless it is there, and raise OSError where nothing can be written to it."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _remove_others(folder.parent)
    tempfile.TemporaryFile(dir=folder).close()


class _Place:
    """The folder that this process writes to, looked for when a kernel is first compiled; what was said about it."""

    def __init__(self) -> None:
        self._folders: dict[tuple[Path, ...], Path | None] = {}
        self._warned = self._announced = False

    def folder(self) -> Path | None:
        roots = tuple(_roots())
        if roots not in self._folders:
            self._folders[roots], refused = None, []
            for root in roots:
                try:
                    _make(root / _STATE)
                except OSError as error:
                    refused.append(f"{root} ({error.strerror or error})")
                else:
                    self._folders[roots] = root / _STATE
                    break
            else:
                self.warn(" and ".join(refused))
        return self._folders[roots]

    def warn(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"Compiled kernels cannot be kept in {what}, so each process compiles them anew, which takes seconds. "
                "Set the environment variable NUMBA_CACHE_DIR to a folder that can be written to.",
                KernelsNotKeptWarning,
                stacklevel=2,
            )

    def announce(self) -> None:
        """Say once what the wait is for: in the log, and to who asked to see progress."""
        folder = self.folder()
        if self._announced:
            return
        self._announced = True
        said = "compiling kernels, which takes some seconds"
        if folder is not None:
            said += f"; they are kept in {folder}"
        _log.info(said)
        if is_watched():
            write(f"{WIPE}saccade: {said}\n")  # a line of progress may stand there


_place = _Place()


def _fields(kind: Any) -> list[object]:
    """Return the names of the fields of a type's named tuples, which numba does not compare: kernels count places."""
    if not isinstance(kind, types.BaseTuple):
        return []
    own = [str(getattr(kind, "instance_class", "")), getattr(kind, "fields", ())]
    return own + [_fields(part) for part in getattr(kind, "types", ())]


class _KernelCache:
    """What numba's dispatcher asks before it compiles a kernel, and tells afterwards; the shape of its ``_Cache``."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @property
    def cache_path(self) -> str | None:
        folder = _place.folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        for root in _roots() if _as_imported() else []:
            # Whatever is wrong with a file, the kernel can be compiled.
            with contextlib.suppress(Exception):
                path = root / _STATE / self._name(sig, target_context.codegen())
                return _PARTS.rebuild(target_context, _read(path))
        _place.announce()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        folder = _place.folder()
        if folder is None or not _as_imported():
            return
        try:
            if not data.lifted and not data.library.has_dynamic_globals:  # which are good for one process
                _write(folder / self._name(sig, data.codegen), dumps(_PARTS.reduce(data)))
        except Exception as error:
            _place.warn(f"{folder} ({getattr(error, 'strerror', None) or error})")

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...

    def _name(self, sig: Any, codegen: Any) -> str:
        settings = [repr(getattr(config, name, None)) for name in SETTINGS]
        fields = [_fields(kind) for kind in getattr(sig, "args", sig)]
        key = hashlib.sha256(repr((str(sig), fields, codegen.magic_tuple(), settings)).encode()).hexdigest()[:32]
        module = self._function.__module__.rpartition(".")[2]
        return f"{module}.{self._function.__name__}-{self._function.__code__.co_firstlineno}-{key}.nbc"


def _read(path: Path) -> Any:
    """Return what was kept, as numba itself keeps it: machine code, which whoever may write to this folder can replace.

    So it is trusted like Python's own compiled files beside it, and nothing that a user passes is ever read here.
    """
    content = path.read_bytes()
    checksum, pickled = content[:32], content[32:]
    if hashlib.sha256(pickled).digest() != checksum:
        raise ValueError(f"{path} was cut off or changed.")
    return pickle.loads(pickled)


def _write(path: Path, pickled: bytes) -> None:
    """Write a file that others see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        part.write_bytes(hashlib.sha256(pickled).digest() + pickled)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        if not path.exists():  # else another process was quicker, and some systems replace no file that is open
            raise


def keep(dispatcher: Any) -> Any:
    """Let a function that numba will compile be kept from one process to the next."""
    if not hasattr(dispatcher, "enable_caching"):  # numba is told not to compile at all
        return dispatcher
    if _PARTS is None or not _STATE or not hasattr(dispatcher, "_cache"):
        with contextlib.suppress(RuntimeError):  # it finds no folder
            dispatcher.enable_caching()
    elif os.path.dirname(dispatcher.py_func.__code__.co_filename) == str(_SOURCES):
        dispatcher._cache = _KernelCache(dispatcher.py_func)
    # Of a function that is defined elsewhere the sources' digest says nothing: it is compiled in each process.
    return dispatcher
