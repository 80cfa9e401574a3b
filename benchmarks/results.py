"""What comes out of a run? Plain records, kept as JSON beside the page so that it can be written again without measuring.

Every record is written to the file as soon as it is there (Ledger): an interrupted run loses nothing.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

GROWTH_SAME, GROWTH_SCATTERED = "growth, same", "growth"
"""In the growth check: as many items are asked for as the smallest table holds, or more, scattered over the whole table."""
GROWTH_KINDS = (GROWTH_SAME, GROWTH_SCATTERED)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What all records carry."""

    run: int = 0
    """Which of Results.runs measured it."""


class Figure(Record, frozen=True):
    """One workload on one server. A unit is an operation, or an item of a Scan or batch."""

    server: str
    workload: str
    connections: int
    item_bytes: int
    table_items: int
    cpu_us: float
    """CPU time of the server's processes per unit: the figure that counts."""
    units_per_second: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    generator_share: float
    other_share: float
    """CPU time of everything else on the machine, as a share of all its cores."""
    beside: str = ""
    """What else ran meanwhile: "scan", "slow sync" or nothing; or one of GROWTH_KINDS."""
    resident_mb: float = 0.0

    def identity(self) -> tuple[object, ...]:
        """What it is about, whatever its values."""
        return (self.server, self.workload, self.connections, self.item_bytes, self.table_items, self.beside)


class StartFigure(Record, frozen=True):
    """Start-up of one server: medians."""

    server: str
    ready_ms: float
    """From starting the process to its first answer to a signed request."""
    idle_mb: float

    def identity(self) -> tuple[object, ...]:
        """What it is about."""
        return (self.server,)


class FootprintFigure(Record, frozen=True):
    """A server that holds many items."""

    server: str
    items: int
    load_seconds: float
    resident_mb: float
    disk_mb: float | None
    beside: str = ""
    """What was before: "growth" when the table had been filled in steps, else nothing."""

    def identity(self) -> tuple[object, ...]:
        """What it is about."""
        return (self.server, self.items, self.beside)


class InProcessFigure(Record, frozen=True):
    """One workload without sockets, on the store in memory. A unit as above."""

    workload: str
    dispatch_us: float
    """From a parsed HTTP request to the reply's body: signature, decoding, operation, store."""
    operation_us: float
    """The operation alone, on a decoded request."""

    def identity(self) -> tuple[object, ...]:
        """What it is about."""
        return (self.workload,)


class Beside(msgspec.Struct, frozen=True):
    """What GetItem and PutItem requests at a fixed rate saw. Latencies count from when a request was due."""

    wanted_per_second: float
    per_second: float
    get_p50_ms: float
    get_p99_ms: float
    put_p50_ms: float
    put_p99_ms: float
    max_ms: float

    def worst_p99_ms(self) -> float:
        """The worse of the two."""
        return max(self.get_p99_ms, self.put_p99_ms)


class BackfillFigure(Record, frozen=True):
    """One index made on a table that was full. `seconds` 0: no index was made, for comparison."""

    server: str
    items: int
    seconds: float
    """From UpdateTable to DescribeTable's ACTIVE."""
    cpu_us: float
    """The server's CPU per item; with requests beside, theirs is in it."""
    beside: Beside | None = None

    def identity(self) -> tuple[object, ...]:
        """What it is about."""
        return (self.server, self.items, self.seconds == 0, self.beside is None)


class Skip(Record, frozen=True):
    """Something that could not be measured."""

    server: str
    what: str
    reason: str

    def identity(self) -> tuple[object, ...]:
        """What it is about."""
        return (self.server, self.what)


class RunNote(msgspec.Struct, frozen=True):
    """One call of the harness."""

    date: str
    command: str
    machine: str
    seconds: float
    """Length of a compared run."""


AnyRecord = Figure | StartFigure | FootprintFigure | InProcessFigure | BackfillFigure | Skip
T = TypeVar("T", bound=AnyRecord)


class Results(msgspec.Struct):
    """Everything that stands on the page, of one or several runs."""

    runs: list[RunNote]
    versions: dict[str, str] = {}
    figures: list[Figure] = []
    starts: list[StartFigure] = []
    footprints: list[FootprintFigure] = []
    in_process: list[InProcessFigure] = []
    backfills: list[BackfillFigure] = []
    skips: list[Skip] = []

    def add(self, record: AnyRecord) -> None:
        """Put in a record of the latest run, in place of an earlier one about the same."""
        record = msgspec.structs.replace(record, run=len(self.runs) - 1)
        match record:
            case Figure():
                replace_in(self.figures, record)
            case StartFigure():
                replace_in(self.starts, record)
            case FootprintFigure():
                replace_in(self.footprints, record)
            case InProcessFigure():
                replace_in(self.in_process, record)
            case BackfillFigure():
                replace_in(self.backfills, record)
            case Skip():
                replace_in(self.skips, record)

    def forget_skip(self, server: str, what: str) -> None:
        """That is tried again now."""
        self.skips = [skip for skip in self.skips if (skip.server, skip.what) != (server, what)]


def replace_in(records: list[T], record: T) -> None:
    """At the place of the one about the same, else at the end."""
    for place, earlier in enumerate(records):
        if earlier.identity() == record.identity():
            records[place] = record
            return
    records.append(record)


class Ledger:
    """Results that are in their file after every change."""

    def __init__(self, results: Results, file: Path | None) -> None:
        """With no file, nothing is kept."""
        self.results = results
        self.file = file

    def add(self, record: AnyRecord) -> None:
        """Keep a record."""
        self.results.add(record)
        self.save()

    def forget_skip(self, server: str, what: str) -> None:
        """That is tried again now."""
        self.results.forget_skip(server, what)

    def save(self) -> None:
        """Write as JSON: whole, or not at all."""
        if self.file is not None:
            save_results(self.results, self.file)


def save_results(results: Results, file: Path) -> None:
    """Write as JSON: whole, or not at all."""
    beside = file.with_suffix(".new")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    beside.replace(file)


def read_results(file: Path) -> Results:
    """What `save_results` wrote; raises OSError, or msgspec.ValidationError for another form (of an earlier harness)."""
    return msgspec.json.decode(file.read_bytes(), type=Results)
