"""What does one scan need from its options to its end? Its request, its output, the file that lets it go on, and for
CSV the lines that are made into it.
"""

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.compressed import packer
from hashrange.toolkit.moving.csv_form import columns_of_lines, csv_chunks
from hashrange.toolkit.moving.item_forms import FormName
from hashrange.toolkit.moving.output_file import OutputFile
from hashrange.toolkit.moving.pages import ScanReader, ScanWish
from hashrange.toolkit.moving.progress_file import ProgressFile
from hashrange.toolkit.moving.raw_client import RawClient
from hashrange.toolkit.moving.reserved_names import Aliased, alias_reserved
from hashrange.toolkit.moving.table_scan import Output, ScanState, SegmentState, TableScan
from hashrange.toolkit.moving.threads import THREADS_MAX
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.target import Target

SEGMENTS_USUAL = 4


class ScanOptions(NamedTuple):
    """What a command line says."""

    table: str
    form: FormName
    segments: int | None = None
    output: str | None = None
    """None: standard output."""
    filter: str | None = None
    projection: str | None = None
    names: Mapping[str, str] = {}
    values: Mapping[str, Any] = {}
    index_name: str | None = None
    is_consistent: bool = False
    limit: int | None = None
    units_per_second: float | None = None
    is_resumed: bool = False


class PipeOutput:
    """Passes what is written on to standard output."""

    def __init__(self, pass_on: Callable[[bytes], None]) -> None:
        self._pass_on = pass_on
        self.size_bytes = 0

    def write(self, piece: bytes) -> None:
        """Pass a piece on."""
        self._pass_on(piece)
        self.size_bytes += len(piece)


class ScanJob:
    """One scan."""

    def __init__(self, target: Target, options: ScanOptions) -> None:
        """Read how far an earlier scan came, if that is wanted. Sends nothing. Raises UsageFault."""
        self._target, self.options = target, options
        self.aliased = aliased_of(options)
        self.members = scan_members(options, self.aliased)
        self._pack = packer(options.output or "")
        self._progress_file: ProgressFile[ScanState] | None = None
        found = None
        if options.output is not None:
            found = self._find_progress(options.output)
        self._is_new = found is None
        segments = options.segments or SEGMENTS_USUAL
        self.state = found or ScanState([SegmentState() for _ in range(segments)])
        self.expected_items = 0

    def _find_progress(self, output: str) -> ScanState | None:
        options = self.options
        wish: dict[str, Any] = {
            "--table": options.table, "the endpoint": self._target.place, "--format": options.form,
            "--filter": options.filter, "--projection": options.projection, "--names": dict(options.names),
            "--values": dict(options.values), "--index": options.index_name, "--consistent": options.is_consistent,
            "--limit": options.limit,
        }  # fmt: skip
        self._progress_file = kept = ProgressFile(f"{output}.scan-progress", wish, ScanState)
        if not options.is_resumed:
            if kept.is_there:
                raise UsageFault(
                    f"a scan into {output} was interrupted. Go on with --resume, or remove {kept.path} and begin again."
                )
            return None
        state = kept.read()
        if state is None and os.path.exists(output):
            raise UsageFault(f"there is nothing to go on with: {output} is there without {kept.path}.")
        if state is not None and options.segments not in {None, len(state.segments)}:
            raise UsageFault(f"--resume goes on with --segments {len(state.segments)}. Say the same again.")
        return state

    @property
    def can_go_on(self) -> bool:
        """True if `--resume` would go on with this scan."""
        return self._progress_file is not None and self._progress_file.is_there

    def run(self, pass_on: Callable[[bytes], None], on_tick: Callable[[ScanState], None]) -> None:
        """Scan. `pass_on`: takes what goes to standard output. Raises ToolkitFailure, and what `pass_on` raises."""
        options = self.options
        table = self._target.ask("dynamodb", "describe_table", TableName=options.table)["Table"]
        self.expected_items = described_items(table, options.index_name)
        key_names = [one["AttributeName"] for one in table["KeySchema"]]
        if self._progress_file is None:
            self._scan_into_form(key_names, pass_on, on_tick)
            return
        if self._is_new:
            self._progress_file.begin(self.state)
        with self._progress_file.removed_unless(lambda: self.state.has_begun):
            self._scan_into_form(key_names, pass_on, on_tick)

    def _scan_into_form(
        self, key_names: list[str], pass_on: Callable[[bytes], None], on_tick: Callable[[ScanState], None]
    ) -> None:
        options = self.options
        with ExitStack() as stack:
            if options.form != "csv":
                output = stack.enter_context(self._output(options.output)) if options.output else PipeOutput(pass_on)
                self._scan(output, on_tick)
                if self._progress_file is not None:
                    self._progress_file.remove()
                return
            spool = f"{options.output}.items"
            if options.output is None:
                spool = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "items")
            self._scan(stack.enter_context(self._output(spool)), on_tick, is_spool=True)
            self._write_csv(spool, key_names, pass_on)

    def _output(self, path: str) -> OutputFile:
        size_bytes = self.state.size_bytes
        return OutputFile(path, size_bytes or None)

    def _scan(self, output: Output, on_tick: Callable[[ScanState], None], *, is_spool: bool = False) -> None:
        options, stop = self.options, threading.Event()
        rate = UnitPacer(options.units_per_second) if options.units_per_second else None
        segments = len(self.state.segments)
        page_limit = None if options.filter else options.limit
        wish = ScanWish(options.table, segments, self.members, page_limit)
        with RawClient(self._target, connections=min(segments, THREADS_MAX), stop=stop) as client:
            scan = TableScan(
                ScanReader(client, wish, rate, stop),
                self.state,
                output,
                "dynamodb-json" if is_spool else options.form,
                bytes if is_spool else self._pack,
                limit=options.limit,
                keep=self._progress_file.write if self._progress_file is not None else None,
            )
            scan.run(stop, lambda: on_tick(self.state))

    def _write_csv(self, spool: str, key_names: list[str], pass_on: Callable[[bytes], None]) -> None:
        """Make CSV of the lines."""
        path = self.options.output
        with open(spool, "rb") as lines:
            columns = columns_of_lines(lines, key_names)
        with open(spool, "rb") as lines:
            chunks = csv_chunks(lines, columns)
            if path is None:
                for chunk in chunks:
                    pass_on(chunk)
                return
            with OutputFile(path) as output:
                for chunk in chunks:
                    output.write(self._pack(chunk))
        assert self._progress_file is not None
        self._progress_file.remove()
        os.remove(spool)


def aliased_of(options: ScanOptions) -> Aliased:
    """The filter and the projection, without bare reserved words."""
    return alias_reserved([options.filter or "", options.projection or ""], dict(options.names))


def scan_members(options: ScanOptions, aliased: Aliased) -> dict[str, Any]:
    """The members of Scan that are the same for each page."""
    expression, projection = aliased.expressions
    members = {
        "FilterExpression": expression,
        "ProjectionExpression": projection,
        "ExpressionAttributeNames": aliased.names,
        "ExpressionAttributeValues": dict(options.values),
        "IndexName": options.index_name,
        "ConsistentRead": options.is_consistent,
    }
    return {name: value for name, value in members.items() if value}


def described_items(table: Mapping[str, Any], index: str | None) -> int:
    """Items of a table or an index, as DescribeTable counts them. Raises UsageFault if there is no such index."""
    if index is None:
        return int(table.get("ItemCount", 0))
    indexes = {one["IndexName"]: one for one in _indexes(table)}
    if index not in indexes:
        known = f"Its indexes are {', '.join(indexes)}." if indexes else "It has none."
        raise UsageFault(f"the table {table['TableName']} has no index {index}. {known}")
    return int(indexes[index].get("ItemCount", 0))


def _indexes(table: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        yield from table.get(kind) or ()
