"""Random numbers as a function of (seed, stream, counter): the same bits in any split of a stream of examples."""

import numpy as np

from saccade.kernels.compiling import inlined

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
