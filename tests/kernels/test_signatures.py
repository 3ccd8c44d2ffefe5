"""The list of kernels is complete, and its types are those of numba."""

import pytest
from numba import types
from tools.record_kernels import kernels_of_package

from ostinato.kernels.signatures import Signature, decoded, encoded, listed


@pytest.mark.parametrize("signature", listed(), ids=lambda one: f"{one.module}.{one.name}")
def test_types_survive_the_list(signature: Signature) -> None:
    assert tuple(map(encoded, signature.types())) == signature.arguments
    assert [decoded(encoded(kind)) for kind in signature.types()] == list(signature.types())


def test_every_kernel_of_the_package_is_listed() -> None:
    assert {signature.kernel()._cache.stem for signature in listed()} == set(kernels_of_package())


def test_each_is_listed_once_with_one_layout() -> None:
    """Arrays with gaps or read-only arrays would need further kernels: callers pass `for_kernels(array)`."""
    names = [str(signature) for signature in listed()]
    assert len(set(names)) == len(names)
    assert not [name for name in names if "'A'" in name or "'F'" in name]


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="no kernel takes"):
        encoded(types.unicode_type)
