"""Bytes of text files: the numbers of libsvm's index:value pairs, and where records of CSV end."""

import numpy as np

from saccade.kernels.compiling import inlined, kernel

NEWLINE, RETURN, SPACE, TAB, COLON, HASH, QUOTE = 10, 13, 32, 9, 58, 35, 34
POWERS = 10.0 ** np.arange(23)  # those that a float64 holds exactly

# What a line may be. One that is EXTREME has a number so large or so small that Python had better read it, or a NaN.
EMPTY, FINE, EXTREME, NOT_A_NUMBER, BAD_INDEX, TOO_LARGE = range(6)
SMALLEST, LARGEST = 1e-250, 1e250
MOST_INDEX = 2**31 - 2


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
    """Return the number between two places, and whether it is FINE, EXTREME or NOT_A_NUMBER.

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
        exponent, any_exponent = 0, False
        while place < stop and 48 <= buffer[place] <= 57:
            exponent = min(exponent * 10 + (buffer[place] - 48), 9999)
            any_exponent = True
            place += 1
        good = any_exponent
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
    if not (good and any_digit and place == stop):
        return 0.0, NOT_A_NUMBER
    inside = SMALLEST < value < LARGEST or mantissa == 0
    return sign * value, FINE if inside else EXTREME


@inlined
def is_blank(code):
    return code in (SPACE, TAB, RETURN)


@kernel
def count(buffer, code):
    times = 0
    for place in range(buffer.shape[0]):
        times += buffer[place] == code
    return times


@kernel
def last_record(buffer, separator):
    """Return where the last record of CSV ends, and where a quoted field that is still open begins, or -1.

    A quote opens a field at its beginning only, spaces passed over; elsewhere in an unquoted field it is a character
    like others. A doubled quote within quotes closes the field and opens it again.
    """
    end, quote, fresh, closed = 0, -1, True, False
    for place in range(buffer.shape[0]):
        code = buffer[place]
        if quote >= 0:
            if code == QUOTE:
                quote, closed = -1, True
        elif code == QUOTE and (fresh or closed):
            quote, fresh, closed = place, False, False
        else:
            fresh, closed = code in (separator, NEWLINE, RETURN) or (fresh and code == SPACE), False
            if code == NEWLINE:
                end = place + 1
    return end, quote


@inlined
def is_query(buffer, start):
    """Return whether 'qid:' begins here."""
    return buffer[start] == 113 and buffer[start + 1] == 105 and buffer[start + 2] == 100 and buffer[start + 3] == COLON


@inlined
def is_nan(buffer, start, stop):
    """Return whether 'nan' stands here, in letters of either case."""
    if stop - start != 3:
        return False
    first, second, third = buffer[start] | 32, buffer[start + 1] | 32, buffer[start + 2] | 32
    return first == 110 and second == 97 and third == 110


@kernel
def parse_libsvm(buffer, labels, data, indices, indptr, kinds):
    """Read lines of 'label index:value … # comment' as rows of a CSR matrix; indices stay as they are written.

    What each line is goes to ``kinds``. Lines that are FINE or EXTREME make the rows; 'qid:' is passed over. Return the
    number of rows, and the smallest and the largest index.
    """
    row, line, place, size, stored = 0, 0, 0, buffer.shape[0], 0
    smallest, largest = MOST_INDEX, -1
    indptr[0] = 0
    while place < size:
        state, before, tokens = FINE, -1, 0
        first_stored = stored
        while buffer[place] != NEWLINE and buffer[place] != HASH:
            if is_blank(buffer[place]):
                place += 1
                continue
            start, index, colon = place, 0, -1
            while 48 <= buffer[place] <= 57 and index <= MOST_INDEX:
                index = index * 10 + (buffer[place] - 48)
                place += 1
            if buffer[place] == COLON and place > start:
                colon = place
                place += 1
            stop = place
            while not is_blank(buffer[stop]) and buffer[stop] != NEWLINE and buffer[stop] != HASH:
                stop += 1
            place = stop
            if tokens == 0:
                labels[row], kind = number(buffer, start, stop)
            elif colon < 0 and stop - start > 4 and is_query(buffer, start):
                kind = FINE
            else:
                value, kind = number(buffer, colon + 1 if colon >= 0 else start, stop)
                if kind == NOT_A_NUMBER and colon >= 0 and is_nan(buffer, colon + 1, stop):
                    kind = EXTREME
                if colon < 0 or index > MOST_INDEX or index <= before:
                    kind = BAD_INDEX
                else:
                    data[stored], indices[stored] = value, index
                    stored += 1
                    before = index
            if kind != FINE and state <= EXTREME:
                state = kind
            tokens += 1
        while buffer[place] != NEWLINE:
            place += 1
        place += 1
        if tokens == 0:
            state = EMPTY
        if state in (FINE, EXTREME):
            if stored > first_stored:
                smallest, largest = min(smallest, indices[first_stored]), max(largest, before)
            row += 1
            indptr[row] = stored
        else:
            stored = first_stored
        kinds[line] = state
        line += 1
    return row, smallest, largest
