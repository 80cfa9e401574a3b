"""What does a run record? Plain records, kept as JSON, from which the page can be rewritten without measuring.

Every record is written to the file at once (Ledger): an interrupted run loses nothing.
"""

from pathlib import Path
from typing import TypeVar

import msgspec

GROWTH_SAME, GROWTH_SCATTERED = "growth, same", "growth"
"""Kinds of the growth check: requests for as many items as the smallest table has, or more, over the whole table."""
GROWTH_KINDS = (GROWTH_SAME, GROWTH_SCATTERED)


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of all records."""

    run: int = 0
    """Index in Results.runs of the run that measured the record."""


class Figure(Record, frozen=True):
    """One workload on one server. A unit is an operation, or an item of a Scan or batch."""

    server: str
    workload: str
    connections: int
    item_bytes: int
    table_items: int
    cpu_us: float
    """CPU time of the server's processes per unit: the main figure."""
    units_per_second: float
    p50_ms: float
    p99_ms: float
    p999_ms: float
    generator_share: float
    other_share: float
    """CPU time of everything else on the machine, as a share of all its cores."""
    beside: str = ""
    """Other load during the run: "scan", "slow sync" or nothing; or one of GROWTH_KINDS."""
    resident_mb: float = 0.0

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server, self.workload, self.connections, self.item_bytes, self.table_items, self.beside)


class StartFigure(Record, frozen=True):
    """Start-up of one server, medians of several starts."""

    server: str
    ready_ms: float
    """Milliseconds from starting the process to its first answer to a signed request."""
    idle_mb: float

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server,)


class FootprintFigure(Record, frozen=True):
    """Memory and disk of a server that holds many items."""

    server: str
    items: int
    load_seconds: float
    resident_mb: float
    disk_mb: float | None
    beside: str = ""
    """"growth" when the table was filled in steps, else empty."""

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server, self.items, self.beside)


class InProcessFigure(Record, frozen=True):
    """One workload without sockets, on the store in memory. A unit is an operation, or an item of a Scan or batch."""

    workload: str
    dispatch_us: float
    """µs from a parsed HTTP request to the reply's body: signature, decoding, operation, store."""
    operation_us: float
    """µs of the operation alone, on a decoded request."""

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.workload,)


class Beside(msgspec.Struct, frozen=True):
    """Latencies of GetItem and PutItem requests at a fixed rate. They count from when a request was due."""

    wanted_per_second: float
    per_second: float
    get_p50_ms: float
    get_p99_ms: float
    put_p50_ms: float
    put_p99_ms: float
    max_ms: float

    def worst_p99_ms(self) -> float:
        """Return the higher p99 of GetItem and PutItem."""
        return max(self.get_p99_ms, self.put_p99_ms)


class BackfillFigure(Record, frozen=True):
    """One index built on a full table. `seconds` 0: the requests alone, without an index build, for comparison."""

    server: str
    items: int
    seconds: float
    """Seconds from UpdateTable until DescribeTable shows ACTIVE."""
    cpu_us: float
    """The server's CPU µs per item; requests under load are included."""
    beside: Beside | None = None

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server, self.items, self.seconds == 0, self.beside is None)


class SearchFigure(Record, frozen=True):
    """Searches of one server's vector index, and writes of vectors. All µs are CPU time of the server's processes."""

    server: str
    items: int
    search_us: float
    p50_ms: float
    recall: float
    """Share of the most similar items that searches found, from 0 to 1."""
    filled_us: float
    """Of each vector that is searched, from the first write until all could be searched."""
    plain_put_us: float
    """Of each PutItem of a larger vector, without an index."""
    indexed_put_us: float
    """The same with an index, until all could be searched."""

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server, self.items)


class Skip(Record, frozen=True):
    """A measurement that failed."""

    server: str
    what: str
    reason: str

    def identity(self) -> tuple[object, ...]:
        """Return the fields that name the measurement; records with equal identity replace each other."""
        return (self.server, self.what)


class RunNote(msgspec.Struct, frozen=True):
    """One run of the harness."""

    date: str
    command: str
    machine: str
    seconds: float
    """Seconds of a compared workload."""


AnyRecord = Figure | StartFigure | FootprintFigure | InProcessFigure | BackfillFigure | SearchFigure | Skip
T = TypeVar("T", bound=AnyRecord)


class Results(msgspec.Struct):
    """Everything shown on the page, from one or several runs."""

    runs: list[RunNote]
    versions: dict[str, str] = {}
    figures: list[Figure] = []
    starts: list[StartFigure] = []
    footprints: list[FootprintFigure] = []
    in_process: list[InProcessFigure] = []
    backfills: list[BackfillFigure] = []
    searches: list[SearchFigure] = []
    skips: list[Skip] = []

    def add(self, record: AnyRecord) -> None:
        """Add a record of the latest run; it replaces an earlier one of equal identity."""
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
            case SearchFigure():
                replace_in(self.searches, record)
            case Skip():
                replace_in(self.skips, record)

    def forget_skip(self, server: str, what: str) -> None:
        """Forget an earlier Skip, because its measurement is tried again."""
        self.skips = [skip for skip in self.skips if (skip.server, skip.what) != (server, what)]


def replace_in(records: list[T], record: T) -> None:
    """Replace the record of equal identity, else append."""
    for place, earlier in enumerate(records):
        if earlier.identity() == record.identity():
            records[place] = record
            return
    records.append(record)


class Ledger:
    """Results that are saved to their file after every change."""

    def __init__(self, results: Results, file: Path | None) -> None:
        """Keep the results in `file`; None: in memory only."""
        self.results = results
        self.file = file

    def add(self, record: AnyRecord) -> None:
        """Add a record and save."""
        self.results.add(record)
        self.save()

    def forget_skip(self, server: str, what: str) -> None:
        """Forget an earlier Skip, because its measurement is tried again, and save."""
        self.results.forget_skip(server, what)

    def save(self) -> None:
        """Save as JSON, atomically."""
        if self.file is not None:
            save_results(self.results, self.file)


def save_results(results: Results, file: Path) -> None:
    """Save as JSON, atomically."""
    beside = file.with_suffix(".new")
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    beside.replace(file)


def read_results(file: Path) -> Results:
    """Return what `save_results` wrote; raises OSError, or msgspec.ValidationError for another (older) format."""
    return msgspec.json.decode(file.read_bytes(), type=Results)
