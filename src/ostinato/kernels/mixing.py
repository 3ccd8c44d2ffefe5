"""Numbers -> bits that look random: the rounds of splitmix64."""

from __future__ import annotations

import numpy as np

from ostinato.kernels.kernel_cache import inline_kernel

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""splitmix64 spreads its seeds by this increment."""
ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inline_kernel
def mixed(bits, mask):  # type: ignore[no-untyped-def]
    """The two rounds of splitmix64; each keeps only the bits of `mask`.

    The highest bits are mixed best. Callers add the last shift, which depends on the bits that they need.
    """
    bits = ((bits ^ (bits >> np.uint64(30))) * _FIRST) & mask
    return ((bits ^ (bits >> np.uint64(27))) * _SECOND) & mask
