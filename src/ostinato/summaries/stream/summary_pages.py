"""Keys of a bucket with their summaries <-> pages of bytes. A step reads and writes only the pages of its keys.

With one entry of the state store for each key, every key would cost two calls to the JVM: a third of a millisecond.
With one entry for the bucket, a single event would read and write all of it. So a bucket's keys are stored in pages of
about `PAGE_BYTES`, by a hash of the key. The bucket grows by one page at a time (linear hashing): a new page takes its
keys from one earlier page. The number of pages depends on the number of keys only.
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
"""The number of a page -> its bytes, or None if it was never written."""

PAGE_BYTES = 1 << 17
"""Size of the summaries of a page before compression, which leaves a fifth. Larger pages make small steps slow, and
smaller ones need more calls to the JVM."""
_HASH, _WIDE, _SUMMARY = "hash", "wide", "summary"
_PAGE = "a page of summaries in the state of this stream"
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class KeyTable:
    """The keys of one or more pages, with their hashes and summaries."""

    keys: tuple[pa.Array, ...]
    hashes: Ints
    summaries: Ints
    """A row for each key, as in `PooledSummaries.rows`."""
    wide: tuple[bytes | None, ...]
    """Summaries whose counts overflow doubles. Their rows have no meaning."""

    def __len__(self) -> int:
        return len(self.hashes)

    def taken(self, rows: Ints) -> KeyTable:
        chosen = pa.array(rows)
        keys = tuple(key.take(chosen) for key in self.keys)
        return KeyTable(keys, self.hashes[rows], self.summaries[rows], tuple(self.wide[row] for row in rows))


def joined_tables(tables: Sequence[KeyTable]) -> KeyTable:
    """All keys of one or more tables that have no key in common."""
    return KeyTable(
        tuple(pa.concat_arrays(columns) for columns in zip(*(table.keys for table in tables), strict=True)),
        np.concatenate([table.hashes for table in tables]),
        np.concatenate([table.summaries for table in tables]),
        tuple(state for table in tables for state in table.wide),
    )


def no_page(number: int) -> bytes | None:
    """The page reader of a new bucket."""
    return None


# --- page numbers -----------------------------------------------------------------------------------------------------


def pages_for(keys: int, width: int) -> int:
    """The number of pages of a bucket. `width`: the size of a summary, in numbers of 8 bytes."""
    per_page = max(1, PAGE_BYTES // (8 * width))
    return max(1, -(-keys // per_page))


def page_of(hashes: Ints, pages: int) -> Ints:
    """The page of each key in a bucket of `pages` pages."""
    low = 1 << (pages.bit_length() - 1)
    at = hashes & (2 * low - 1)
    return np.where(at < pages, at, at & (low - 1))


def parents(before: int, after: int) -> set[int]:
    """The pages whose keys may move when a bucket of `before` pages grows to `after` pages."""
    return {_parent(page, before) for page in range(before, after)}


def _parent(page: int, before: int) -> int:
    while page >= before:
        page -= 1 << (page.bit_length() - 1)
    return page


def possible_pages(key_hash: int) -> list[int]:
    """The pages that may hold a key, for any number of pages. A known key is in exactly one of them."""
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
    """Reads `page_to_bytes`. `width`: the size of a summary, in numbers of 8 bytes."""
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
    """The pages that a step works with: those of its keys, and those whose keys move to new pages."""

    table: KeyTable
    """All keys of these pages."""
    rows: Ints
    """For each key of the step, its row in the table."""
    keys: int
    """Number of keys of the bucket."""
    pages: int
    """Number of pages of the bucket."""
    emptied: frozenset[int]
    """Numbers of the pages that were read. All keys of such a page may have moved."""

    def written(self, summaries: Ints, wide: tuple[bytes | None, ...]) -> dict[int, bytes | None]:
        """The pages with new summaries. None: the page has no keys any more."""
        table = KeyTable(self.table.keys, self.table.hashes, summaries, wide)
        page = page_of(table.hashes, self.pages)
        order = np.argsort(page, kind="stable")
        numbers, starts = np.unique(page[order], return_index=True)
        rows_of_pages = np.split(order, starts[1:])
        pages = {int(n): page_to_bytes(table.taken(rows)) for n, rows in zip(numbers, rows_of_pages, strict=True)}
        return dict.fromkeys(self.emptied) | pages


def open_pages(step_keys: KeyTable, keys: int, pages: int, read: PageReader) -> OpenedPages:
    """The pages of a step's keys. `step_keys` has an empty summary for each key; stored summaries replace them.

    `keys` and `pages`: the bucket's numbers before the step.
    """
    width, count = step_keys.summaries.shape[1], len(step_keys)
    if not keys:
        return OpenedPages(step_keys, np.arange(count), count, pages_for(count, width), frozenset())
    numbers = set(np.unique(page_of(step_keys.hashes, pages)).tolist())
    stored = _read(numbers, pages, step_keys, read)
    table, rows = merged_tables(list(stored.values()), step_keys)
    keys += len(table) - sum(map(len, stored.values()))
    pages_after = pages_for(keys, width)
    moving = _read(parents(pages, pages_after) - numbers, pages, step_keys, read)
    table = joined_tables([table, *moving.values()])
    return OpenedPages(table, rows, keys, pages_after, frozenset(stored) | frozenset(moving))


def _read(numbers: set[int], pages: int, step_keys: KeyTable, read: PageReader) -> dict[int, KeyTable]:
    """The stored pages among these numbers. Pages without keys aren't stored."""
    width, key_types = step_keys.summaries.shape[1], [key.type for key in step_keys.keys]
    stored = ((number, read(number)) for number in sorted(numbers))
    tables = {number: page_from_bytes(data, width, key_types) for number, data in stored if data is not None}
    for number, table in tables.items():
        check((page_of(table.hashes, pages) == number).all(), _PAGE, "a key is in the wrong page")
    return tables


def merged_tables(stored: Sequence[KeyTable], step_keys: KeyTable) -> tuple[KeyTable, Ints]:
    """The stored keys followed by the new ones, and for each of `step_keys` its row among them."""
    if not stored:
        return step_keys, np.arange(len(step_keys))
    table = joined_tables(stored)
    numbers = group_numbers(
        len(table) + len(step_keys),
        [pa.concat_arrays([old, new]) for old, new in zip(table.keys, step_keys.keys, strict=True)],
    )
    row_of_number = np.full(int(numbers.max()) + 1, -1)
    row_of_number[numbers[: len(table)]] = np.arange(len(table))
    rows = row_of_number[numbers[len(table) :]]
    new = np.flatnonzero(rows < 0)
    rows[new] = len(table) + np.arange(len(new))
    return joined_tables([table, step_keys.taken(new)]), rows
