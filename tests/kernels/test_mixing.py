"""The rounds of splitmix64 give its published numbers."""

from __future__ import annotations

import numpy as np

from ostinato.kernels.kernel_cache import interpreted
from ostinato.kernels.mixing import ALL_BITS, GOLDEN, mixed


def test_the_first_numbers_of_seed_zero() -> None:
    seeds = np.arange(1, 4, dtype=np.uint64) * GOLDEN
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    bits = interpreted(mixed)(seeds, ALL_BITS)
    assert (bits ^ (bits >> np.uint64(31))).tolist() == expected
    compiled = [int(mixed(seed, ALL_BITS)) for seed in seeds]
    assert compiled == bits.tolist()


def test_a_mask_keeps_only_its_bits() -> None:
    mask = np.uint64(0x7FFFFFFFFFFFFFFF)
    assert all(mixed(np.uint64(number), mask) <= mask for number in range(100))
