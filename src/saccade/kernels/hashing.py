"""Hashes of rows that depend on their values alone: not on the type of the numbers, nor on how they are stored.

The hash of a row is the sum over its columns of key(column) * bits(value) mod 2^64, scrambled: multilinear hashing
(Carter and Wegman 1979), whose terms may be added in any order. A zero adds nothing, so that a sparse row takes time in
proportion to its stored values. Values count as rounded to float32.
"""

import numpy as np

from saccade.kernels.compiling import inlined, kernel
from saccade.kernels.randomness import scramble

# Rows are sampled in runs of 2^RUN_BITS: neighbours are fetched together, which takes half the time of scattered rows.
RUN_BITS = 3


@inlined
def priority_of(place):
    """Return the random number that belongs to a place in a stream of rows."""
    return scramble(np.uint64(place) >> np.uint64(RUN_BITS))


@inlined
def value_bits(value):
    """Return the bits of a value as float32, 0 for both zeros; the upper half is folded into the lower.

    Without that, the bits of whole numbers would end in many zeros, and so would their hashes.
    """
    bits = np.uint64(np.float32(np.float32(value) + np.float32(0)).view(np.uint32))
    return bits ^ (bits >> np.uint64(16))


@kernel
def fill_keys(keys):
    for j in range(keys.shape[0]):
        keys[j] = scramble(np.uint64(j))


@kernel
def row_sum(row, keys):
    total = np.uint64(0)
    for j in range(row.shape[0]):
        total += keys[j] * value_bits(row[j])
    return total


@kernel
def hash_dense(X, keys, first, limit, priorities, hashes):
    """Hash the rows whose priority is below the limit; ``first`` is the first row's place in the stream.

    Return how many were hashed.
    """
    count = 0
    for i in range(X.shape[0]):
        priority = priority_of(first + i)
        if priority < limit:
            priorities[count], hashes[count] = priority, scramble(row_sum(X[i], keys))
            count += 1
    return count


@kernel
def hash_sparse(data, indices, indptr, first, limit, priorities, hashes):
    """Like hash_dense, for CSR rows that hold each column at most once."""
    count = 0
    for i in range(indptr.shape[0] - 1):
        priority = priority_of(first + i)
        if priority < limit:
            total = np.uint64(0)
            for k in range(indptr[i], indptr[i + 1]):
                total += scramble(np.uint64(indices[k])) * value_bits(data[k])
            priorities[count], hashes[count] = priority, scramble(total)
            count += 1
    return count
