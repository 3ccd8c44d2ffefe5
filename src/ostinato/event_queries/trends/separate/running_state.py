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
def _write(table, row, words, at):  # type: ignore[no-untyped-def]
    """Writes a number; returns the position behind it."""
    if table.exact:
        words[at] = table.length[row]
        for limb in range(table.length[row]):
            words[at + 1 + limb] = table.limbs[row, limb]
        return at + 1 + table.length[row]
    words[at] = table.limbs[row, 0]
    words[at + 1] = table.limbs[row, 1]
    return at + 2


@called_kernel
def write_result(slots, sums, out, progress, sum_index, window):  # type: ignore[no-untyped-def]
    """Writes the sums of a window to the output, unless its count is 0. MORE_OUTPUT: the output is full."""
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    if is_zero(sums.integers, sum_index * width):
        return FINISHED
    record, at = progress[RECORDS], progress[LIMBS]
    word_count = 0
    for w in range(width):
        word_count += _number_words(sums.integers, sum_index * width + w)
    if record == len(out.heads) or at + word_count > len(out.limbs):
        return MORE_OUTPUT
    out.heads[record, 0] = progress[SEQUENCE]
    out.heads[record, 1] = window
    for w in range(width):
        out.heads[record, 2 + w] = at
        at = _write(sums.integers, sum_index * width + w, out.limbs, at)
    for f in range(reals):
        _write(sums.real, sum_index * reals + f, out.real[record], 2 * f)
    for b in range(slots.best_on.shape[0]):
        out.best[record, b] = sums.best[sum_index, b]
    for k in range(sums.seen.shape[1]):
        out.seen[record, k] = sums.seen[sum_index, k]
    progress[RECORDS] += 1
    progress[LIMBS] = at
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
def _save_sum(slots, sums, sum_index, words, at):  # type: ignore[no-untyped-def]
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        at = _write(sums.integers, sum_index * width + w, words, at)
    for f in range(reals):
        at = _write(sums.real, sum_index * reals + f, words, at)
    for b in range(sums.best.shape[1]):
        words[at] = sums.best[sum_index, b]
        at += 1
    for k in range(sums.seen.shape[1]):
        words[at] = sums.seen[sum_index, k]
        at += 1
    return at


@inline_kernel
def _load_sum(slots, sums, sum_index, words, at):  # type: ignore[no-untyped-def]
    """Reads a running sum; returns the position behind it, or -1 if a number is too long for the table."""
    width, reals = slots.integers_on.shape[0] + 1, slots.real_on.shape[0]
    for w in range(width):
        row = sum_index * width + w
        limb_count = np.int64(2)
        if sums.integers.exact:
            limb_count = words[at]
            at += 1
            if limb_count + SLACK > sums.integers.limbs.shape[1]:
                return np.int64(-1)
            sums.integers.length[row] = limb_count
        for limb in range(limb_count):
            sums.integers.limbs[row, limb] = words[at]
            at += 1
    for f in range(reals):
        sums.real.limbs[sum_index * reals + f, 0] = words[at]
        sums.real.limbs[sum_index * reals + f, 1] = words[at + 1]
        at += 2
    for b in range(sums.best.shape[1]):
        sums.best[sum_index, b] = words[at]
        at += 1
    for k in range(sums.seen.shape[1]):
        sums.seen[sum_index, k] = words[at]
        at += 1
    return at


@called_kernel
def save(plan, slots, lanes, sums, states, progress):  # type: ignore[no-untyped-def]
    """Writes the number of lanes, the finished trends (with a span), then for each lane its start, end and sums."""
    over = (lanes.capacity + OVER) * plan.sums_per_lane
    width = slots.integers_on.shape[0] + 1
    begin = at = progress[WORDS]
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
    states.words[at] = progress[LANES]
    at = _save_sum(slots, sums, over, states.words, at + 1)
    for i in range(progress[LANES]):
        lane = (progress[HEAD] + i) % lanes.capacity
        states.words[at] = lanes.low[lane]
        states.words[at + 1] = lanes.high[lane]
        at += 2
        for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
            at = _save_sum(slots, sums, sum_index, states.words, at)
    progress[WORDS] = at
    return FINISHED


@called_kernel
def load(plan, slots, lanes, sums, states, sequence, progress):  # type: ignore[no-untyped-def]
    progress[HEAD] = 0
    progress[LANES] = 0
    over = (lanes.capacity + OVER) * plan.sums_per_lane
    clear(slots, sums, over)
    at = states.starts[sequence]
    if at == states.starts[sequence + 1]:
        return True
    lane_count = states.words[at]
    at = _load_sum(slots, sums, over, states.words, at + 1)
    if at < 0:
        return False
    for lane in range(lane_count):
        lanes.low[lane] = states.words[at]
        lanes.high[lane] = states.words[at + 1]
        at += 2
        for sum_index in range(lane * plan.sums_per_lane, (lane + 1) * plan.sums_per_lane):
            at = _load_sum(slots, sums, sum_index, states.words, at)
            if at < 0:
                return False
    progress[LANES] = lane_count
    progress[COUNT_BITS] = FAR // 2  # no bounds on the numbers are known: look them up
    return True
