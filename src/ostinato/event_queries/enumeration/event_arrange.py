"""The matches of one block in search order -> the output, in order of the last event's time.

Matches that end at one time stay in search order, because sorting is stable. Small blocks are sorted by insertion.
Larger ones are sorted by digits of eight bits, as many digits as the keys differ in. Blocks already in order are only
copied.
"""

from __future__ import annotations

from ostinato.kernels.kernel_cache import called_kernel, inline_kernel

_FEW = 24
_DIGIT = 8


@called_kernel
def arrange(block, output, group_end, count, wanted, matches, rows):  # type: ignore[no-untyped-def]
    """Copies the first `wanted` of `count` matches behind the output; returns the output's new number of rows.

    `matches` and `rows` are the current sizes of the output. Of two rows the later one has the larger `group_end`.
    """
    at, from_rows, from_labels = block.at, block.rows, block.labels
    to_at, to_rows, to_labels = output.at, output.rows, output.labels
    least, most, in_order = _keys(block, group_end, count)
    half = 0
    if not in_order:
        if count <= _FEW:
            _by_insertion(block.keys[0], block.numbers[0], count)
        else:
            half = _by_digits(block.keys, block.numbers, block.digits, count, most - least)
    numbers = block.numbers[half]
    for match in range(wanted):
        number = numbers[match]
        low, high = at[number], at[number + 1]
        for source in range(low, high):
            to_rows[rows] = from_rows[source]
            to_labels[rows] = from_labels[source]
            rows += 1
        to_at[matches + match + 1] = rows
    return rows


@inline_kernel
def _keys(block, group_end, count):  # type: ignore[no-untyped-def]
    """The time of each match's last event as a small number; the minimum, the maximum, and whether they ascend."""
    keys, numbers = block.keys[0], block.numbers[0]
    least = most = group_end[block.rows[block.at[1] - 1]]
    in_order = True
    before = least
    for match in range(count):
        key = group_end[block.rows[block.at[match + 1] - 1]]
        in_order &= before <= key
        before = key
        least = min(least, key)
        most = max(most, key)
        keys[match] = key
        numbers[match] = match
    for match in range(count):
        keys[match] -= least
    return least, most, in_order


@inline_kernel
def _by_insertion(keys, numbers, count):  # type: ignore[no-untyped-def]
    for match in range(1, count):
        key, number = keys[match], numbers[match]
        to = match
        while to > 0 and keys[to - 1] > key:
            keys[to], numbers[to] = keys[to - 1], numbers[to - 1]
            to -= 1
        keys[to], numbers[to] = key, number


@inline_kernel
def _by_digits(keys, numbers, digit_counts, count, largest):  # type: ignore[no-untyped-def]
    """Sorts by one digit at a time, from one half of the buffer to the other; returns the half with the result."""
    source, shift = 0, 0
    while (largest >> shift) > 0:
        digit_counts[:] = 0
        for match in range(count):
            digit_counts[((keys[source, match] >> shift) & 255) + 1] += 1
        for digit in range(256):
            digit_counts[digit + 1] += digit_counts[digit]
        other = 1 - source
        for match in range(count):
            key = keys[source, match]
            digit = (key >> shift) & 255
            to = digit_counts[digit]
            digit_counts[digit] = to + 1
            keys[other, to] = key
            numbers[other, to] = numbers[source, match]
        source = other
        shift += _DIGIT
    return source
