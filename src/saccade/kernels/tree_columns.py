"""Bringing the columns of some rows side by side, for trees."""

from math import nan

import numpy as np

from saccade.kernels.compiling import kernel

# What LightGBM takes for zero, in single precision.
NEARLY_ZERO = float(np.float32(1e-35))


@kernel
def gather_columns(X, used, slots, rows, size, out):
    """Write the columns at some slots for some rows, along whichever way the memory runs."""
    if abs(X.strides[1]) <= abs(X.strides[0]):
        for s in range(size):
            x = X[rows[s]]
            for k in range(slots.shape[0]):
                out[slots[k], s] = x[used[slots[k]]]
    else:
        for k in range(slots.shape[0]):
            column, target = X[:, used[slots[k]]], out[slots[k]]
            for s in range(size):
                target[s] = column[rows[s]]


@kernel
def scatter_rows(data, indices, indptr, slot, rows, size, out):
    """Write the stored values of some CSR rows."""
    for s in range(size):
        for k in range(indptr[rows[s]], indptr[rows[s] + 1]):
            place = slot[indices[k]]
            if place >= 0:
                out[place, s] = data[k]


@kernel
def mark_zeros(out, slots, size):
    """Write NaN where a value counts as zero, and zero as missing."""
    for k in range(slots.shape[0]):
        column = out[slots[k]]
        for s in range(size):
            column[s] = nan if abs(column[s]) <= NEARLY_ZERO else column[s]


@kernel
def rows_without(columns, slots, size, missing):
    """Write which rows lack one of the values; return how many do."""
    count = 0
    for s in range(size):
        missing[s] = False
    for k in range(slots.shape[0]):
        column = columns[slots[k]]
        for s in range(size):
            missing[s] |= column[s] != column[s]
    for s in range(size):
        count += missing[s]
    return count


@kernel
def is_complete(values):
    """Whether no value of an array in one piece is NaN."""
    missing = 0
    for k in range(values.shape[0]):
        missing += values[k] != values[k]
    return missing == 0
