"""Look texts up among known ones, and evaluate piecewise polynomials.

Texts that lie one behind another are compared by their first and last eight bytes, which is all there is up to sixteen
bytes; only longer ones are hashed and compared byte by byte.
"""

import math

import numpy as np

from saccade.kernels.compiling import inlined, internal, kernel

EIGHT, SIXTEEN = np.int64(8), np.int64(16)
FIRST, LAST = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


@inlined
def load(data, place):
    """Return eight bytes as one number: the compiler makes one load of it. An index without sign is not looked at."""
    i = np.uint64(place)
    return (
        np.uint64(data[i])
        | np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[i + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[i + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[i + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[i + np.uint64(7)]) << np.uint64(56)
    )


@internal
def load_few(data, begin, end):
    """Return the bytes of a text that ends within eight of the end of memory."""
    total = np.uint64(0)
    for k in range(end - begin):
        total |= np.uint64(data[begin + k]) << np.uint64(8 * k)
    return total


@inlined
def ends_of(data, begin, end):
    """Return the first and the last eight bytes of a text, zeros where it is shorter."""
    size = end - begin
    if size >= EIGHT:
        return load(data, begin), load(data, end - EIGHT)
    if begin + EIGHT > data.shape[0]:
        return load_few(data, begin, end), np.uint64(0)
    return load(data, begin) & ((np.uint64(1) << np.uint64(8 * size)) - np.uint64(1)), np.uint64(0)


@internal
def mix_middle(data, place, end, mixed):
    """Mix all bytes between the first and the last eight: texts that are looked for may differ anywhere."""
    while place < end:
        mixed = (mixed ^ load(data, place)) * LAST
        mixed ^= mixed >> np.uint64(29)
        place += EIGHT
    return mixed


@inlined
def slot_of(data, begin, end, first, last, mask):
    """Return the slot that a text is looked for at."""
    size = end - begin
    if size > SIXTEEN:
        first = mix_middle(data, begin + EIGHT, end - EIGHT, first)
    mixed = (first * FIRST) ^ (last + np.uint64(size))
    mixed = (mixed ^ (mixed >> np.uint64(32))) * LAST  # texts often differ in their last byte alone, the highest bits
    return (mixed ^ (mixed >> np.uint64(32))) & mask


@internal
def is_same(data, begin, known, start, size):
    same = True
    for k in range(size):
        same &= data[begin + k] == known[start + k]
    return same


@kernel
def fill_slots(known, bounds, ends, slots):
    """Put each known text into a slot of its own, the next free one where its own is taken; the others are -1.

    ``ends`` are the first and the last bytes of each, which are written here.
    """
    mask = np.uint64(slots.shape[0] - 1)
    for code in range(bounds.shape[0] - 1):
        begin, end = bounds[code], bounds[code + 1]
        first, last = ends_of(known, begin, end)
        ends[code, 0], ends[code, 1] = first, last
        slot = slot_of(known, begin, end, first, last, mask)
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = code


@kernel
def find_texts(data, offsets, valid, place, rows, known, bounds, ends, slots, out):
    """Write the code of each row's text: n where it is none of n known ones, n + 1 where there is none.

    ``valid`` has a bit for each row, or nothing where all have a text; the first row is the one at ``place``.
    """
    mask, n = np.uint64(slots.shape[0] - 1), bounds.shape[0] - 1
    for s in range(rows.shape[0]):
        i = np.uint64(place) + np.uint64(rows[s])
        if valid.shape[0] > 0 and not (valid[i >> np.uint64(3)] >> (i & np.uint64(7))) & 1:
            out[s] = n + 1
            continue
        begin, end = np.int64(offsets[i]), np.int64(offsets[i + np.uint64(1)])
        first, last = ends_of(data, begin, end)
        slot = slot_of(data, begin, end, first, last, mask)
        code = np.int64(slots[slot])
        while code >= 0:
            size = bounds[code + 1] - bounds[code]
            alike = ends[code, 0] == first and ends[code, 1] == last and size == end - begin
            if alike and (size <= SIXTEEN or is_same(data, begin, known, bounds[code], size)):
                break
            slot = (slot + np.uint64(1)) & mask
            code = np.int64(slots[slot])
        out[s] = code if code >= 0 else n


@kernel
def evaluate_pieces(values, edges, origin, coefficients, missing, out):
    """Write the value of each score, (values, scores); an infinite number has none."""
    degree = coefficients.shape[2] - 1
    for i in range(values.shape[0]):
        x = values[i]
        if not math.isfinite(x):
            for k in range(out.shape[1]):
                out[i, k] = missing[k] if math.isnan(x) else math.nan
            continue
        low, high = 0, edges.shape[0]
        while low < high:
            middle = (low + high) // 2
            if edges[middle] <= x:
                low = middle + 1
            else:
                high = middle
        u = x - origin[low]
        for k in range(out.shape[1]):
            total = coefficients[low, k, degree]
            for d in range(degree - 1, -1, -1):
                total = total * u + coefficients[low, k, d]
            out[i, k] = total
