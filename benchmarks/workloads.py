"""What is measured? workloads.toml as typed data; nothing here measures."""

from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).with_name("workloads.toml")
SECTION_NAMES = ("in-process", "load", "latency", "slow-sync", "start", "footprint", "backfill")
"""The parts of a run, in the order in which they stand on the page."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of request. Targets are µs of server CPU per operation, for Scans and batches per item."""

    name: str
    title: str
    operation: str
    body: str
    target_memory_us: float | None = None
    target_disk_us: float | None = None
    at_first: str = ""
    """The peers when the targets were set: Dynoxide · DynamoDB Local · dynalite, memory / disk."""
    keys: Literal["items", "twice", "partitions", "pages"] = "items"
    part: str = ""
    """What stands for one of several items in a body; `parts` of them, separated by commas, are the body's $parts."""
    parts: int = 1
    is_per_part: bool = False
    """Does a figure speak of one part, as in a batch, and not of the whole request?"""
    indexes: int = 0
    """How many secondary indexes its table has."""
    is_compared_only: bool = False
    """Only at the compared number of connections, the first size and the small table."""
    connections_max: int | None = None
    """At most so many connections, when fewer say the same: pages that are still unsent at the end of a run count for nothing."""
    is_in_growth_check: bool = False
    is_paired_only: bool = False
    """Only where two commits are compared (pair.py)."""
    undo: str = ""
    """The body of a PutItem that brings back what the request takes away: sent after it, and not measured."""

    def connections(self, wanted: int) -> int:
        """How many connections it runs with where `wanted` are asked for."""
        return wanted if self.connections_max is None else min(wanted, self.connections_max)

    @property
    def units_per_request(self) -> int:
        """What one request counts for, a Scan's aside."""
        return self.parts if self.is_per_part else 1

    def target_us(self, kind: str) -> float | None:
        """The target of the mode: "memory" or "disk"; None when there is none."""
        return self.target_memory_us if kind == "memory" else self.target_disk_us

    def peers_at_first_us(self) -> dict[str, float]:
        """`at_first` by contender's name. One figure for both modes counts as memory's; words and dashes are left out."""
        figures = {}
        for peer, text in zip(("dynoxide", "local", "dynalite"), self.at_first.split(" · "), strict=False):
            for kind, part in zip(("memory", "disk"), text.split(" / "), strict=False):
                if part.replace(",", "").isdigit():
                    figures[f"{peer}-{kind}"] = float(part.replace(",", ""))
        return figures


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A global secondary index that projects ALL: its name and key attributes."""

    name: str
    partition: str
    sort: str


class Backfill(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How large the table is that gets an index, what runs beside, and what is wanted."""

    items: int
    items_peers: int
    item_bytes: int
    items_per_second_min: float
    beside_per_second: int
    beside_connections: int
    beside_p99_ms_max: float


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


class Paired(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two commits are compared: which workloads, how often, for how long, and what is wanted of the later one."""

    memory: tuple[str, ...]
    """Names of workloads that are measured in memory."""
    disk: tuple[str, ...]
    table_items: int
    pairs: int
    turns: int
    """Runs of each commit per workload and pair."""
    turns_min: int
    """Fewer than `turns`, but not than these, where a busy machine would take longer than `minutes`."""
    minutes: float
    turn_us: int
    """CPU time of one run, roughly."""
    warm_up_us: int
    requests_prepared: int
    ratio_max: float
    """For one workload."""
    mean_ratio_max: float
    """For the geometric mean of all."""


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
    further_index_us_max: float
    load_per_second_min: float
    load_per_second_min_small: float
    workload: tuple[Workload, ...]
    index: tuple[Index, ...]
    start: Start
    footprint: Footprint
    latency: Latency
    slow_sync: SlowSync
    backfill: Backfill
    paired: Paired

    def table_name(self, indexes: int = 0) -> str:
        """The table that has so many indexes."""
        return f"{self.table}-{indexes}" if indexes else self.table

    def named(self, name: str) -> Workload:
        """The workload of that name; raises KeyError."""
        for workload in self.workload:
            if workload.name == name:
                return workload
        raise KeyError(name)


def read_plan() -> Plan:
    """The plan of workloads.toml; raises msgspec.ValidationError when it is not well-formed."""
    return msgspec.toml.decode(FILE.read_bytes(), type=Plan)
