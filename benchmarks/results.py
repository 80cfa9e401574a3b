"""What comes out of a run? Plain records, kept as JSON beside the page so that it can be written again without measuring."""

from pathlib import Path

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One workload on one server. A unit is an operation, or an item of a Scan."""

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
    """What else ran meanwhile: "scan", "slow sync" or nothing."""
    resident_mb: float = 0.0


class StartFigure(msgspec.Struct, frozen=True):
    """Start-up of one server: medians."""

    server: str
    ready_ms: float
    """From starting the process to its first answer to a signed request."""
    idle_mb: float


class FootprintFigure(msgspec.Struct, frozen=True):
    """A server that holds many items."""

    server: str
    items: int
    load_seconds: float
    resident_mb: float
    disk_mb: float | None


class InProcessFigure(msgspec.Struct, frozen=True):
    """One workload without sockets, on the store in memory. A unit as above."""

    workload: str
    dispatch_us: float
    """From a parsed HTTP request to the reply's body: signature, decoding, operation, store."""
    operation_us: float
    """The operation alone, on a decoded request."""


class Skip(msgspec.Struct, frozen=True):
    """Something that could not be measured."""

    server: str
    what: str
    reason: str


class Results(msgspec.Struct):
    """A whole run."""

    date: str
    machine: str
    command: str
    seconds: float
    versions: dict[str, str]
    figures: list[Figure] = []
    starts: list[StartFigure] = []
    footprints: list[FootprintFigure] = []
    in_process: list[InProcessFigure] = []
    skips: list[Skip] = []

    def add_earlier(self, earlier: "Results") -> None:
        """Take from an earlier run what this one did not measure; what both have stays as measured now."""
        now = {identity(figure) for figure in self.figures}
        self.figures = [*(figure for figure in earlier.figures if identity(figure) not in now), *self.figures]
        started = {start.server for start in self.starts}
        self.starts += [start for start in earlier.starts if start.server not in started]
        filled = {(footprint.server, footprint.items) for footprint in self.footprints}
        self.footprints += [one for one in earlier.footprints if (one.server, one.items) not in filled]
        self.in_process = self.in_process or earlier.in_process
        self.versions = {**earlier.versions, **self.versions}
        self.skips += [
            skip for skip in earlier.skips if skip.server not in {figure.server for figure in self.figures} | started
        ]
        if earlier.command not in self.command:
            self.command = f"{earlier.command}`, then `{self.command}"

    def save(self, file: Path) -> None:
        """Write as JSON."""
        file.write_bytes(msgspec.json.format(msgspec.json.encode(self)))


def identity(figure: Figure) -> tuple[object, ...]:
    """What a figure is about, whatever its values."""
    return (
        figure.server, figure.workload, figure.connections, figure.item_bytes, figure.table_items, figure.beside,
    )  # fmt: skip


def read_results(file: Path) -> Results:
    """What `save` wrote; raises OSError or msgspec.ValidationError."""
    return msgspec.json.decode(file.read_bytes(), type=Results)
