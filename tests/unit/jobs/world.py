"""A table whose indexes are added and deleted, without a server: requests by name, jobs run by hand,
a clock that the test moves.
"""

import shutil
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hashrange.backups.copying import RowCopying
from hashrange.errors import ApiError
from hashrange.jobs.job import AT_ONCE, Job
from hashrange.jobs.store_jobs import jobs_of
from hashrange.limits import PARTITION_SIZE_MAX_BYTES
from hashrange.operations.registry import OPERATIONS
from hashrange.settings import Settings
from hashrange.soon import Soon
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.embedded.check import check_store
from hashrange.store.embedded.participant import Options
from hashrange.store.interface import WholeStore, local_maintenance_of
from hashrange.tables.change import Change
from hashrange.tables.open_table import OpenTable
from tests.support.asking import run_operation
from tests.support.clocks import SetClock, VirtualClock
from tests.support.kills import copy_as_killed
from tests.support.scopes import scope_of
from tests.support.stores import as_distributed

TABLE = "orders"
Item = dict[str, Any]
Steered = VirtualClock | SetClock


def drive(soon: Soon[Any]) -> Any:
    """Run to the end, ignoring where it gives way."""
    if not isinstance(soon, Coroutine):
        return soon
    while True:
        try:
            waits_for = soon.send(None)
        except StopIteration as stop:
            return stop.value
        assert waits_for is None


class World:
    """The table `orders` with the key `id` (S), in a store of one kind."""

    def __init__(
        self,
        data_dir: Path | None,
        *,
        is_suspending: bool = False,
        delay_seconds: float = 0.0,
        index_delay: Callable[[], float] | None = None,
        clock: Steered | None = None,
        ttl_delay_seconds: float = 0.0,
        partition_size_max_bytes: int = PARTITION_SIZE_MAX_BYTES,
        recovery_max_bytes: int = 10**9,
    ) -> None:
        self.data_dir = None if data_dir is None else str(data_dir)
        self.is_suspending = is_suspending
        self.settings = Settings(table_state_delay_seconds=delay_seconds)
        self.index_delay = index_delay
        self.ttl_delay_seconds = ttl_delay_seconds
        self.partition_size_max_bytes = partition_size_max_bytes
        self.recovery_max_bytes = recovery_max_bytes
        self.clock: Steered = clock or VirtualClock()
        self.deletions: list[Sequence[Change]] = []
        """The changes of each commit that was to delete expired items."""
        self.open()
        self.create_table()
        self.clock.advance(delay_seconds)

    def create_table(self) -> None:
        """Create the table, without indexes and streams."""
        self.ask(
            "CreateTable",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def open(self) -> None:
        self.embedded: EmbeddedStore = open_store(
            self.data_dir,
            self.clock,
            None,
            Options(
                self.index_delay,
                ttl_delay_seconds=self.ttl_delay_seconds,
                partition_size_max_bytes=self.partition_size_max_bytes,
                recovery_max_bytes=self.recovery_max_bytes,
            ),
        )
        self.store: WholeStore = as_distributed(self.embedded, 3) if self.is_suspending else self.embedded
        self.scope = scope_of(self.store, self.clock, self.settings)
        jobs = {job.name: job for job in jobs_of(self.store, self.clock, self.deletions.append)}
        self.job = jobs["index backfill"]
        self.delay_job = jobs["index delay"]
        self.expiry_job = jobs["expiry"]
        self.shards_job = jobs["stream shards"]
        self.splits_job = jobs["partition splits"]
        self.recovery_job = jobs["recovery windows"]
        self.copying = RowCopying(self.store, self.clock, lambda _account, _region: self.scope)

    def restart(self) -> None:
        """Close and reopen the store; only on disk."""
        assert self.data_dir is not None
        self.embedded.close_now()
        self.open()

    def kill(self) -> None:
        """Continue with a copy of the folder's current files, as after a kill; only on disk."""
        assert self.data_dir is not None
        killed, folder = self.embedded, self.data_dir
        self.data_dir = folder + "-"
        copy_as_killed(Path(folder), Path(self.data_dir))
        self.open()
        killed.close_now()
        shutil.rmtree(folder)

    def close(self) -> list[str]:
        """Close the store; return the faults that the offline check finds."""
        self.embedded.close_now()
        return [] if self.data_dir is None else check_store(self.data_dir, clock=self.clock).faults

    def ask(self, name: str, **members: Any) -> Any:
        """The reply to an operation on the table."""
        return self.request(name, **({"TableName": TABLE} | members))

    def request(self, name: str, **members: Any) -> Any:
        """The reply to an operation."""
        operation = OPERATIONS[name]
        request: Any = msgspec.convert(members, operation.request)
        return drive(run_operation(self.scope, operation, request))

    def refusal(self, name: str, **members: Any) -> tuple[str, str | None]:
        """Error code and message of a refused operation on the table."""
        try:
            reply = self.ask(name, **members)
        except ApiError as error:
            return error.code, error.message
        raise AssertionError(reply)

    def put(self, count: int, **attributes: Any) -> None:
        """Put the items 0 to `count` - 1, spread over five statuses."""
        for number in range(count):
            self.ask("PutItem", Item=item(number) | attributes)

    def create(self, name: str = "by-status", key: str = "status", **members: Any) -> Any:
        """Add an index by UpdateTable; return the table's description."""
        action = {
            "IndexName": name,
            "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        } | members
        return self.ask(
            "UpdateTable",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
            GlobalSecondaryIndexUpdates=[{"Create": action}],
        )["TableDescription"]

    def delete(self, name: str = "by-status") -> Any:
        """Delete an index by UpdateTable; return the table's description."""
        updates = [{"Delete": {"IndexName": name}}]
        return self.ask("UpdateTable", GlobalSecondaryIndexUpdates=updates)["TableDescription"]

    def slice(self) -> float | None:
        """Run one slice of the backfill job; return the pause that it requests."""
        pause_seconds: float | None = drive(self.job.run_slice())
        return pause_seconds

    def finish(self) -> int:
        """Run the backfill job until nothing is left to do; return the number of slices."""
        slices = 0
        while self.slice() is not None:
            slices += 1
        return slices

    def apply(self) -> float | None:
        """Run the index delay job until nothing is due; return the pause that it requests."""
        return _until_done(self.delay_job)

    def expire(self) -> float | None:
        """Run the expiry job until nothing is due; return the pause that it requests."""
        return _until_done(self.expiry_job)

    def expire_now(self, name: str | None = None) -> int:
        """Delete the expired items of one table or of all tables; return their number."""
        table = None if name is None else self.store.catalog.find(self.scope.account, self.scope.region, name)
        count: int = drive(self.expiring(table))
        return count

    def expiring(self, table: OpenTable | None = None) -> Coroutine[Any, Any, int]:
        """What deletes the expired items of one table or of all tables."""
        maintenance = local_maintenance_of(self.store)
        return maintenance.expire_now(table, self.deletions.append)

    def tend(self) -> float | None:
        """Run the stream shard job until nothing is due; return the pause that it requests."""
        return _until_done(self.shards_job)

    def split(self) -> float | None:
        """Run the job that splits partitions until no grown one is left; return the pause that it requests."""
        return _until_done(self.splits_job)

    def copy(self) -> float | None:
        """Run the job that moves rows into backups and restored tables until nothing is left to do; return the pause
        that it requests.
        """
        while (pause_seconds := drive(self.copying.run_slice())) == AT_ONCE:
            pass
        return pause_seconds  # type: ignore[no-any-return]

    def described(self) -> Any:
        return self.ask("DescribeTable")["Table"]

    def index(self, name: str = "by-status") -> Any:
        """The index in DescribeTable's reply, or None."""
        indexes = self.described().get("GlobalSecondaryIndexes", [])
        return next((index for index in indexes if index["IndexName"] == name), None)

    def entries(self, name: str = "by-status") -> dict[str, Item]:
        """Item id → entry, for the whole index."""
        return {entry["id"]["S"]: entry for entry in self.ask("Scan", IndexName=name)["Items"]}


def _until_done(job: Job) -> float | None:
    while True:
        pause_seconds: float | None = drive(job.run_slice())
        if pause_seconds is None or pause_seconds > 0:
            return pause_seconds


def item(number: int) -> Item:
    return {"id": {"S": f"o{number}"}, "status": {"S": f"s{number % 5}"}, "n": {"N": str(number)}}
