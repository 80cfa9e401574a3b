"""What does one load need from its options to its end? Its files, the table's key, the rules of its masks, and the file
that lets it go on.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.moving.batch_writer import BatchWriter
from hashrange.toolkit.moving.item_forms import FormName
from hashrange.toolkit.moving.keys import key_attributes
from hashrange.toolkit.moving.load_files import LoadFile, load_files
from hashrange.toolkit.moving.masking import Masks, read_masks
from hashrange.toolkit.moving.progress_file import ProgressFile
from hashrange.toolkit.moving.raw_client import RawClient
from hashrange.toolkit.moving.record_reading import FileRecord, read_records
from hashrange.toolkit.moving.table_load import LoadState, TableLoad
from hashrange.toolkit.moving.unit_pacer import UnitPacer
from hashrange.toolkit.target import Target

THREADS = 8
"""Batches that are written at a time."""


class LoadOptions(NamedTuple):
    """What a command line says."""

    path: str
    table: str
    form: FormName | None = None
    """None: by the names of files."""
    kinds: Mapping[str, str] = {}
    """Column of CSV → type."""
    mask_path: str | None = None
    units_per_second: float | None = None
    is_resumed: bool = False


class LoadJob:
    """One load."""

    def __init__(self, target: Target, options: LoadOptions) -> None:
        """Find the files, and how far an earlier load came, if that is wanted. Sends nothing. Raises UsageFault."""
        self._target, self._options = target, options
        self.files = load_files(options.path, options.form)
        self._masks: Masks | None = None
        self._progress_file: ProgressFile[LoadState] | None = None
        found = None
        if options.path != "-":
            found = self._find_progress(options.path)
        self.state = found or LoadState()

    def _find_progress(self, path: str) -> LoadState | None:
        options = self._options
        wish: dict[str, Any] = {
            "--table": options.table, "the endpoint": self._target.place, "--format": options.form,
            "--mask": options.mask_path, "the bytes": [[one.path, os.path.getsize(one.path)] for one in self.files],
            "--types": dict(options.kinds),
        }  # fmt: skip
        self._progress_file = kept = ProgressFile(f"{path.rstrip(os.sep)}.load-progress", wish, LoadState)
        if options.is_resumed:
            state = kept.read()
            if state is None:
                raise UsageFault(f"there is nothing to go on with: there is no {kept.path}.")
            return state
        if kept.is_there:
            raise UsageFault(
                f"a load of {path} was interrupted. Go on with --resume, or remove {kept.path} and begin again."
            )
        return None

    @cached_property
    def _table(self) -> Any:
        return self._target.ask("dynamodb", "describe_table", TableName=self._options.table)["Table"]

    def prepare(self) -> None:
        """Ask for the table, and read the rules of masks. Raises UsageFault, ToolkitFailure."""
        attributes = key_attributes(self._table)
        if self._options.mask_path is not None:
            self._masks = read_masks(self._options.mask_path, [one.name for one in attributes])
        unknown = self._options.kinds.keys() & {one.name for one in attributes}
        if unknown:
            raise UsageFault(f"--types names {min(unknown)}, whose type is that of the table's key. Leave it out.")

    @property
    def can_go_on(self) -> bool:
        """True if `--resume` would go on with this load."""
        return self._progress_file is not None and self._progress_file.is_there

    @property
    def unused_rules(self) -> list[str]:
        """Paths of mask rules that met no attribute; after `--resume` it is not known what those before have met."""
        return [] if self._masks is None or self._options.is_resumed else self._masks.unused

    def run(self, on_tick: Callable[[TableLoad], None]) -> None:
        """Load. Raises UsageFault, ToolkitFailure."""
        if self._progress_file is None:
            self._load(None, on_tick)
            return
        if not self._options.is_resumed:
            self._progress_file.begin(self.state)
        with self._progress_file.removed_unless(lambda: self.state.has_begun):
            self._load(self._progress_file.write, on_tick)
        self._progress_file.remove()

    def _load(self, keep: Callable[[LoadState], None] | None, on_tick: Callable[[TableLoad], None]) -> None:
        options, stop = self._options, threading.Event()
        attributes = key_attributes(self._table)
        kinds = {**options.kinds, **{one.name: one.kind for one in attributes}}
        rate = UnitPacer(options.units_per_second) if options.units_per_second else None
        with RawClient(self._target, connections=THREADS, stop=stop) as client:
            load = TableLoad(
                BatchWriter(client, options.table, rate, stop),
                attributes,
                self.files,
                lambda file: _records(file, kinds),
                self.state,
                masks=self._masks,
                keep=keep,
            )
            try:
                load.run(THREADS, stop, lambda: on_tick(load))
            finally:
                on_tick(load)


def _records(file: LoadFile, kinds: Mapping[str, str]) -> Iterator[FileRecord]:
    try:
        yield from read_records(file.path, file.form, kinds)
    except OSError as error:
        raise UsageFault(f"the file {file.path} cannot be read: {error.strerror}.") from None
