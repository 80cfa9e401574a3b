"""What must admit a read, or a write, of one table or global index?
Its own bucket, and that of the partition which the key falls into.

    provisioned    a bucket of 300 seconds of the provisioned units
    on demand      a bucket of one second of twice the previous peak, and one of the maximum, if there is one
    partition      a bucket of one second of what a partition serves;
                   with `shares`, 300 seconds of an equal share instead

    hot item       with `instant`, a bucket like that of a partition, once the item has been isolated (`hot_items.py`)

Where the service publishes no rule, this is a model: docs/throughput.md.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, inf
from typing import NamedTuple

from hashrange.items.types import Key
from hashrange.limits import (
    BURST_SECONDS,
    ON_DEMAND_WARM_READ_UNITS,
    ON_DEMAND_WARM_WRITE_UNITS,
    PARTITION_READ_UNITS,
    PARTITION_WRITE_UNITS,
    TABLE_CAPACITY_UNITS_MAX,
)
from hashrange.settings import AdaptiveSetting
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Index, Table
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.throttling import SeeThrottled, ThrottleEvent, ThroughputLimit, throttling_error, usual_code
from hashrange.throughput.bucket import Bucket, Growth
from hashrange.throughput.hot_items import HotItems

WantPartitions = Callable[[bytes, int], None]
"""Source id, and the number of partitions that an on-demand table or index needs for what it may use now."""
SeeBlocked = Callable[[float], None]
"""Is told when a bucket is empty, and until which moment if nobody uses more."""


class SideTerms(NamedTuple):
    """What holds for the reads and the writes of a table or index alike."""

    adaptive: AdaptiveSetting
    """How a table's units are spread over its partitions. `instant`: a partition may use whatever the table has left,
    up to what a partition serves; `shares`: each has an equal share of provisioned units, as before 2019;
    `off`: partitions are not looked at."""
    see_throttled: Sequence[SeeThrottled] = ()
    want_partitions: WantPartitions = lambda source_id, count: None
    see_blocked: SeeBlocked = lambda until_seconds: None


class CapacitySide:
    """Reads or writes of one table or global index: of which one, `follow` is told before anything else."""

    def __init__(self, terms: SideTerms, *, is_write: bool) -> None:
        self._terms, self._is_write = terms, is_write
        self._bucket: Bucket | None = None
        """Of provisioned units, or of the on-demand maximum; None: neither."""
        self._growth: Growth | None = None
        """None: the table is provisioned."""
        self._growing: Bucket | None = None
        """The bucket that goes with `_growth`."""
        self._partitions: dict[int, Bucket] = {}
        """By number of the partition, in order of hashes."""
        self._begins: list[bytes] = []
        """The first hash of each but the first, as in keys; `_buckets` are those of all."""
        self._buckets: list[Bucket] = []
        self._only: Bucket | None = None
        """The bucket of the only partition; None if there are several, or none."""
        self._hot_items = HotItems()
        self._isolated = self._hot_items.buckets
        self._usual: Bucket | None = None
        """The bucket of provisioned units if there are partitions, and no item is isolated; otherwise None."""
        self.blocked_until_seconds = -inf
        """Until then a bucket is empty, so `admit` has to look at all; after it, every request is admitted."""
        self.table_side: CapacitySide | None = None
        """On the side of a global index's writes: the side of its table's writes."""
        self.indexes_blocked_until_seconds = -inf
        """On the side of a table's writes: the time until which one of the table's global indexes may refuse a
        write."""

    def follow(self, table: OpenTable, index: Index | None, now_seconds: float, shown: Table | None = None) -> None:
        """Take over the table's, and index's, present description. What buckets hold stays as far as possible.

        `shown`: the description whose units hold now, if the table is UPDATING (`tables.states.shown_table`).
        """
        self.table, self._index = table, index
        self._source = table.read_source(None if index is None else index.name)
        subject: Table | Index = table.schema if index is None else index
        if shown is not None:
            subject = shown if index is None else next(one for one in shown.indexes if one.name == index.name)
        if table.schema.billing_mode == "PROVISIONED":
            given = subject.throughput
            assert given is not None, "a provisioned table has units, and so has each of its global indexes"
            units = float(given.write_units if self._is_write else given.read_units)
            if self._growing is not None:
                # What is left on demand stays, so that a switch gives nothing; a debt does not.
                former = [one for one in (self._bucket, self._growing) if one is not None]
                left = max(0.0, min([one.level(now_seconds) for one in former]))
                self._bucket = Bucket(units, units * BURST_SECONDS, now_seconds)
                self._bucket.take(max(0.0, units * BURST_SECONDS - left), now_seconds)
            self._growth = self._growing = None
            self._bucket = _bucket(self._bucket, units, units * BURST_SECONDS, now_seconds)
        else:
            most = subject.on_demand_max_write_units if self._is_write else subject.on_demand_max_read_units
            least = self._least_on_demand()
            if self._growth is None:
                before = 0.0 if self._bucket is None else self._bucket.rate
                self._growth, self._bucket = Growth(max(least, before), now_seconds), None
            self._growth.serve_at_least(least)
            units = min(self._growth.units_per_second, TABLE_CAPACITY_UNITS_MAX)
            self._growing = _bucket(self._growing, units, units, now_seconds)
            self._bucket = None if most is None else _bucket(self._bucket, most, most, now_seconds)
        self._follow_partitions(now_seconds)
        self.blocked_until_seconds = -inf
        for bucket in self._all_buckets():
            self._look_at(bucket, now_seconds)

    def belong_to(self, table_side: "CapacitySide") -> None:
        """Let the writes of a global index tell those of its table from now on when they are blocked."""
        self.table_side = table_side
        if self.blocked_until_seconds > -inf:
            self._block(self.blocked_until_seconds)

    def _look_at(self, bucket: Bucket, now_seconds: float) -> None:
        """Note if a bucket is empty that has been changed or used."""
        if not bucket.admits(now_seconds):
            self._block(bucket.empty_until_seconds)

    def _block(self, until_seconds: float) -> None:
        """Note that a bucket is empty until this moment."""
        self._terms.see_blocked(until_seconds)
        self.blocked_until_seconds = max(self.blocked_until_seconds, until_seconds)
        table_side = self.table_side
        if table_side is not None:
            table_side.indexes_blocked_until_seconds = max(table_side.indexes_blocked_until_seconds, until_seconds)

    def _least_on_demand(self) -> float:
        """Units a second that are served whatever was used before: those of a new table,
        or of warm throughput, or of the partitions.
        """
        subject = self.table.schema if self._index is None else self._index
        warm = (subject.warm_write_units if self._is_write else subject.warm_read_units) or 0
        new = ON_DEMAND_WARM_WRITE_UNITS if self._is_write else ON_DEMAND_WARM_READ_UNITS
        return float(max(warm, new, len(self._partitions_now()) * self._served))

    def _all_buckets(self) -> list[Bucket]:
        own = [one for one in (self._bucket, self._growing) if one is not None]
        return [*own, *self._buckets, *self._isolated.values()]

    def describe(self, now_seconds: float) -> dict[str, object]:
        """What the buckets hold now, for the admin API: of the table or index, and of each partition by its number."""
        own = [one for one in (self._bucket, self._growing) if one is not None]
        return {
            "units_per_second": min([one.rate for one in own], default=None),
            "units_left": min([one.level(now_seconds) for one in own], default=None),
            "partitions": {str(number): one.level(now_seconds) for number, one in self._partitions.items()},
            "isolated_items": len(self._isolated),
        }

    @property
    def _served(self) -> int:
        """Units a second that one partition serves."""
        return PARTITION_WRITE_UNITS if self._is_write else PARTITION_READ_UNITS

    def _partitions_now(self) -> Sequence[Partition]:
        """The partitions of the table or index, in order of hashes."""
        return () if self._source is None else self.table.partitions[self._source.source_id]

    @property
    def _may_isolate(self) -> bool:
        """True if an item may have a partition of its own.
        Items of a table with local indexes stay with their collection.
        """
        return self._terms.adaptive == "instant" and (
            self._index is not None or all(one.index is None or one.index.is_global for one in self.table.indexes)
        )

    def _follow_partitions(self, now_seconds: float) -> None:
        partitions = () if self._terms.adaptive == "off" else self._partitions_now()
        if [one.number for one in partitions] != list(self._partitions):
            self._hot_items.forget_partitions()
        rate, burst = float(self._served), float(self._served)
        if self._terms.adaptive == "shares" and self._growth is None and partitions:
            assert self._bucket is not None
            rate = min(rate, self._bucket.rate / len(partitions))
            burst = rate * BURST_SECONDS
        self._partitions = {
            one.number: _bucket(self._partitions.get(one.number), rate, burst, now_seconds) for one in partitions
        }
        self._buckets = [*self._partitions.values()]
        self._only = self._buckets[0] if len(self._buckets) == 1 else None
        self._begins = [one.hashes.first.to_bytes(HASH_BYTES, "big") for one in partitions[1:]]
        self._usual = self._bucket if self._growth is None and partitions and not self._isolated else None

    def admit(self, key: Key, now_seconds: float, operation: str, *, is_item: bool = True) -> None:
        """Raise the error of a throttled request for the item at `key` unless all buckets admit one now.
        `operation`: the name of the request's. `is_item`: False for a page that begins at this key, or at the begin of
        its hash.
        """
        if now_seconds > self.blocked_until_seconds:
            return
        if self._bucket is not None and not self._bucket.admits(now_seconds):
            is_provisioned = self._growth is None
            limit: ThroughputLimit = (
                "ProvisionedThroughputExceeded" if is_provisioned else "MaxOnDemandThroughputExceeded"
            )
            self._refuse(limit, key, operation)
        growing = self._growing
        if growing is not None and not growing.admits(now_seconds):
            is_most = growing.rate >= TABLE_CAPACITY_UNITS_MAX
            self._refuse("AccountLimitExceeded" if is_most else "KeyRangeThroughputExceeded", key, operation)
        partition = self._partition(key)
        if partition is not None and not partition.admits(now_seconds):
            if is_item and self._may_isolate and key not in self._isolated:
                self._hot_items.refused(key, partition, now_seconds)
                self._usual = None if self._isolated else self._usual
            self._refuse("KeyRangeThroughputExceeded", key, operation)

    def take(self, key: Key, units: float, now_seconds: float) -> None:
        """Use units of the table or index, and of the partition that the key falls into.
        0.15 µs for provisioned units.
        """
        bucket = self._usual
        if bucket is None:
            self.take_of_source(units, now_seconds)
            self.take_of_partition(key, units, now_seconds)
            return
        partition = self._only or self._buckets[bisect_right(self._begins, key)]
        bucket_full, partition_full = bucket.full_at_seconds, partition.full_at_seconds
        if bucket_full < now_seconds:  # noqa: PLR1730 - as `Bucket.take` does; `max` takes twice as long
            bucket_full = now_seconds
        if partition_full < now_seconds:  # noqa: PLR1730
            partition_full = now_seconds
        bucket.full_at_seconds = bucket_full = bucket_full + units * bucket.seconds_per_unit
        partition.full_at_seconds = partition_full = partition_full + units * partition.seconds_per_unit
        if bucket_full - now_seconds >= bucket.empty_seconds or partition_full - now_seconds >= partition.empty_seconds:
            self._block(max(bucket.empty_until_seconds, partition.empty_until_seconds))

    def take_of_source(self, units: float, now_seconds: float) -> None:
        """Use units of the table or index, and of no partition."""
        if self._bucket is not None:
            self._bucket.take(units, now_seconds)
            self._look_at(self._bucket, now_seconds)
        if self._growing is not None:
            self._take_on_demand(units, now_seconds)

    def take_of_partition(self, key: Key, units: float, now_seconds: float) -> None:
        """Use units of the partition alone that the key falls into."""
        partition = self._partition(key)
        if partition is not None:
            partition.take(units, now_seconds)
            self._look_at(partition, now_seconds)

    def take_of_span(self, lower: bytes, upper: bytes, units: float, now_seconds: float) -> None:
        """Use units of the partitions alone that the keys from `lower` to `upper` fall into,
        each in proportion to its hashes in between.
        """
        buckets = self._buckets
        if not buckets:
            return
        low, high = lower[:HASH_BYTES].ljust(HASH_BYTES, b"\0"), upper[:HASH_BYTES].ljust(HASH_BYTES, b"\xff")
        first = bisect_right(self._begins, low)
        last = max(bisect_right(self._begins, high), first)
        ends = [int.from_bytes(end, "big") for end in (low, *self._begins[first:last], high)]
        width = max(ends[-1] - ends[0], 1)
        for bucket, (begin, end) in zip(buckets[first : last + 1], pairwise(ends), strict=True):
            bucket.take(units if first == last else units * (end - begin) / width, now_seconds)
            self._look_at(bucket, now_seconds)

    def _take_on_demand(self, units: float, now_seconds: float) -> None:
        growing, growth = self._growing, self._growth
        assert growing is not None
        assert growth is not None
        growing.take(units, now_seconds)
        if growth.use(units, now_seconds):
            most = min(growth.units_per_second, TABLE_CAPACITY_UNITS_MAX)
            growing.change(most, most, now_seconds)
            self._grow_partitions(most)
        self._look_at(growing, now_seconds)

    def _grow_partitions(self, units_per_second: float) -> None:
        """Ask for the partitions that serve `units_per_second`, if there are fewer."""
        needed = ceil(units_per_second / self._served)
        if self._source is not None and len(self._partitions_now()) < needed:
            self._terms.want_partitions(self._source.source_id, needed)

    def _partition(self, key: Key) -> Bucket | None:
        """The bucket of the partition that the key falls into, or of its item alone;
        None if partitions are not looked at.
        """
        if not self._buckets:
            return None
        if self._isolated and (own := self._isolated.get(key)) is not None:
            return own
        return self._buckets[bisect_right(self._begins, key)]

    def _refuse(self, limit: ThroughputLimit, key: Key, operation: str) -> None:
        name = None if self._index is None else self._index.name
        for see in self._terms.see_throttled:
            see(ThrottleEvent(self.table, name, limit, self._is_write, key, operation))
        raise throttling_error(self.table, name, usual_code(self.table, limit), limit, is_write=self._is_write)


def _bucket(former: Bucket | None, rate: float, burst: float, now_seconds: float) -> Bucket:
    """The bucket of this rate and burst: a new, full one, or the former one, changed."""
    if former is None:
        return Bucket(rate, burst, now_seconds)
    former.change(rate, burst, now_seconds)
    return former
