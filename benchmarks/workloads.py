"""Which workloads and targets are there? workloads.toml as typed data; this file measures nothing."""

from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).with_name("workloads.toml")
SECTION_NAMES = ("in-process", "load", "latency", "slow-sync", "start", "footprint", "backfill", "searches")
"""The sections of a run, in the page's order."""


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of request. Targets are µs of server CPU per operation, or per item of Scans and batches."""

    name: str
    title: str
    operation: str
    body: str
    target_memory_us: float | None = None
    target_disk_us: float | None = None
    at_first: str = ""
    """Peers' CPU when the targets were set: Dynoxide · DynamoDB Local · dynalite, memory / disk."""
    keys: Literal["items", "new", "twice", "partitions", "pages"] = "items"
    requests: int | None = None
    """Number of prepared requests over sockets, where the plan's `requests_prepared` is too few."""
    part: str = ""
    """Template of one of several items in a body; `parts` of them, separated by commas, become the body's $parts."""
    parts: int = 1
    is_per_part: bool = False
    """True if a unit is one part (as in a batch), not the whole request."""
    indexes: int = 0
    """Number of secondary indexes of the workload's table."""
    is_compared_only: bool = False
    """True if the workload runs only with the compared number of connections, the first size and the small table."""
    connections_max: int | None = None
    """Highest number of connections, if more add nothing: pages still unsent at the end of a run are not counted."""
    is_in_growth_check: bool = False
    is_paired_only: bool = False
    """True if the workload runs only when two commits are compared (pair.py)."""
    undo: str = ""
    """Body of the request that restores what the request changed: sent after it, and not measured."""
    undo_operation: str = "PutItem"

    def connections(self, wanted: int) -> int:
        """Return the number of connections for a run with `wanted`."""
        return wanted if self.connections_max is None else min(wanted, self.connections_max)

    @property
    def units_per_request(self) -> int:
        """Return the units of one request, except for a Scan."""
        return self.parts if self.is_per_part else 1

    def target_us(self, kind: str) -> float | None:
        """Return the target of the mode ("memory" or "disk"), or None."""
        return self.target_memory_us if kind == "memory" else self.target_disk_us

    def peers_at_first_us(self) -> dict[str, float]:
        """Figures of `at_first` by contender's name. One figure for both modes is memory's; other text is ignored."""
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
    """Size of the table that gets an index, the concurrent requests, and targets."""

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
    """How many items are loaded, and the targets of memory and disk."""

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
    """How much a sync is slowed down, and the target of writes per second."""

    delay_us: int
    connections: int
    puts_per_second_min: float


class SearchedVectors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many vectors are searched, for how many others, and how many larger ones are written."""

    items: int
    dimensions: int
    top_k: int
    searches: int
    written_dimensions: int
    writes: int


class Paired(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How two commits are compared: workloads, repetitions, time, and limits of the ratios."""

    memory: tuple[str, ...]
    """Names of workloads that are measured in memory."""
    disk: tuple[str, ...]
    table_items: int
    pairs: int
    turns: int
    """Turns per workload and pair."""
    turns_min: int
    """Fewest turns, where a busy machine would need more than `minutes` for all `turns`."""
    minutes: float
    turn_us: int
    """Approximate CPU µs of one commit's part of a turn."""
    warm_up_us: int
    requests_prepared: int
    ratio_max: float
    """Highest ratio of one workload."""
    mean_ratio_max: float
    """Highest geometric mean of all ratios."""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of workloads.toml."""

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
    searched_vectors: SearchedVectors
    paired: Paired

    def table_name(self, indexes: int = 0) -> str:
        """Return the name of the table with this many indexes."""
        return f"{self.table}-{indexes}" if indexes else self.table

    def named(self, name: str) -> Workload:
        """Return the workload of that name; raises KeyError."""
        for workload in self.workload:
            if workload.name == name:
                return workload
        raise KeyError(name)


def read_plan() -> Plan:
    """Return the plan of workloads.toml; raises msgspec.ValidationError when it is malformed."""
    return msgspec.toml.decode(FILE.read_bytes(), type=Plan)
