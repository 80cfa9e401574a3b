"""What does one copy need from its options to its end? Two tables with the same key, perhaps the source's stream, and
the file that lets it go on.
"""

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.batch_writer import BatchWriter
from hashrange.toolkit.moving.keys import key_attributes
from hashrange.toolkit.moving.pages import ScanReader, ScanWish
from hashrange.toolkit.moving.progress_file import ProgressFile
from hashrange.toolkit.moving.raw_client import RawClient
from hashrange.toolkit.moving.scan_job import SEGMENTS_USUAL
from hashrange.toolkit.moving.stream_following import IMAGES, StreamFollowing
from hashrange.toolkit.moving.table_copy import CopyState, TableCopy
from hashrange.toolkit.moving.table_scan import SegmentState
from hashrange.toolkit.moving.threads import THREADS_MAX
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.target import Target

FOLLOWED_PAUSE_SECONDS = 0.25
"""Pause after all shards had nothing new: the service allows five GetRecords per second and shard."""


class CopyOptions(NamedTuple):
    """What a command line says."""

    table: str
    to_table: str
    segments: int | None = None
    is_consistent: bool = False
    units_per_second: float | None = None
    """Read units."""
    is_following: bool = False
    is_resumed: bool = False
    progress_path: str = ""


class CopyJob:
    """One copy."""

    def __init__(self, source: Target, target: Target, options: CopyOptions) -> None:
        """Read how far an earlier copy came, if that is wanted. Sends nothing. Raises UsageFault."""
        if (source.place, options.table) == (target.place, options.to_table):
            raise UsageFault(
                f"the table {options.table} would be copied into itself. Name another one with --to-table, or another"
                " endpoint with --to-endpoint, --to-aws, --to-profile or --to-region."
            )
        self._source, self._target, self._options = source, target, options
        wish: dict[str, Any] = {
            "--table": options.table, "the endpoint": source.place, "--to-table": options.to_table,
            "the endpoint of the copy": target.place, "--consistent": options.is_consistent,
            "--follow": options.is_following,
        }  # fmt: skip
        self._progress_file = ProgressFile(options.progress_path, wish, CopyState)
        self.state = self._find_state()
        self.expected_items = 0

    def _find_state(self) -> CopyState:
        options, kept = self._options, self._progress_file
        if not options.is_resumed:
            if kept.is_there:
                raise UsageFault(f"a copy was interrupted: go on with --resume, or remove {kept.path} and begin again.")
            return CopyState([SegmentState() for _ in range(options.segments or SEGMENTS_USUAL)])
        state = kept.read()
        if state is None:
            raise UsageFault(f"there is nothing to go on with: there is no {kept.path}.")
        if options.segments not in {None, len(state.segments)}:
            raise UsageFault(f"--resume goes on with --segments {len(state.segments)}. Say the same again.")
        return state

    def prepare(self) -> None:
        """Ask for both tables. Raises UsageFault, ToolkitFailure."""
        options = self._options
        table = self._source.ask("dynamodb", "describe_table", TableName=options.table)["Table"]
        copy = self._target.ask("dynamodb", "describe_table", TableName=options.to_table)["Table"]
        keys, others = key_attributes(table), key_attributes(copy)
        if keys != others:
            told = [" and ".join(f"{one.name} ({one.kind})" for one in some) for some in (keys, others)]
            raise UsageFault(f"the tables have different keys: {told[0]} in the source, {told[1]} in the copy.")
        self.expected_items = int(table.get("ItemCount", 0))
        view = table.get("StreamSpecification", {}).get("StreamViewType")
        if options.is_following and not options.is_resumed and view not in IMAGES:
            found = f"its stream has the view type {view}" if view else "it has no stream"
            raise UsageFault(
                f"--follow needs a stream of {options.table} with new images, but {found}. Switch on a stream with the"
                " view type NEW_IMAGE or NEW_AND_OLD_IMAGES."
            )
        self._stream_arn: str = table.get("LatestStreamArn", "")

    @property
    def can_go_on(self) -> bool:
        """True if `--resume` would go on with this copy."""
        return self._progress_file.is_there

    def run(self, on_tick: Callable[[TableCopy], None], on_followed: Callable[[], None]) -> None:
        """Copy all items, and then the changes, if they are followed, until the stream or the command ends.

        `on_followed`: is called once all items are copied and changes are followed. Raises ToolkitFailure.
        """
        options, stop, state = self._options, threading.Event(), self.state
        segments = len(state.segments)
        kept = self._progress_file
        with (
            kept.removed_unless(lambda: state.has_begun),
            RawClient(self._source, connections=min(segments, THREADS_MAX), stop=stop) as reading,
            RawClient(self._source, "dynamodbstreams", stop=stop) as stream,
            RawClient(self._target, connections=min(segments, THREADS_MAX), stop=stop) as writing,
        ):
            writer = BatchWriter(writing, options.to_table, None, stop)
            following = StreamFollowing(self._source, stream, self._stream_arn, writer, state, kept.write)
            if not options.is_resumed:
                if options.is_following:
                    following.begin()
                kept.begin(state)
            copy = TableCopy(self._reader(reading, stop), writer, state, kept.write)
            try:
                copy.run(stop, lambda: on_tick(copy))
            finally:
                on_tick(copy)
            if options.is_following:
                on_followed()
                self._follow(following, stop, lambda: on_tick(copy))
        kept.remove()

    def _reader(self, client: RawClient, stop: threading.Event) -> ScanReader:
        options = self._options
        members = {"ConsistentRead": True} if options.is_consistent else {}
        rate = UnitPacer(options.units_per_second) if options.units_per_second else None
        return ScanReader(client, ScanWish(options.table, len(self.state.segments), members), rate, stop)

    def _follow(self, following: StreamFollowing, stop: threading.Event, on_tick: Callable[[], None]) -> None:
        while not following.has_ended:
            if not following.look():
                stop.wait(FOLLOWED_PAUSE_SECONDS)
            on_tick()
