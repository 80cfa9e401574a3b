"""Which reads fill the cache: all reads of a small store, some of a large one; results are the same."""

from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hashrange.items.types import Key
from hashrange.store.embedded.admission import KEPT_READS, STORE_SIZE, Admission
from hashrange.store.embedded.engine import cache_bytes
from hashrange.store.embedded.opening import open_store
from hashrange.store.interface import TransactionStep
from tests.support.clocks import VirtualClock
from tests.support.samples import finish, row_of, table_maker


class Sized:
    """A stub engine that reports `size_bytes` as its size."""

    def __init__(self, size_bytes: int | None) -> None:
        self.size_bytes = size_bytes

    def property_int_value(self, name: str) -> int | None:
        """The size, the only property that is read."""
        assert name == STORE_SIZE
        return self.size_bytes


class Watched:
    """An engine that records the read options of each read of one row."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.options: list[object] = []

    def get(self, key: bytes, default: object = None, options: object = None) -> object:
        """Read the row, and record the options."""
        self.options.append(options)
        return self.engine.get(key, default, options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


def kept(admission: Admission, reads: int) -> tuple[int, int]:
    """The numbers of row reads and span reads, out of `reads` each, that fill the cache."""
    rows = sum(admission.read_options() is None for _ in range(reads))
    return rows, sum(admission.is_kept() for _ in range(reads))


def test_everything_is_kept_while_it_fits() -> None:
    admission = Admission(is_in_memory=False)
    assert kept(admission, 24) == (24, 24)
    for size_bytes in (None, 0, cache_bytes(is_in_memory=False)):
        admission.look(Sized(size_bytes))
        assert kept(admission, 24) == (24, 24)


def test_some_is_kept_of_a_store_that_does_not_fit() -> None:
    for is_in_memory in (True, False):
        admission = Admission(is_in_memory=is_in_memory)
        admission.look(Sized(cache_bytes(is_in_memory=is_in_memory) + 1))
        assert kept(admission, 3 * KEPT_READS) == (3, 3)
        admission.look(Sized(1000))
        assert kept(admission, 24) == (24, 24)


def test_a_read_that_is_not_kept_reads_the_same(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "data"), VirtualClock(), None)
    try:
        table = finish(store.catalog.create(table_maker("t")))
        assert table is not None
        rows = {Key(b"%03d" % number): row_of(10, b"%d" % number) for number in range(40)}
        for key, row in rows.items():
            finish(store.mutate(table, key, partial(lambda row, _: row, row)))
        store.engine.flush(True)
        store.site.reads.admission.look(Sized(1 << 40))
        for _ in range(KEPT_READS + 1):
            for key, row in islice(rows.items(), 5):
                assert finish(store.get(table.source_id, key, consistent=True)) == row
            assert finish(store.snapshot_get([(table, key) for key in rows], 10**6)) == list(rows.values())
    finally:
        store.close_now()


def test_rows_about_to_be_replaced_are_always_kept(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "data"), VirtualClock(), None)
    table = finish(store.catalog.create(table_maker("t")))
    assert table is not None
    store.site.reads.admission.look(Sized(1 << 40))
    store.site.engine = Watched(store.engine)
    for number in range(KEPT_READS + 1):
        row = row_of(10, b"%d" % number)
        finish(store.mutate(table, Key(b"k"), lambda _, row=row: row))  # type: ignore[misc]
        finish(store.transact([TransactionStep(table, Key(b"l"), lambda _, row=row: row)], None))  # type: ignore[misc]
        store.site.reads.clear()
    assert store.engine.options == [None] * 2 * (KEPT_READS + 1)
    for _ in range(KEPT_READS):
        store.site.reads.clear()
        finish(store.get(table.source_id, Key(b"k"), consistent=True))
    assert store.engine.options.count(None) < len(store.engine.options)
    store.site.engine = store.engine.engine
    store.close_now()
