"""What is measured? workloads.toml as typed data; nothing here measures."""

from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).with_name("workloads.toml")
SECTION_NAMES = ("in-process", "load", "latency", "slow-sync", "start", "footprint")
"""The parts of a run, in the order in which they stand on the page."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of request. Targets are µs of server CPU per operation, for a Scan per item."""

    name: str
    title: str
    operation: str
    body: str
    target_memory_us: float
    target_disk_us: float
    at_first: str
    """The peers when the targets were set: Dynoxide · DynamoDB Local · dynalite, memory / disk."""
    keys: Literal["items", "twice", "partitions", "pages"] = "items"
    connections_max: int | None = None
    """At most so many connections, when fewer say the same: pages that are still unsent at the end of a run count for nothing."""
    is_in_growth_check: bool = False

    def connections(self, wanted: int) -> int:
        """How many connections it runs with where `wanted` are asked for."""
        return wanted if self.connections_max is None else min(wanted, self.connections_max)

    def target_us(self, kind: str) -> float:
        """The target of the mode: "memory" or "disk"."""
        return self.target_memory_us if kind == "memory" else self.target_disk_us


class Start(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Targets of start-up."""

    ready_ms_max: float
    idle_mb_max: float
    at_first: str


class Footprint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is loaded, and what it may occupy."""

    items: int
    item_bytes: int
    memory_mode_mb_max: float
    disk_mode_mb_max: float
    disk_size_mb_max: float
    at_first: str


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Targets of latency."""

    get_p99_ms_max: float
    put_p99_ms_max: float
    put_p999_ms_max: float


class SlowSync(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much slower a sync is made, and how many writes must still pass."""

    delay_us: int
    connections: int
    puts_per_second_min: float


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    table: str
    sort_keys_per_partition: int
    requests_prepared: int
    connections: tuple[int, ...]
    connections_compared: int
    item_bytes: tuple[int, ...]
    table_items: int
    table_items_full: int
    table_items_huge: int
    growth_ratio_max: float
    workload: tuple[Workload, ...]
    start: Start
    footprint: Footprint
    latency: Latency
    slow_sync: SlowSync

    def named(self, name: str) -> Workload:
        """The workload of that name; raises KeyError."""
        for workload in self.workload:
            if workload.name == name:
                return workload
        raise KeyError(name)


def read_plan() -> Plan:
    """The plan of workloads.toml; raises msgspec.ValidationError when it is not well-formed."""
    return msgspec.toml.decode(FILE.read_bytes(), type=Plan)
