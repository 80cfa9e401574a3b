"""Maintenance work requires a lease: a store used by one server leases everything forever,
and accepts no smaller lease.
"""

import math

import pytest

from hashrange.store.embedded import EmbeddedStore
from hashrange.store.interface import WHOLE_LEASE, Lease
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import WHOLE, HashRange
from tests.support.samples import finish

PART = Lease(HashRange(0, WHOLE.last // 2), math.inf)
FOR_A_WHILE = Lease(WHOLE, 1_800_000_000.0)


def test_the_lease_of_a_store_alone_is_everything(store: EmbeddedStore) -> None:
    assert store.maintenance.lease() == WHOLE_LEASE == Lease(HashRange(0, 2**64 - 1), math.inf)


@pytest.mark.parametrize("lease", [PART, FOR_A_WHILE])
def test_one_machine_does_no_part_of_its_work(store: EmbeddedStore, table: OpenTable, lease: Lease) -> None:
    with pytest.raises(AssertionError):
        finish(store.maintenance.backfill(table.source_id, lease, 10))
    with pytest.raises(AssertionError):
        finish(store.maintenance.apply_delayed(lease, 10))
    assert finish(store.maintenance.apply_delayed(store.maintenance.lease(), 10)) is None
    with pytest.raises(AssertionError):
        finish(store.maintenance.expire(lease, 10, lambda _: None))
    assert finish(store.maintenance.expire(store.maintenance.lease(), 10, lambda _: None)) is None
