"""The C library's logarithm in single precision, which XGBoost takes, and which is not always the nearest single.

glibc's differs from the rounded logarithm in 3 % of base scores between 0.45 and 0.55 (seen with glibc 2.36). Where the
library is not found, the rounded one is taken: margins may then be one unit in the last place off.
"""

import ctypes
import math
import sys

import numpy as np

__all__ = ["logf"]

NAMES = {"linux": "libm.so.6", "darwin": "libSystem.dylib", "win32": "ucrtbase"}


def logf(value: np.float32) -> np.float32:
    """Return the natural logarithm of a positive number."""
    try:
        function = ctypes.CDLL(NAMES.get(sys.platform, "libm.so")).logf
    except (OSError, AttributeError):
        return np.float32(math.log(value))
    function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
    return np.float32(function(value))
