"""`hashrange backup SOURCE TARGET`: how is a copy kept of what a server, or a data folder, holds?
Files that an earlier copy in TARGET has, too, are not copied again.
"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from hashrange.cli.main import DONE, FAILED, count, refuse
from hashrange.cli.output import say, show_progress
from hashrange.cli.parsing import CommandParser, UsageError, command_parser, parse
from hashrange.cli.remote import DEFAULT_REGION, Remote
from hashrange.cli.settings_sources import current_environment
from hashrange.errors import StorageError, StorageLocked
from hashrange.store.copying import StoredFile

if TYPE_CHECKING:
    from hashrange.store.repository.additions import Addition, CopiedStore
    from hashrange.store.repository.folder import Manifests

EXAMPLE = """example:
  hashrange backup http://127.0.0.1:8000 /backups/shop --keep 14
  hashrange restore /backups/shop ./hashrange-data

A copy holds all tables, items, streams and backups of all accounts and Regions, as of one moment. A running server \
needs its admin API (--admin), and goes on meanwhile. A data folder is copied while no server has it open. \
TARGET holds any number of copies, and each file once: a second copy adds only what is new (docs/copies.md).
"""
COPIES_MAX = 1_000_000


def run(words: list[str]) -> int:
    """Add a copy; returns the exit code. Raises UsageError, RemoteError, StorageError."""
    options = parse(build_parser(), words)
    copies_max = None if options.keep is None else _copies_max(options.keep)
    is_endpoint = "://" in options.source
    if not is_endpoint:
        _require_apart(options.source, options.target)
    from hashrange.store.repository.additions import Wishes, add_copy, add_files
    from hashrange.store.repository.folder import WrittenRepository

    wishes = Wishes(options.is_full, options.is_checked, copies_max)
    opened, on_progress = _opened_server if is_endpoint else _opened_folder, progress()
    with ExitStack() as stack:
        with opened(options.source) as store:
            repository = stack.enter_context(WrittenRepository(options.target))
            drafted = add_files(repository, store, wishes, on_progress)
        addition = add_copy(repository, drafted, wishes, on_progress)
        manifests = repository.manifests()
    _tell(options.target, addition)
    return _tell_damage(options.target, manifests)


def build_parser() -> CommandParser:
    """The parser of `hashrange backup`."""
    parser = command_parser("backup", "Add a copy of a running server, or of a data folder, to a folder.", EXAMPLE)
    parser.add_argument("source", metavar="SOURCE", help="URL of the server, or a data folder that no server has open.")
    parser.add_argument("target", metavar="TARGET", help="Folder of the copies; made when it does not exist.")
    parser.add_argument("--keep", metavar="N", help="Afterwards, remove all copies but the newest N.")
    parser.add_argument(
        "--full",
        dest="is_full",
        action="store_true",
        help="Read every file from SOURCE, also those that TARGET has.",
    )
    add_no_check(parser)
    return parser


def add_no_check(parser: CommandParser) -> None:
    """Let a command take the option `--no-check`."""
    parser.add_argument(
        "--no-check",
        dest="is_checked",
        action="store_false",
        help="Leave out the check of the content, which takes 5 to 10 µs for each item and index entry.",
    )


def _copies_max(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 8 and 1 <= int(text) <= COPIES_MAX):
        raise UsageError(f'--keep is "{text}"; it must be a number from 1 to {COPIES_MAX:,}, such as 14.')
    return int(text)


def _require_apart(source: str, target: str) -> None:
    """Raise UsageError if the copies of a data folder are to be kept in it: what happens to it would happen to them."""
    from hashrange.store.repository.folder import is_within

    if is_within(target, source):
        raise UsageError(f"{target} is in {source}, and would be lost with it. Name a folder outside of it.")


def progress() -> Any:
    """What shows progress in a terminal, in a line that is overwritten."""
    if not sys.stderr.isatty():
        return lambda *_: None

    def show(what: str, done: int, most: int) -> None:
        text = f"{what}: {done / 1e6:,.0f} of {most / 1e6:,.0f} MB" if most else f"{what}: {done:,} rows"
        show_progress(f"{text:<40}")

    return show


@contextmanager
def _opened_folder(data_dir: str) -> "Iterator[CopiedStore]":
    from hashrange.store.repository.closed_store import opened_folder

    try:
        with opened_folder(data_dir) as store:
            yield store
    except StorageLocked:
        raise StorageError(
            f"{data_dir} is in use by a server or another command. Name the server's endpoint instead, such as"
            " http://127.0.0.1:8000; it needs its admin API (--admin)."
        ) from None


@contextmanager
def _opened_server(endpoint: str) -> "Iterator[CopiedStore]":
    with Remote(endpoint, DEFAULT_REGION, current_environment(), "SOURCE") as server, server.snapshot() as taken:
        yield ServedStore(server, taken)


class ServedStore:
    """The files of a snapshot that a running server has taken; a `CopiedStore`."""

    def __init__(self, server: Remote, taken: Any) -> None:
        """`taken`: the reply to `POST snapshots`. Raises RemoteError."""
        self._server = server
        self._path = f"snapshots/{taken['snapshot']}/files"
        self.place = server.endpoint
        self.service_seconds: float = taken["service_time"]
        listed = server.operate("POST", self._path)
        self.store_format: int = listed["store_format"]
        files = [StoredFile(one["name"], one["bytes"], one["fingerprint"]) for one in listed["files"]]
        self.files: Sequence[StoredFile] = files

    def pieces(self, file: StoredFile) -> Iterator[bytes]:
        """The content of a file. Raises RemoteError."""
        offset = 0
        while offset < file.size_bytes:
            piece = self._server.fetch(f"{self._path}/{quote(file.name, safe='')}", offset=offset)
            if not piece:
                return
            offset += len(piece)
            yield piece


def _tell(target: str, addition: "Addition") -> None:
    manifest = addition.manifest
    files = count(len(manifest.files), "file")
    added = f"{addition.added_files:,} of them new, {shown_size(manifest.added_bytes)}"
    checked = "" if manifest.is_checked else "; its content was not checked"
    say(f"{target}: copy {manifest.name}, {files} in {shown_size(manifest.size_bytes)}, {added}{checked}.")
    for digest in addition.mended:
        say(f"{target}: files/{digest} was damaged, and is written again.")
    if addition.removed:
        removed = count(len(addition.removed), "copy", "copies")
        say(f"{target}: {removed} removed, {shown_size(addition.removed_bytes)} freed.")


def _tell_damage(target: str, manifests: "Manifests") -> int:
    """Refuse if former copies are damaged: the new one is sound, but somebody should know. Returns the exit code."""
    if not manifests.damaged:
        return DONE
    names = ", ".join(manifests.damaged)
    return refuse(
        f"the new copy is sound, but manifests in {target} are damaged: {names}. Nothing is removed from it until"
        f" these are put back or deleted; `hashrange check {target}` tells what is wrong.",
        FAILED,
    )


def shown_size(size_bytes: int) -> str:
    """A length in MB, or in bytes below 100 KB."""
    return f"{size_bytes:,} bytes" if size_bytes < 100_000 else f"{size_bytes / 1e6:,.1f} MB"
