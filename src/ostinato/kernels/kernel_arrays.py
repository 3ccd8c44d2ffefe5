"""An array of any origin -> an array of the one type that kernels are compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    """The array, copied if it is read-only or has gaps: numba would compile the kernel once more for such arrays.

    Arrays that share their memory with Arrow are read-only.
    """
    return np.require(array, requirements=["C", "W"])
