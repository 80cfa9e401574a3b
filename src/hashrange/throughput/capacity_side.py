"""What must admit a read, or a write, of one table or global index? Its own bucket, and that of the partition which the key falls into.

    provisioned    a bucket of 300 seconds of the provisioned units
    on demand      a bucket of one second of twice the previous peak, and one of the maximum, if there is one
    partition      a bucket of one second of what a partition serves; with `shares`, 300 seconds of an equal share instead

Where the service publishes no rule, this is a model: docs/throughput.md.
"""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Literal

from hashrange.items.types import Key
from hashrange.limits import BURST_SECONDS, PARTITION_READ_UNITS, PARTITION_WRITE_UNITS, TABLE_UNITS_PER_SECOND_MAX
from hashrange.tables.open_table import OpenTable
from hashrange.tables.partitions import Partition
from hashrange.tables.schema import Index
from hashrange.tables.source_id import HASH_BYTES
from hashrange.tables.throttling import ThroughputLimit, throttling_error, usual_code
from hashrange.throughput.bucket import Bucket
from hashrange.throughput.growth import Growth

AdaptiveCapacity = Literal["instant", "shares", "off"]
"""How a table's units are spread over its partitions. `instant`: a partition may use whatever the table has left, up to what a partition
serves; `shares`: each has an equal share of provisioned units, as before 2018; `off`: partitions are not looked at."""


class CapacitySide:
    """Reads or writes of one table or global index."""

    __slots__ = (
        "_adaptive",
        "_bucket",
        "_buckets",
        "_growing",
        "_growth",
        "_index",
        "_is_write",
        "_lasts",
        "_partitions",
        "_table",
    )

    def __init__(
        self, table: OpenTable, index: Index | None, adaptive: AdaptiveCapacity, now_seconds: float, *, is_write: bool
    ) -> None:
        self._is_write, self._adaptive = is_write, adaptive
        self._bucket: Bucket | None = None
        """Of provisioned units, or of the on-demand maximum; None: neither."""
        self._growth: Growth | None = None
        """None: the table is provisioned."""
        self._growing: Bucket | None = None
        """The bucket that goes with `_growth`."""
        self._partitions: dict[int, Bucket] = {}
        """By number of the partition, in order of hashes."""
        self._lasts: list[bytes] = []
        """The last hash of each, as in keys; `_buckets` are those of the same places."""
        self._buckets: list[Bucket] = []
        self.follow(table, index, now_seconds)

    def follow(self, table: OpenTable, index: Index | None, now_seconds: float) -> None:
        """Take over the table's, and index's, present description. What buckets hold stays as far as possible."""
        self._table, self._index = table, index
        subject = table.schema if index is None else index
        if table.schema.billing_mode == "PROVISIONED":
            given = subject.throughput
            units = 0.0 if given is None else float(given.write_units if self._is_write else given.read_units)
            self._growth = self._growing = None
            self._bucket = _bucket(self._bucket, units, units * BURST_SECONDS, now_seconds)
        else:
            most = subject.on_demand_max_write_units if self._is_write else subject.on_demand_max_read_units
            if self._growth is None:
                least = (subject.warm_write_units if self._is_write else subject.warm_read_units) or 0
                before = 0.0 if self._bucket is None else self._bucket.rate
                parts = len(table.partitions[table.source_id])
                self._growth = Growth(max(least, before, parts * self._served), now_seconds)
            units = min(self._growth.units_per_second, TABLE_UNITS_PER_SECOND_MAX)
            self._growing = _bucket(self._growing, units, units, now_seconds)
            self._bucket = None if most is None else _bucket(self._bucket, most, most, now_seconds)
        self._follow_partitions(now_seconds)

    def describe(self, now_seconds: float) -> dict[str, object]:
        """What the buckets hold now, for the admin API: of the table or index, and of each partition by its number."""
        own = [one for one in (self._bucket, self._growing) if one is not None]
        return {
            "units_per_second": min([one.rate for one in own], default=None),
            "units_left": min([one.level(now_seconds) for one in own], default=None),
            "partitions": {str(number): one.level(now_seconds) for number, one in self._partitions.items()},
        }

    @property
    def _served(self) -> int:
        """Units a second that one partition serves."""
        return PARTITION_WRITE_UNITS if self._is_write else PARTITION_READ_UNITS

    def _follow_partitions(self, now_seconds: float) -> None:
        partitions: Sequence[Partition] = ()
        if self._adaptive != "off":
            source = self._table.read_source(None if self._index is None else self._index.name)
            partitions = () if source is None else self._table.partitions[source.source_id]
        rate, burst = float(self._served), float(self._served)
        if self._adaptive == "shares" and self._growth is None and partitions:
            assert self._bucket is not None
            rate = min(rate, self._bucket.rate / len(partitions))
            burst = rate * BURST_SECONDS
        self._partitions = {
            one.number: _bucket(self._partitions.get(one.number), rate, burst, now_seconds) for one in partitions
        }
        self._buckets = [*self._partitions.values()]
        self._lasts = [one.hashes.last.to_bytes(HASH_BYTES, "big") for one in partitions]

    def admit(self, key: Key | None, now_seconds: float) -> Bucket | None:
        """Raise the error of a throttled request unless all buckets admit one now. `key` None: of no certain partition.

        Returns the bucket of the partition, if there is one, for `take`.
        """
        bucket = self._bucket
        if bucket is not None and bucket.full_at_seconds - now_seconds >= bucket.empty_seconds:
            is_provisioned = self._growth is None
            self._refuse("ProvisionedThroughputExceeded" if is_provisioned else "MaxOnDemandThroughputExceeded")
        growing = self._growing
        if growing is not None and not growing.admits(now_seconds):
            is_most = growing.rate >= TABLE_UNITS_PER_SECOND_MAX
            self._refuse("AccountLimitExceeded" if is_most else "KeyRangeThroughputExceeded")
        buckets = self._buckets
        if key is None or not buckets:
            return None
        partition = buckets[bisect_left(self._lasts, key[:HASH_BYTES])] if len(buckets) > 1 else buckets[0]
        if partition.full_at_seconds - now_seconds >= partition.empty_seconds:
            self._refuse("KeyRangeThroughputExceeded")
        return partition

    def take(self, partition: Bucket | None, units: float, now_seconds: float) -> None:
        """Use units of the table or index, and of a partition, if any is given."""
        bucket = self._bucket
        if bucket is not None:
            full_at_seconds = bucket.full_at_seconds  # as `Bucket.take` does; this is done for every request
            begin_seconds = full_at_seconds if full_at_seconds > now_seconds else now_seconds  # noqa: FURB136 - `max` takes twice as long
            bucket.full_at_seconds = begin_seconds + units * bucket.seconds_per_unit
        if partition is not None:
            full_at_seconds = partition.full_at_seconds
            begin_seconds = full_at_seconds if full_at_seconds > now_seconds else now_seconds  # noqa: FURB136 - `max` takes twice as long
            partition.full_at_seconds = begin_seconds + units * partition.seconds_per_unit
        if self._growing is not None:
            assert self._growth is not None
            self._growing.take(units, now_seconds)
            if self._growth.use(units, now_seconds):
                most = min(self._growth.units_per_second, TABLE_UNITS_PER_SECOND_MAX)
                self._growing.change(most, most, now_seconds)

    def partition(self, key: Key) -> Bucket | None:
        """The bucket of the partition that the key falls into; None if partitions are not looked at."""
        buckets = self._buckets
        if not buckets:
            return None
        return buckets[bisect_left(self._lasts, key[:HASH_BYTES])] if len(buckets) > 1 else buckets[0]

    def _refuse(self, limit: ThroughputLimit) -> None:
        name = None if self._index is None else self._index.name
        raise throttling_error(self._table, name, usual_code(self._table, limit), limit, is_write=self._is_write)


def _bucket(former: Bucket | None, rate: float, burst: float, now_seconds: float) -> Bucket:
    """The bucket of this rate and burst: a new, full one, or the former one, changed."""
    if former is None:
        return Bucket(rate, burst, now_seconds)
    former.change(rate, burst, now_seconds)
    return former
