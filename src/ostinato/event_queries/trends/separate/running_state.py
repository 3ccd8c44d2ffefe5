"""Running sums <-> words: the results of a window, and the state of a sequence between two calls."""

from __future__ import annotations

import numpy as np

from ostinato.event_queries.trends.separate.running_arrays import (
    COUNT_BITS,
    FAR,
    FINISHED,
    HEAD,
    LANES,
    LIMBS,
    MORE_OUTPUT,
    MORE_STATE,
    OVER,
    RECORDS,
    SEQUENCE,
    SLACK,
    WORDS,
)
from ostinato.event_queries.trends.separate.sums import clear
from ostinato.kernels.kernel_cache import called_kernel, inline_kernel
from ostinato.kernels.numbers.number_table import is_zero


@inline_kernel
def _number_words(table, row):  # type: ignore[no-untyped-def]
    return table.length[row] + 1 if table.exact else 2


@inline_kernel
def _write(table, row, words, offset):  # type: ignore[no-untyped-def]
    """Writes a number; returns the position behind it."""
    if table.exact:
        words[offset] = table.length[row]
        for limb in range(table.length[row]):
            words[offset + 1 + limb] = table.limbs[row, limb]
        return offset + 1 + table.length[row]
    words[offset] = table.limbs[row, 0]
    words[offset + 1] = table.limbs[row, 1]
    return offset + 2


@called_kernel
def write_result(slots, sums, out, progress, sum_index, window):  # type: ignore[no-untyped-def]
    """Writes the sums of a window to the output, unless its count is 0. MORE_OUTPUT: the output is full."""
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    if is_zero(sums.integers, sum_index * width):
        return FINISHED
    record, offset = progress[RECORDS], progress[LIMBS]
    word_count = 0
    for w in range(width):
        word_count += _number_words(sums.integers, sum_index * width + w)
    if record == len(out.heads) or offset + word_count > len(out.limbs):
        return MORE_OUTPUT
    out.heads[record, 0] = progress[SEQUENCE]
    out.heads[record, 1] = window
    for w in range(width):
        out.heads[record, 2 + w] = offset
        offset = _write(sums.integers, sum_index * width + w, out.limbs, offset)
    for f in range(reals):
        _write(sums.real, sum_index * reals + f, out.real[record], 2 * f)
    for b in range(slots.best_on.shape[0]):
        out.best[record, b] = sums.best[sum_index, b]
    for k in range(sums.seen.shape[1]):
        out.seen[record, k] = sums.seen[sum_index, k]
    progress[RECORDS] += 1
    progress[LIMBS] = offset
    return FINISHED


# --- states -----------------------------------------------------------------------------------------------------------


@inline_kernel
def _sum_words(slots, sums, sum_index):  # type: ignore[no-untyped-def]
    width = slots.integers_on.shape[0] + 1
    count = 2 * slots.real_on.shape[0] + sums.best.shape[1] + sums.seen.shape[1]
    for w in range(width):
        count += _number_words(sums.integers, sum_index * width + w)
    return count


@inline_kernel
def _save_sum(slots, sums, sum_index, words, offset):  # type: ignore[no-untyped-def]
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        offset = _write(sums.integers, sum_index * width + w, words, offset)
    for f in range(reals):
        offset = _write(sums.real, sum_index * reals + f, words, offset)
    for b in range(sums.best.shape[1]):
        words[offset] = sums.best[sum_index, b]
        offset += 1
    for k in range(sums.seen.shape[1]):
        words[offset] = sums.seen[sum_index, k]
        offset += 1
    return offset


@inline_kernel
def _load_sum(slots, sums, sum_index, words, offset):  # type: ignore[no-untyped-def]
    """Reads a running sum; returns the position behind it, or -1 if a number is too long for the table."""
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        row = sum_index * width + w
        limb_count = np.int64(2)
        if sums.integers.exact:
            limb_count = words[offset]
            offset += 1
            if limb_count + SLACK > sums.integers.limbs.shape[1]:
                return np.int64(-1)
            sums.integers.length[row] = limb_count
        for limb in range(limb_count):
            sums.integers.limbs[row, limb] = words[offset]
            offset += 1
    for f in range(reals):
        sums.real.limbs[sum_index * reals + f, 0] = words[offset]
        sums.real.limbs[sum_index * reals + f, 1] = words[offset + 1]
        offset += 2
    for b in range(sums.best.shape[1]):
        sums.best[sum_index, b] = words[offset]
        offset += 1
    for k in range(sums.seen.shape[1]):
        sums.seen[sum_index, k] = words[offset]
        offset += 1
    return offset


@called_kernel
def save(plan, slots, lanes, sums, states, progress):  # type: ignore[no-untyped-def]
    """Writes the number of lanes, the finished trends (with a span), then for each lane its start, end and sums."""
    over = (lanes.capacity + OVER) * plan.sums_per_lane
    width = slots.integers_on.shape[0] + 1
    begin = offset = progress[WORDS]
    if progress[LANES] == 0 and is_zero(sums.integers, over * width):
        return FINISHED
    word_count = 1 + _sum_words(slots, sums, over)
    for i in range(progress[LANES]):
        lane = (progress[HEAD] + i) % lanes.capacity
        word_count += 2
        for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
            word_count += _sum_words(slots, sums, sum_index)
    if begin + word_count > len(states.words):
        return MORE_STATE
    states.words[offset] = progress[LANES]
    offset = _save_sum(slots, sums, over, states.words, offset + 1)
    for i in range(progress[LANES]):
        lane = (progress[HEAD] + i) % lanes.capacity
        states.words[offset] = lanes.low[lane]
        states.words[offset + 1] = lanes.high[lane]
        offset += 2
        for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
            offset = _save_sum(slots, sums, sum_index, states.words, offset)
    progress[WORDS] = offset
    return FINISHED


@called_kernel
def load(plan, slots, lanes, sums, states, sequence, progress):  # type: ignore[no-untyped-def]
    progress[HEAD] = 0
    progress[LANES] = 0
    over = (lanes.capacity + OVER) * plan.sums_per_lane
    clear(slots, sums, over)
    offset = states.starts[sequence]
    if offset == states.starts[sequence + 1]:
        return True
    lane_count = states.words[offset]
    offset = _load_sum(slots, sums, over, states.words, offset + 1)
    if offset < 0:
        return False
    for lane in range(lane_count):
        lanes.low[lane] = states.words[offset]
        lanes.high[lane] = states.words[offset + 1]
        offset += 2
        for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
            offset = _load_sum(slots, sums, sum_index, states.words, offset)
            if offset < 0:
                return False
    progress[LANES] = lane_count
    progress[COUNT_BITS] = FAR // 2  # no bounds on the numbers are known: look them up
    return True
