"""Reading numbers from bytes: lines of comma-separated values, and of libsvm's index:value pairs."""

import numpy as np

from saccade.kernels.compiling import inlined, kernel

NEWLINE, RETURN, SPACE, TAB, COLON, HASH, QUOTE = 10, 13, 32, 9, 58, 35, 34
POWERS = 10.0 ** np.arange(23)  # those that a float64 holds exactly

# What can be wrong with a line.
FINE, WRONG_LENGTH, NOT_A_NUMBER, MISSING, BAD_INDEX = range(5)


@inlined
def lost(a, b, product):
    """Return a b - product exactly, where product is close to it (Veltkamp and Dekker)."""
    wide = 134217729.0 * a
    a_high = wide - (wide - a)
    wide = 134217729.0 * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@inlined
def number(buffer, start, stop):
    """Return the number between two places, and whether it is one.

    Up to 19 digits are taken as an integer and scaled by a power of ten, with the errors of rounding carried along: the
    nearest float64 for powers up to 22, and within a unit or two in the last place beyond.
    """
    place, sign = start, 1.0
    if place < stop and (buffer[place] == 45 or buffer[place] == 43):
        sign = -1.0 if buffer[place] == 45 else 1.0
        place += 1
    mantissa, digits, scale, any_digit = np.uint64(0), 0, 0, False
    after_point = False
    good = True
    while place < stop:
        code = buffer[place]
        if 48 <= code <= 57:
            any_digit = True
            if digits < 19:
                mantissa = mantissa * np.uint64(10) + np.uint64(code - 48)
                digits += mantissa > 0
                scale -= after_point
            else:
                scale += not after_point
        elif code == 46 and not after_point:
            after_point = True
        else:
            break
        place += 1
    if place < stop and any_digit and (buffer[place] == 101 or buffer[place] == 69):
        place += 1
        negative = False
        if place < stop and (buffer[place] == 45 or buffer[place] == 43):
            negative = buffer[place] == 45
            place += 1
        exponent, found = 0, False
        while place < stop and 48 <= buffer[place] <= 57:
            exponent = min(exponent * 10 + (buffer[place] - 48), 9999)
            found = True
            place += 1
        good = found
        scale += -exponent if negative else exponent
    value = float(mantissa)
    left = float(np.int64(mantissa - np.uint64(value))) if value < 1.8e19 else 0.0  # what a float64 could not hold
    while scale > 0 and value != 0.0 and value < np.inf:
        step = min(scale, 22)
        product = value * POWERS[step]
        left = lost(value, POWERS[step], product) + left * POWERS[step] if product < 1e290 else 0.0
        value = product + left
        left = left - (value - product)
        scale -= step
    while scale < 0 and value > 0.0:
        step = min(-scale, 22)
        quotient = value / POWERS[step]
        left = (left - lost(quotient, POWERS[step], value)) / POWERS[step] if quotient > 1e-280 else 0.0
        value = quotient + left
        left = left - (value - quotient)
        scale += step
    return sign * value, good and any_digit and place == stop


@inlined
def trimmed(buffer, start, stop):
    """Return a field without the blanks and the quotes around it."""
    while start < stop and (buffer[start] == SPACE or buffer[start] == RETURN or buffer[start] == TAB):
        start += 1
    while start < stop and (buffer[stop - 1] == SPACE or buffer[stop - 1] == RETURN or buffer[stop - 1] == TAB):
        stop -= 1
    if stop - start >= 2 and buffer[start] == QUOTE and buffer[stop - 1] == QUOTE:
        start += 1
        stop -= 1
    return start, stop


@kernel
def count(buffer, code):
    found = 0
    for place in range(buffer.shape[0]):
        found += buffer[place] == code
    return found


@kernel
def parse_csv(buffer, separator, target, values, bounds, wrong, column):
    """Read lines that end in newlines: numbers into ``values``, where the target lies into ``bounds``.

    ``values`` has a column for each field but the target's. What is wrong with a line is written into ``wrong``, and in
    which field into ``column``. Return how many lines were read; empty ones are passed over.
    """
    row, place, size = 0, 0, buffer.shape[0]
    fields = values.shape[1] + (1 if target >= 0 else 0)
    while place < size:
        wrong[row], column[row] = FINE, 0
        field = 0
        empty = True
        ended = False
        while not ended:
            start = place
            quoted = False
            while place < size and buffer[place] != NEWLINE and (quoted or buffer[place] != separator):
                quoted = quoted != (buffer[place] == QUOTE)
                place += 1
            ended = place >= size or buffer[place] == NEWLINE
            first, last = trimmed(buffer, start, place)
            empty = empty and first == last and ended and field == 0
            place += 1
            if field < fields:
                if field == target:
                    bounds[row, 0], bounds[row, 1] = first, last
                    if first == last and wrong[row] == FINE:
                        wrong[row], column[row] = MISSING, field
                else:
                    where = field - (1 if 0 <= target < field else 0)
                    value, good = number(buffer, first, last)
                    values[row, where] = value
                    if not good and wrong[row] == FINE:
                        wrong[row], column[row] = (MISSING if first == last else NOT_A_NUMBER), field
            field += 1
        if empty:
            wrong[row] = -1  # a line that is passed over
        elif field != fields:
            wrong[row], column[row] = WRONG_LENGTH, field
        row += 1
    return row


@kernel
def parse_libsvm(buffer, labels, data, indices, indptr, wrong):
    """Read lines of 'label index:value …' as the rows of a CSR matrix; indices stay as they are written.

    Return the number of lines and the largest index. A line that is wrong, or empty, leaves an empty row.
    """
    row, place, size, stored, largest = 0, 0, buffer.shape[0], 0, 0
    indptr[0] = 0
    while place < size:
        end = place
        while end < size and buffer[end] != NEWLINE:
            end += 1
        stop = place
        while stop < end and buffer[stop] != HASH:
            stop += 1
        state, before, tokens, kept = FINE, -1, 0, stored
        while place < stop:
            while place < stop and (buffer[place] == SPACE or buffer[place] == TAB or buffer[place] == RETURN):
                place += 1
            if place == stop:
                break
            start, colon = place, -1
            while place < stop and not (buffer[place] == SPACE or buffer[place] == TAB or buffer[place] == RETURN):
                if buffer[place] == COLON:
                    colon = place
                place += 1
            if tokens == 0:
                labels[row], good = number(buffer, start, place)
                if not good or colon >= 0:
                    state = NOT_A_NUMBER
            else:
                index, good_index = number(buffer, start, colon)
                value, good = number(buffer, colon + 1, place)
                if colon < 0 or not good:
                    state = NOT_A_NUMBER if state == FINE else state
                elif not good_index or index != np.floor(index) or index <= before or index > 2**31 - 2:
                    state = BAD_INDEX if state == FINE else state
                else:
                    data[stored], indices[stored] = value, np.int32(index)
                    stored += 1
                    before = index
            tokens += 1
        if tokens == 0:
            state = -1
        if state != FINE:
            stored = kept
        else:
            largest = max(largest, np.int64(before))
        wrong[row] = state
        row += 1
        indptr[row] = stored
        place = end + 1
    return row, largest
