"""Exact integers as limbs of 60 bits in a row of an array: the arithmetic under `number_table.py`, for kernels.

The lowest limb comes first; all but the highest are in [0, 2**60), the highest is in [-2**60, 2**60) and has the sign
of the number. `length[row]` limbs are in use, as few as possible. A function that makes a number longer wants a limb or
two to spare; where the row hasn't got them it returns False and has changed nothing.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel

BITS = 60
"""Of one limb. A few limbs, and a few products of halves, add up within 64 bits."""
BASE = 1 << BITS
MASK = BASE - 1
HALF = 30
HALF_MASK = (1 << HALF) - 1
LONG = 16
"""From so many limbs on they are added several at a time: 4 a nanosecond, where one by one it is 1.2."""
STEP = 500
"""Exponents of approximate numbers are multiples of this."""


@inline_kernel
def bit_length(value):  # type: ignore[no-untyped-def]
    """Of an int64, the smallest n with -2**n <= value < 2**n."""
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
    """So many limbs at least: not as few as possible any more."""
    used = length[row]
    if used < wanted:
        top = limbs[row, used - 1]
        limbs[row, used - 1] = top & MASK
        fill = np.int64(-1) if top < 0 else np.int64(0)
        for place in range(used, wanted - 1):
            limbs[row, place] = fill & MASK
        limbs[row, wanted - 1] = fill
        length[row] = wanted


@inline_kernel
def _tidy(limbs, length, row):  # type: ignore[no-untyped-def]
    """The highest limb back into its range, for which there is room, and as few limbs as possible."""
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
def _carry_on(target, place, used, carry):  # type: ignore[no-untyped-def]
    """Adds `carry` at `place`, which may be the one behind the last limb: then it is the last limb's own top."""
    if place == used:
        target[used - 1] += carry << BITS
        return
    while carry != 0 and place < used - 1:
        total = target[place] + carry
        carry = total >> BITS
        target[place] = total & MASK
        place += 1
    if carry != 0:
        target[used - 1] += carry


@inline_kernel
def _add_lower(target, source, count):  # type: ignore[no-untyped-def]
    """Adds limbs that are all in [0, 2**60); returns what is carried on.

    Each limb takes what is carried from the one below without waiting for it, so that the processor does several at a
    time. That it then overflows itself is as rare as 60 bits that are all set; the second pass is for that.
    """
    mask, bits = np.uint64(MASK), np.uint64(BITS)
    carry = (np.uint64(target[count - 1]) + np.uint64(source[count - 1])) >> bits
    beyond = np.uint64(0)
    for place in range(count - 1, 0, -1):
        below = (np.uint64(target[place - 1]) + np.uint64(source[place - 1])) >> bits
        total = ((np.uint64(target[place]) + np.uint64(source[place])) & mask) + below
        target[place] = np.int64(total)
        beyond |= total
    target[0] = np.int64((np.uint64(target[0]) + np.uint64(source[0])) & mask)
    further = np.int64(0)
    if beyond >> bits:
        for place in range(count):
            limb = target[place] + further
            further = limb >> BITS
            target[place] = limb & MASK
    return np.int64(carry) + further


@inline_kernel
def _double_lower(target, count):  # type: ignore[no-untyped-def]
    """Doubles limbs that are all in [0, 2**60); returns what is carried on."""
    mask, one, bits = np.uint64(MASK), np.uint64(1), np.uint64(BITS - 1)
    carry = np.uint64(target[count - 1]) >> bits
    for place in range(count - 1, 0, -1):
        target[place] = np.int64(((np.uint64(target[place]) << one) & mask) | (np.uint64(target[place - 1]) >> bits))
    target[0] = np.int64((np.uint64(target[0]) << one) & mask)
    return np.int64(carry)


@called_kernel
def add_limbs(limbs, length, into, what, negative):  # type: ignore[no-untyped-def]
    many = length[what]
    used = max(length[into], many)
    if used == limbs.shape[1]:
        return False
    _extend(limbs, length, into, used)
    target, source = limbs[into], limbs[what]
    carry = np.int64(0)
    if negative:
        for place in range(many):
            total = target[place] - source[place] + carry
            carry = total >> BITS
            target[place] = total & MASK
    else:
        begin = 0
        if many > LONG:
            begin = many - 1
            carry = _double_lower(target, begin) if into == what else _add_lower(target, source, begin)
        for place in range(begin, many):
            total = target[place] + source[place] + carry
            carry = total >> BITS
            target[place] = total & MASK
    _carry_on(target, many, used, carry)
    _tidy(limbs, length, into)
    return True


@called_kernel
def add_small_limbs(limbs, length, row, value):  # type: ignore[no-untyped-def]
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
def _digit(factor, which):  # type: ignore[no-untyped-def]
    """Digits of 30 bits, the lowest first: the two lower ones in [0, 2**30), the third one has the sign."""
    above = factor >> (HALF * which)
    return above if which == 2 else above & HALF_MASK


@called_kernel
def _add_times(limbs, length, into, what, factor, at):  # type: ignore[no-untyped-def]
    """into += what * factor * 2**(60 * at); `into` has two limbs more than `what` has from there on."""
    target, source = limbs[into], limbs[what]
    many = length[what]
    zero, one, two = _digit(factor, 0), _digit(factor, 1), _digit(factor, 2)
    # Digits of the number before the one at hand, for the products with the factor's higher digits.
    before = np.int64(0)
    further = np.int64(0)
    high = np.int64(0)
    carry = np.int64(0)
    for place in range(many):
        limb = source[place]
        low_digit = limb & HALF_MASK
        high_digit = limb >> HALF
        low = low_digit * zero + before * one + further * two + high
        high = high_digit * zero + low_digit * one + before * two + (low >> HALF)
        total = target[at + place] + (low & HALF_MASK) + ((high & HALF_MASK) << HALF) + carry
        carry = total >> BITS
        target[at + place] = total & MASK
        high >>= HALF
        further = low_digit
        before = high_digit
    low = before * one + further * two + high
    high = before * two + (low >> HALF)
    total = target[at + many] + (low & HALF_MASK) + ((high & HALF_MASK) << HALF) + carry
    target[at + many] = total & MASK
    _carry_on(target, at + many + 1, length[into], (total >> BITS) + (high >> HALF))


@called_kernel
def add_scaled_limbs(limbs, length, into, what, factor):  # type: ignore[no-untyped-def]
    used = max(length[into] + 1, length[what] + 2)
    if used > limbs.shape[1]:
        return False
    _extend(limbs, length, into, used)
    _add_times(limbs, length, into, what, factor, 0)
    _tidy(limbs, length, into)
    return True


@called_kernel
def scale_limbs(limbs, length, row, factor):  # type: ignore[no-untyped-def]
    used = length[row] + 2
    if used > limbs.shape[1]:
        return False
    target = limbs[row]
    zero, one, two = _digit(factor, 0), _digit(factor, 1), _digit(factor, 2)
    before = np.int64(0)
    further = np.int64(0)
    high = np.int64(0)
    for place in range(used - 1):
        limb = target[place] if place < used - 2 else np.int64(0)
        low_digit = limb & HALF_MASK
        high_digit = limb >> HALF
        low = low_digit * zero + before * one + further * two + high
        high = high_digit * zero + low_digit * one + before * two + (low >> HALF)
        target[place] = (low & HALF_MASK) + ((high & HALF_MASK) << HALF)
        high >>= HALF
        further = low_digit
        before = high_digit
    target[used - 1] = high
    length[row] = used
    _tidy(limbs, length, row)
    return True


@called_kernel
def shift_limbs(limbs, length, row, bits):  # type: ignore[no-untyped-def]
    many = length[row]
    whole = bits // BITS
    used = many + whole + 1
    if used > limbs.shape[1]:
        return False
    target = limbs[row]
    rest = bits - BITS * whole
    back = BITS - rest
    target[used - 1] = target[many - 1] >> back
    for place in range(many - 1, 0, -1):
        target[place + whole] = ((target[place] << rest) & MASK) | (target[place - 1] >> back)
    target[whole] = (target[0] << rest) & MASK
    for place in range(whole):
        target[place] = 0
    length[row] = used
    _tidy(limbs, length, row)
    return True


@called_kernel
def add_product_limbs(limbs, length, into, left, right):  # type: ignore[no-untyped-def]
    used = max(length[into], length[left] + length[right]) + 1
    if used > limbs.shape[1]:
        return False
    _extend(limbs, length, into, used)
    for place in range(length[right]):
        if limbs[right, place] != 0:
            _add_times(limbs, length, into, left, limbs[right, place], place)
    _tidy(limbs, length, into)
    return True


@called_kernel
def as_real(limbs, length, row):  # type: ignore[no-untyped-def]
    """An exact number -> (mantissa, exponent), exponent a multiple of STEP."""
    used = length[row]
    if used == 1:
        return float(limbs[row, 0]), np.int64(0)
    mantissa = float(limbs[row, used - 1]) * 2.0**BITS + float(limbs[row, used - 2])
    if used > 2:
        mantissa += float(limbs[row, used - 3]) * 2.0**-BITS
    bits = BITS * (used - 2)
    exponent = bits // STEP * STEP
    return math.ldexp(mantissa, int(bits - exponent)), np.int64(exponent)


# --- from and to Python's numbers -------------------------------------------------------------------------------------

_PAIR = 15
"""Bytes of two limbs."""


def int_of_limbs(limbs: NDArray[np.int64]) -> int:
    """The lowest first; the highest has the sign."""
    pairs = len(limbs) // 2 + 1
    even = np.full(2 * pairs, MASK if limbs[-1] < 0 else 0, np.int64)
    even[: len(limbs)] = limbs & MASK
    low, high = even[0::2], even[1::2]
    packed = np.empty((pairs, _PAIR), np.uint8)
    packed[:, :8] = (low | (high << BITS)).view(np.uint8).reshape(pairs, 8)
    packed[:, 8:] = (high >> 4).view(np.uint8).reshape(pairs, 8)[:, :7]
    return int.from_bytes(packed.tobytes(), "little", signed=True)


def limbs_of_int(number: int) -> NDArray[np.int64]:
    """As few limbs as possible."""
    pairs = max(number.bit_length() // (2 * BITS) + 1, 1)
    packed = np.frombuffer(number.to_bytes(_PAIR * pairs, "little", signed=True), np.uint8).reshape(pairs, _PAIR)
    limbs = np.empty(2 * pairs, np.int64)
    limbs[0::2] = np.ascontiguousarray(packed[:, :8]).view(np.int64)[:, 0] & MASK
    limbs[1::2] = np.ascontiguousarray(packed[:, 7:]).view(np.int64)[:, 0] >> 4
    limbs[1:-1:2] &= MASK
    used = len(limbs)
    while used > 1 and limbs[used - 1] in (0, -1):
        limbs[used - 2] += limbs[used - 1] * BASE
        used -= 1
    return limbs[:used]
