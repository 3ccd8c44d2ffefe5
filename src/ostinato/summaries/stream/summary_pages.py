"""Keys of a bucket with their summaries <-> pages of bytes, so that a step reads and writes only what it touches.

An entry of the state store for each key is dear: each costs two calls to the JVM, a third of a millisecond. One for the
whole bucket is read and written for a single event. So a bucket's keys lie in pages of about `PAGE_BYTES`, by a hash of
the key. The bucket grows a page at a time (linear hashing): page n takes its keys from one earlier page, and no other
page is looked at. How many pages there are follows from the number of keys alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.expressions.values.value_order import group_numbers
from ostinato.streams.stored_state import Section, check, check_columns_are, read_batch, seal, unseal, whole_numbers

Ints = NDArray[np.int64]
PageReader = Callable[[int], bytes | None]
"""The number of a page -> its bytes, or None where it was never written."""

PAGE_BYTES = 1 << 17
"""Of summaries before compression, which leaves a fifth: large enough that calls don't count, small enough to touch."""
_HASH, _WIDE, _SUMMARY = "hash", "wide", "summary"
_PAGE = "a page of summaries in the state of this stream"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Keys with their hashes and summaries: those of a page, or of several. A row of `summaries` is that of a pool."""

    keys: tuple[pa.Array, ...]
    hashes: Ints
    summaries: Ints
    """Integers and the bits of doubles, [key, place]."""
    wide: tuple[bytes | None, ...]
    """Summaries whose counts outgrew doubles."""

    def __len__(self) -> int:
        return len(self.hashes)

    def taken(self, rows: Ints) -> KeyTable:
        chosen = pa.array(rows)
        keys = tuple(key.take(chosen) for key in self.keys)
        return KeyTable(keys, self.hashes[rows], self.summaries[rows], tuple(self.wide[row] for row in rows))


def joined_tables(tables: Sequence[KeyTable]) -> KeyTable:
    """All keys of one or more tables, which have none in common."""
    return KeyTable(
        tuple(pa.concat_arrays(parts) for parts in zip(*(table.keys for table in tables), strict=True)),
        np.concatenate([table.hashes for table in tables]),
        np.concatenate([table.summaries for table in tables]),
        tuple(state for table in tables for state in table.wide),
    )


def no_page(number: int) -> bytes | None:
    """Reads from a bucket that has nothing yet."""
    return None


# --- which page -------------------------------------------------------------------------------------------------------


def pages_for(keys: int, width: int) -> int:
    """How many pages a bucket with so many keys has; `width` is that of a summary, in numbers of 8 bytes."""
    per_page = max(1, PAGE_BYTES // (8 * width))
    return max(1, -(-keys // per_page))


def page_of(hashes: Ints, pages: int) -> Ints:
    """The page of each key where there are so many."""
    low = 1 << (pages.bit_length() - 1)
    at = hashes & (2 * low - 1)
    return np.where(at < pages, at, at & (low - 1))


def parents(before: int, after: int) -> set[int]:
    """The pages out of `before` whose keys may move when there are `after`."""
    return {_parent(page, before) for page in range(before, after)}


def _parent(page: int, before: int) -> int:
    while page >= before:
        page -= 1 << (page.bit_length() - 1)
    return page


def possible_pages(key_hash: int) -> list[int]:
    """Where a key may be, however many pages there are: in exactly one of these, if it is known."""
    return sorted({key_hash & ((1 << bits) - 1) for bits in range(32)})


# --- bytes ------------------------------------------------------------------------------------------------------------


def page_to_bytes(page: KeyTable) -> bytes:
    width = 8 * page.summaries.shape[1]
    rows = pa.py_buffer(np.ascontiguousarray(page.summaries))
    summaries = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(page), [None, rows])
    columns: Mapping[str, pa.Array] = {
        **{f"key{i}": key for i, key in enumerate(page.keys)},
        _HASH: pa.array(page.hashes),
        _WIDE: pa.array(page.wide, pa.binary()),
        _SUMMARY: summaries,
    }
    batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_COMPRESSED) as writer:
        writer.write_batch(batch)
    return seal(sink.getvalue().to_pybytes(), Section.SUMMARY_PAGE)


def page_from_bytes(data: bytes, width: int, key_types: Sequence[pa.DataType]) -> KeyTable:
    """Reads `page_to_bytes`. `width` is that of a summary, in numbers of 8 bytes."""
    batch = read_batch(unseal(data, Section.SUMMARY_PAGE, _PAGE), _PAGE)
    kinds = {f"key{i}": kind for i, kind in enumerate(key_types)}
    check_columns_are(batch, kinds | {_HASH: pa.int64(), _WIDE: pa.binary(), _SUMMARY: pa.binary(8 * width)}, _PAGE)
    summaries = batch.column(_SUMMARY)
    check(not summaries.null_count and not summaries.offset, _PAGE, "a summary is NULL")
    numbers = np.frombuffer(summaries.buffers()[1], np.int64, len(summaries) * width).reshape(len(summaries), width)
    keys = tuple(batch.column(name) for name in kinds)
    wide = tuple(batch.column(_WIDE).to_pylist())
    return KeyTable(keys, whole_numbers(batch.column(_HASH), _PAGE), numbers, wide)


# --- the keys of a step -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenedPages:
    """The keys that a step works with: those that have events, and all that share a page with them or must move."""

    table: KeyTable
    place: Ints
    """For each key that was asked for, where it is in the table."""
    keys: int
    """All keys of the bucket."""
    pages: int
    emptied: frozenset[int]
    """Pages that were read: all keys of one may have moved."""

    def written(self, summaries: Ints, wide: tuple[bytes | None, ...]) -> dict[int, bytes | None]:
        """The pages with new summaries; None for one that has no key any more."""
        table = KeyTable(self.table.keys, self.table.hashes, summaries, wide)
        page = page_of(table.hashes, self.pages)
        order = np.argsort(page, kind="stable")
        numbers, starts = np.unique(page[order], return_index=True)
        parts = np.split(order, starts[1:])
        found = {int(n): page_to_bytes(table.taken(rows)) for n, rows in zip(numbers, parts, strict=True)}
        return dict.fromkeys(self.emptied) | found


def open_pages(asked: KeyTable, keys: int, pages: int, read: PageReader) -> OpenedPages:
    """The summaries of the keys in `asked`, which has fresh ones for those that are new.

    `keys` and `pages` are what the bucket has so far.
    """
    width = asked.summaries.shape[1]
    if not keys:
        return OpenedPages(asked, np.arange(len(asked)), len(asked), pages_for(len(asked), width), frozenset())
    wanted = set(np.unique(page_of(asked.hashes, pages)).tolist())
    known = _read(wanted, pages, asked, read)
    table, place = merged_tables(list(known.values()), asked)
    keys += len(table) - sum(map(len, known.values()))
    after = pages_for(keys, width)
    moving = _read(parents(pages, after) - wanted, pages, asked, read)
    whole = joined_tables([table, *moving.values()])
    return OpenedPages(whole, place, keys, after, frozenset(known) | frozenset(moving))


def _read(numbers: set[int], pages: int, asked: KeyTable, read: PageReader) -> dict[int, KeyTable]:
    """Those that there are: a page without keys isn't written."""
    width, key_types = asked.summaries.shape[1], [key.type for key in asked.keys]
    found = ((number, read(number)) for number in sorted(numbers))
    tables = {number: page_from_bytes(data, width, key_types) for number, data in found if data is not None}
    for number, table in tables.items():
        check((page_of(table.hashes, pages) == number).all(), _PAGE, "a key is in the wrong page")
    return tables


def merged_tables(known: Sequence[KeyTable], asked: KeyTable) -> tuple[KeyTable, Ints]:
    """Known keys, then those asked for that are new; and for each that is asked for its place among them."""
    if not known:
        return asked, np.arange(len(asked))
    table = joined_tables(known)
    numbers = group_numbers(
        len(table) + len(asked),
        [pa.concat_arrays([old, new]) for old, new in zip(table.keys, asked.keys, strict=True)],
    )
    at = np.full(int(numbers.max()) + 1, -1)
    at[numbers[: len(table)]] = np.arange(len(table))
    place = at[numbers[len(table) :]]
    new = np.flatnonzero(place < 0)
    place[new] = len(table) + np.arange(len(new))
    return joined_tables([table, asked.taken(new)]), place
