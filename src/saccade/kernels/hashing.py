"""Random numbers as a function of (seed, stream, counter), and hashes of rows.

Counters give the same bits in any split of a stream of examples. The hash of a row depends on its values alone, rounded
to float32: it is the sum over its columns of key(column) * bits(value) mod 2^64, scrambled (multilinear hashing, Carter
and Wegman 1979), whose terms may be added in any order. A zero adds nothing, so a sparse row takes time in
proportion to its stored values.
"""

import numpy as np

from saccade.kernels.compiling import inlined, internal, kernel

# Streams, so that two uses of the same counter are independent.
AUDIT, OFFSET, SHUFFLE, DRAW, WATCH = range(5)


@inlined
def scramble(z):
    """Mix 64 bits: the finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def stream_key(seed, stream):
    """Return what tells this seed's stream from all others."""
    return scramble(scramble(np.uint64(seed)) ^ np.uint64(stream))


@inlined
def uniform_of(key, counter):
    """Return the number in [0, 1) that belongs to this counter of a stream."""
    return (scramble(key ^ np.uint64(counter)) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def uniform(seed, stream, counter):
    """Return the number in [0, 1) that belongs to this seed, stream and counter."""
    return uniform_of(stream_key(seed, stream), counter)


# Rows of which it is asked together whether their columns ascend, and then, or of all that follow, whether any repeat.
TOGETHER = 256


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


@internal
def row_sum(row, keys):
    total = np.uint64(0)
    for j in range(row.shape[0]):
        total += keys[j] * value_bits(row[j])
    return total


@kernel
def hash_dense(X, keys, hashes):
    for r in range(X.shape[0]):
        hashes[r] = scramble(row_sum(X[r], keys))


@kernel
def hash_sparse(data, indices, indptr, hashes):
    """Hash rows of a CSR matrix that hold each column at most once, in any order."""
    for r in range(hashes.shape[0]):
        total = np.uint64(0)
        for k in range(indptr[r], indptr[r + 1]):
            total += scramble(np.uint64(indices[k])) * value_bits(data[k])
        hashes[r] = scramble(total)


@internal
def is_ascending(indices, indptr):
    """Whether the columns of each of these rows of a CSR matrix ascend.

    Then each is larger than the one before but where a row begins. Both kinds are counted, without a branch, which runs
    on vectors.
    """
    first, last = indptr[0], indptr[-1]
    if last <= first:
        return True
    before, here = indices[first : last - 1], indices[first + 1 : last]
    not_above = 0
    for k in range(here.shape[0]):
        not_above += here[k] <= before[k]
    for i in range(1, indptr.shape[0] - 1):
        k = indptr[i]
        if indptr[i - 1] < k < last:
            not_above -= indices[k] <= indices[k - 1]
    return not_above == 0


@kernel
def has_repeats(indices, indptr, seen_in):
    """Whether a row of a CSR matrix holds a column twice; ``seen_in`` is room for a number a column, all of them 0."""
    ascending, repeats = True, False
    for begin in range(0, indptr.shape[0] - 1, TOGETHER):
        end = min(begin + TOGETHER, indptr.shape[0] - 1)
        ascending = ascending and is_ascending(indices, indptr[begin : end + 1])
        if ascending:
            continue
        for i in range(begin, end):
            row, number = indices[indptr[i] : indptr[i + 1]], np.uint32(i + 1)
            for k in range(row.shape[0]):
                repeats |= seen_in[row[k]] == number
                seen_in[row[k]] = number
        if repeats:
            return True
    return False
