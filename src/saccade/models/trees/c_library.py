"""The C library's logarithm and exponential in single precision, which XGBoost takes.

They are not always the nearest single: glibc's logarithm differs from the rounded one in 3 % of base scores between
0.45 and 0.55 (seen with glibc 2.36). Where the library is not found, the rounded ones are taken: margins and
probabilities may then be one unit in the last place off.
"""

import ctypes
import math
import sys

import numpy as np

__all__ = ["expf", "logf"]

NAMES = {"linux": "libm.so.6", "darwin": "libSystem.dylib", "win32": "ucrtbase"}


def logf(value: np.float32) -> np.float32:
    """Return the natural logarithm of a positive number."""
    return _single("logf", value)


def expf(value: np.float32) -> np.float32:
    """Return e to a power."""
    return _single("expf", value)


def _single(name: str, value: np.float32) -> np.float32:
    try:
        function = getattr(ctypes.CDLL(NAMES.get(sys.platform, "libm.so")), name)
    except (OSError, AttributeError):
        return np.float32(math.log(value) if name == "logf" else np.exp(float(value)))
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.float32(function(value))
