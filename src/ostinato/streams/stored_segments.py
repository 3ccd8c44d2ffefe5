"""Segments in a store, which is read only if a step needs their rows; and segments to append to them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import overload


class StoredSegments(Sequence[bytes]):
    """The sealed segments of one section. Their number and size are known without reading them.

    >>> stored = StoredSegments(2, 5, lambda: [b"abc", b"de"])
    >>> longer = with_segments(stored, (b"f",))
    >>> longer.is_read, len(longer), size_of(longer)
    (False, 3, 6)
    >>> list(longer), longer.is_read
    ([b'abc', b'de', b'f'], True)
    """

    def __init__(self, count: int, size: int, read: Callable[[], Iterable[bytes]]) -> None:
        self._count = count
        self._size = size
        self._store = functools.cache(lambda: tuple(read()))
        self.added: tuple[bytes, ...] = ()
        """Segments that the store doesn't have yet."""

    @property
    def is_read(self) -> bool:
        return self._store.cache_info().currsize > 0

    @property
    def size(self) -> int:
        """In bytes."""
        return self._size + sum(map(len, self.added))

    def followed_by(self, more: tuple[bytes, ...]) -> StoredSegments:
        result = StoredSegments(self._count, self._size, tuple)
        result._store = self._store
        result.added = self.added + more
        return result

    def extends(self, other: Sequence[bytes]) -> bool:
        """Whether these are the segments of the other's store, and further ones."""
        return isinstance(other, StoredSegments) and other._store is self._store

    def __len__(self) -> int:
        return self._count + len(self.added)

    def __iter__(self) -> Iterator[bytes]:
        if self._count:
            yield from self._store()
        yield from self.added

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[bytes, ...]: ...
    def __getitem__(self, index: int | slice) -> bytes | tuple[bytes, ...]:
        return tuple(self)[index]


def with_segments(segments: Sequence[bytes], more: tuple[bytes, ...]) -> Sequence[bytes]:
    """The segments and further ones behind them. A store isn't read."""
    if isinstance(segments, StoredSegments):
        return segments.followed_by(more) if more else segments
    return (*segments, *more)


def size_of(segments: Sequence[bytes]) -> int:
    """In bytes. A store isn't read."""
    return segments.size if isinstance(segments, StoredSegments) else sum(map(len, segments))
