"""Rows that try trees: values at thresholds and beside them, missing and infinite ones, categories never seen."""

import numpy as np
from hypothesis import strategies as st

NUMBERS = (0.0, -0.0, 1e-36, -1e-36, 1e-35, 5e-324, 1.0, -1.0, 1e10, 1e38, -1e38, 3.4028236e38, 1e300, -1e300)
LIMITS = (float("inf"), float("-inf"))
CODES = (-1.0, -0.5, -1e-50, 0.0, -0.0, 0.5, 1.0, 2.0, 31.0, 31.999999999, 32.0, 33.0, 59.0, 60.0, 64.0, 1e6, 2.0**24)
HUGE_CODES = (2.0**31 - 0.5, 2.0**31, 1e12, -(2.0**31), 1e300)
TINY = float(np.float32(1e-35))  # LightGBM's zeros reach up to here
BESIDE_ZERO = tuple(sign * value for sign in (1, -1) for value in (TINY, *np.nextafter(TINY, [0.0, 1.0]).tolist()))


def neighbours(value):
    """Return a number, those beside it in double precision, and those beside it in single precision."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
        near = [value, *(np.nextafter(value, side) for side in (-np.inf, np.inf))]
        near += [single, *(np.nextafter(single, np.float32(side)) for side in (-np.inf, np.inf))]
    return [float(number) for number in near]


def pools(ensemble, infinite=True):
    """Return, for each column, the values to draw from."""
    nodes = ensemble.nodes
    is_split = nodes.left != np.arange(nodes.left.size)
    made = []
    for column in range(ensemble.n_columns):
        here = is_split & (nodes.column == column)
        if (nodes.first_word[here] >= 0).any():
            pool = [*map(float, range(70)), *CODES, *HUGE_CODES]
        else:
            thresholds = np.unique(nodes.threshold[here]).tolist()
            pool = [*(near for value in thresholds for near in neighbours(value)), *NUMBERS, *BESIDE_ZERO]
        limit = np.inf if infinite else float(np.finfo(np.float32).max)
        made.append([value for value in (*pool, *LIMITS) if abs(value) <= limit] + [float("nan")] * 3)
    return made


def rows(ensemble, infinite=True):
    """Draw 1 to 8 rows; not ``infinite``: such as single precision can hold."""
    row = st.tuples(*(st.sampled_from(pool) for pool in pools(ensemble, infinite)))
    return st.lists(row, min_size=1, max_size=8).map(lambda drawn: np.array(drawn, dtype=np.float64))
