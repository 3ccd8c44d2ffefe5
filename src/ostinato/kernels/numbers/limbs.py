"""Exact integers as limbs of 60 bits in a row of an array: the arithmetic under `number_table.py`, for kernels.

The lowest limb comes first. All limbs but the highest are in [0, 2**60). The highest is in [-2**60, 2**60) and has the
sign of the number. `length[row]` limbs are in use, as few as possible. A function that may make a number longer needs
one or two spare limbs. If the row has fewer, the function returns False and changes nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel

BITS = 60
"""Bits of one limb. 64 bits hold the sum of a few limbs, and of a few products of half limbs."""
BASE = 1 << BITS
MASK = BASE - 1
HALF = 30
HALF_MASK = (1 << HALF) - 1
LONG = 16
"""Numbers with more limbs are added several limbs at a time: 4 a nanosecond instead of 1.2."""
STEP = 500
"""Exponents of approximate numbers are multiples of this."""


@inline_kernel
def bit_length(value):  # type: ignore[no-untyped-def]
    """The smallest n with -2**n <= value < 2**n, for an int64."""
    left = value if value >= 0 else ~value
    bits = 0
    step = 32
    while step:
        if left >> step:
            left >>= step
            bits += step
        step >>= 1
    return bits + left


@inline_kernel
def _extend(limbs, length, row, wanted):  # type: ignore[no-untyped-def]
    """Lengthens the number to at least `wanted` limbs; `_tidy` shortens it again."""
    used = length[row]
    if used < wanted:
        top = limbs[row, used - 1]
        limbs[row, used - 1] = top & MASK
        fill = np.int64(-1) if top < 0 else np.int64(0)
        for i in range(used, wanted - 1):
            limbs[row, i] = fill & MASK
        limbs[row, wanted - 1] = fill
        length[row] = wanted


@inline_kernel
def _tidy(limbs, length, row):  # type: ignore[no-untyped-def]
    """Brings the highest limb back into its range, for which the row has a spare limb, and drops needless limbs."""
    used = length[row]
    top = limbs[row, used - 1]
    if top >= BASE or top < -BASE:
        limbs[row, used - 1] = top & MASK
        limbs[row, used] = top >> BITS
        used += 1
    while used > 1:
        top = limbs[row, used - 1]
        if top == 0:
            used -= 1
        elif top == -1:
            used -= 1
            limbs[row, used - 1] -= BASE
        else:
            break
    length[row] = used


@inline_kernel
def _carry_on(target, i, used, carry):  # type: ignore[no-untyped-def]
    """Adds `carry` at limb i. Beyond the last limb, the carry becomes the upper bits of the last limb."""
    if i == used:
        target[used - 1] += carry << BITS
        return
    while carry != 0 and i < used - 1:
        total = target[i] + carry
        carry = total >> BITS
        target[i] = total & MASK
        i += 1
    if carry != 0:
        target[used - 1] += carry


@inline_kernel
def _add_lower(target, source, count):  # type: ignore[no-untyped-def]
    """Adds limbs that are all in [0, 2**60); returns the carry.

    Each limb adds the carry of the limb below without waiting for that limb's own carry, so that the processor adds
    several limbs at a time. A limb overflows by this only if its 60 bits were all set. The second pass corrects that.
    """
    mask, bits = np.uint64(MASK), np.uint64(BITS)
    carry = (np.uint64(target[count - 1]) + np.uint64(source[count - 1])) >> bits
    beyond = np.uint64(0)
    for i in range(count - 1, 0, -1):
        below = (np.uint64(target[i - 1]) + np.uint64(source[i - 1])) >> bits
        total = ((np.uint64(target[i]) + np.uint64(source[i])) & mask) + below
        target[i] = np.int64(total)
        beyond |= total
    target[0] = np.int64((np.uint64(target[0]) + np.uint64(source[0])) & mask)
    further = np.int64(0)
    if beyond >> bits:
        for i in range(count):
            limb = target[i] + further
            further = limb >> BITS
            target[i] = limb & MASK
    return np.int64(carry) + further


@inline_kernel
def _double_lower(target, count):  # type: ignore[no-untyped-def]
    """Doubles limbs that are all in [0, 2**60); returns the carry."""
    mask, one, bits = np.uint64(MASK), np.uint64(1), np.uint64(BITS - 1)
    carry = np.uint64(target[count - 1]) >> bits
    for i in range(count - 1, 0, -1):
        target[i] = np.int64(((np.uint64(target[i]) << one) & mask) | (np.uint64(target[i - 1]) >> bits))
    target[0] = np.int64((np.uint64(target[0]) << one) & mask)
    return np.int64(carry)


@called_kernel
def add_limbs(limbs, length, into, addend, negative):  # type: ignore[no-untyped-def]
    """into += addend, or -= if negative."""
    count = length[addend]
    used = max(length[into], count)
    if used == limbs.shape[1]:
        return False
    _extend(limbs, length, into, used)
    target, source = limbs[into], limbs[addend]
    carry = np.int64(0)
    if negative:
        for i in range(count):
            total = target[i] - source[i] + carry
            carry = total >> BITS
            target[i] = total & MASK
    else:
        begin = 0
        if count > LONG:
            begin = count - 1
            carry = _double_lower(target, begin) if into == addend else _add_lower(target, source, begin)
        for i in range(begin, count):
            total = target[i] + source[i] + carry
            carry = total >> BITS
            target[i] = total & MASK
    _carry_on(target, count, used, carry)
    _tidy(limbs, length, into)
    return True


@called_kernel
def add_small_limbs(limbs, length, row, value):  # type: ignore[no-untyped-def]
    """row += value, any int64."""
    used = max(length[row] + 1, 3)
    if used > limbs.shape[1]:
        return False
    _extend(limbs, length, row, used)
    target = limbs[row]
    total = target[0] + (value & MASK)
    target[0] = total & MASK
    _carry_on(target, 1, used, (total >> BITS) + (value >> BITS))
    _tidy(limbs, length, row)
    return True


@inline_kernel
def _digit(factor, number):  # type: ignore[no-untyped-def]
    """Digits of 30 bits, the lowest first: digits 0 and 1 are in [0, 2**30), digit 2 has the sign."""
    above = factor >> (HALF * number)
    return above if number == 2 else above & HALF_MASK


@called_kernel
def add_scaled_limbs(limbs, length, into, addend, factor):  # type: ignore[no-untyped-def]
    """into += addend * factor, any int64. `into` isn't `addend`."""
    count = length[addend]
    used = max(length[into] + 1, count + 2)
    if used > limbs.shape[1]:
        return False
    _extend(limbs, length, into, used)
    target, source = limbs[into], limbs[addend]
    zero, one, two = _digit(factor, 0), _digit(factor, 1), _digit(factor, 2)
    # The two digits of the addend below the present one, for the products with the factor's higher digits.
    before = np.int64(0)
    further = np.int64(0)
    high = np.int64(0)
    carry = np.int64(0)
    for i in range(count):
        limb = source[i]
        low_digit = limb & HALF_MASK
        high_digit = limb >> HALF
        low = low_digit * zero + before * one + further * two + high
        high = high_digit * zero + low_digit * one + before * two + (low >> HALF)
        total = target[i] + (low & HALF_MASK) + ((high & HALF_MASK) << HALF) + carry
        carry = total >> BITS
        target[i] = total & MASK
        high >>= HALF
        further = low_digit
        before = high_digit
    low = before * one + further * two + high
    high = before * two + (low >> HALF)
    total = target[count] + (low & HALF_MASK) + ((high & HALF_MASK) << HALF) + carry
    target[count] = total & MASK
    _carry_on(target, count + 1, used, (total >> BITS) + (high >> HALF))
    _tidy(limbs, length, into)
    return True


@called_kernel
def scale_limbs(limbs, length, row, factor):  # type: ignore[no-untyped-def]
    """row *= factor, any int64."""
    used = length[row] + 2
    if used > limbs.shape[1]:
        return False
    target = limbs[row]
    zero, one, two = _digit(factor, 0), _digit(factor, 1), _digit(factor, 2)
    before = np.int64(0)
    further = np.int64(0)
    high = np.int64(0)
    for i in range(used - 1):
        limb = target[i] if i < used - 2 else np.int64(0)
        low_digit = limb & HALF_MASK
        high_digit = limb >> HALF
        low = low_digit * zero + before * one + further * two + high
        high = high_digit * zero + low_digit * one + before * two + (low >> HALF)
        target[i] = (low & HALF_MASK) + ((high & HALF_MASK) << HALF)
        high >>= HALF
        further = low_digit
        before = high_digit
    target[used - 1] = high
    length[row] = used
    _tidy(limbs, length, row)
    return True


@called_kernel
def shift_limbs(limbs, length, row, bits):  # type: ignore[no-untyped-def]
    """row *= 2**bits, bits >= 0."""
    count = length[row]
    whole_limbs = bits // BITS
    used = count + whole_limbs + 1
    if used > limbs.shape[1]:
        return False
    target = limbs[row]
    left = bits - BITS * whole_limbs
    right = BITS - left
    target[used - 1] = target[count - 1] >> right
    for i in range(count - 1, 0, -1):
        target[i + whole_limbs] = ((target[i] << left) & MASK) | (target[i - 1] >> right)
    target[whole_limbs] = (target[0] << left) & MASK
    for i in range(whole_limbs):
        target[i] = 0
    length[row] = used
    _tidy(limbs, length, row)
    return True


@called_kernel
def as_real(limbs, length, row):  # type: ignore[no-untyped-def]
    """Mantissa and exponent of an exact number; the exponent is a multiple of STEP."""
    used = length[row]
    if used == 1:
        return float(limbs[row, 0]), np.int64(0)
    mantissa = float(limbs[row, used - 1]) * 2.0**BITS + float(limbs[row, used - 2])
    if used > 2:
        mantissa += float(limbs[row, used - 3]) * 2.0**-BITS
    bits = BITS * (used - 2)
    exponent = bits // STEP * STEP
    return math.ldexp(mantissa, int(bits - exponent)), np.int64(exponent)


# --- to Python's numbers ----------------------------------------------------------------------------------------------

_PAIR = 15
"""Bytes of two limbs."""


def int_of_limbs(limbs: NDArray[np.int64]) -> int:
    """The integer that all limbs of a number stand for."""
    pairs = len(limbs) // 2 + 1
    even = np.full(2 * pairs, MASK if limbs[-1] < 0 else 0, np.int64)
    even[: len(limbs)] = limbs & MASK
    low, high = even[0::2], even[1::2]
    packed = np.empty((pairs, _PAIR), np.uint8)
    packed[:, :8] = (low | (high << BITS)).view(np.uint8).reshape(pairs, 8)
    packed[:, 8:] = (high >> 4).view(np.uint8).reshape(pairs, 8)[:, :7]
    return int.from_bytes(packed.tobytes(), "little", signed=True)
