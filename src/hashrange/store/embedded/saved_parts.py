"""Which parts of vector indexes has the last server saved in files, and are they right? A mark in the engine says so.

A server that ends in order writes its parts to files, and then the mark: the ids of the files, the name of the engine,
and the sequence number of this very write, which is the engine's last one. A server that opens the folder uses the
files only if it finds the mark, that name, and no later write. So the engine's content is exactly that of which the
files were made, whatever has happened in between: any write makes the engine's last number greater, and the random ids
belong to one content only, so that a copy of the folder, an older one or a mixture of two has its own files or none.
All others are removed. A kill leaves no mark of its own, so that the next server reads the entries.

Until a part is searched, the keys of the entries that commits change are kept, to be read anew; if they are many, the
file is removed. A file that was not needed is right for the next server too, if no entry has changed.
Why: docs/adr/0080-saved-vectors.md.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from hashrange import __version__
from hashrange.errors import StorageError
from hashrange.store.embedded import files, layout
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.files import Folder
from hashrange.store.embedded.part_files import (
    PART_ID_BYTES,
    free_bytes,
    make_vectors_folder,
    names_of_part_files,
    new_part_id,
    part_file,
    remove_part_file,
    write_part,
)
from hashrange.tables.source_id import SOURCE_BYTES
from hashrange.work_threads import WorkThread

if TYPE_CHECKING:
    from hashrange.vectors.loaded_part import LoadedPart

SAVED_ENTRIES_MIN = 1_000
"""Fewer entries are loaded from their rows in 40 ms, which is not worth a file."""
SAVING_SECONDS_MAX = 5.0
"""After this time no further part is saved, and one that is not complete is given up: who stops a server often waits no
longer than ten seconds.
"""
SPARE_DISK_BYTES = 64 * 1024 * 1024
"""Room on the disk that must be left, besides that for a part: the engine has still to write."""
CHANGED_KEYS_MAX = 65_536
"""Keys of changed entries that are kept for all parts together."""
MARK_BYTES_MAX = 60_000
_ENTRY_EXTRA_BYTES = 32
_removing = WorkThread("hashrange-vectors-removed")
_log = logging.getLogger("hashrange.store")


class SavedPart(msgspec.Struct, eq=False):
    """A file with a part that nobody has searched since the server was started."""

    path: str
    part_id: bytes
    count: int
    """How many entries it has."""
    changed: set[bytes] = msgspec.field(default_factory=set)
    """The keys of the entries that have changed since."""


class SavedGroup(msgspec.Struct, eq=False):
    """The files of one source, by the prefixes of their parts."""

    parts: dict[bytes, SavedPart] = msgspec.field(default_factory=dict)
    changed_count: int = 0
    """How many keys there are in `SavedPart.changed` of all parts."""


class SavedMark(msgspec.Struct, array_like=True, frozen=True):
    """The row in the engine."""

    version: str
    """That of the Hashrange that wrote the files; another one may read entries in another way."""
    engine: bytes
    """The random name of the engine."""
    sequence: int
    """The engine's number of the write of this row."""
    parts: list[tuple[bytes, bytes, int]]
    """Of each part how the engine keys of its entries begin, the id of its file, and how many entries it has."""


_encode_mark = msgspec.msgpack.Encoder().encode
_decode_mark = msgspec.msgpack.Decoder(SavedMark).decode


class SavedParts:
    """The files of one store that may still be used."""

    def __init__(self) -> None:
        self._sources: dict[bytes, SavedGroup] = {}
        self._changed_count = 0
        """How many keys there are in `SavedPart.changed` of all parts."""

    def __len__(self) -> int:
        return sum(len(source.parts) for source in self._sources.values())

    @property
    def is_empty(self) -> bool:
        """True if there are no files."""
        return not self._sources

    def find(self, prefix: bytes) -> SavedPart | None:
        """The file with the part of this prefix; None: there is none."""
        source = self._sources.get(prefix[:SOURCE_BYTES])
        return None if source is None else source.parts.get(prefix)

    def open(self, engine: Engine, folder: Folder) -> None:
        """Find the files that are right for an engine just opened, and remove all others.

        Raises the engine's bare exceptions.
        """
        names = names_of_part_files(folder.data)
        row, sequence = engine.get(layout.SAVED_PARTS_KEY), engine.latest_sequence_number()
        named = [] if row is None or not names else _parts_of(row, sequence, folder)
        parts = {part_id.hex(): (prefix, part_id, count) for prefix, part_id, count in named}
        others: list[str] = []
        for name in names:
            if name in parts:
                prefix, part_id, count = parts[name]
                source = self._sources.setdefault(prefix[:SOURCE_BYTES], SavedGroup())
                source.parts[prefix] = SavedPart(part_file(folder.data, part_id), part_id, count)
            else:
                others.append(name)
        if others:
            _removing.submit(_remove_part_files, folder.data, others)

    def note(self, prefix: bytes, key: bytes) -> bool:
        """Note that a commit has changed an entry of the part with this prefix; False: there is no file of it."""
        saved = self.find(prefix)
        if saved is None:
            return False
        if key not in saved.changed:
            saved.changed.add(key)
            self._sources[prefix[:SOURCE_BYTES]].changed_count += 1
            self._changed_count += 1
            if 2 * len(saved.changed) > saved.count or self._changed_count > CHANGED_KEYS_MAX:
                self.take(prefix)
                return False
        return True

    def take(self, prefix: bytes) -> SavedPart:
        """Take out and remove a file, because it has been read, or is not worth it."""
        source_id = prefix[:SOURCE_BYTES]
        source = self._sources[source_id]
        saved = source.parts.pop(prefix)
        source.changed_count -= len(saved.changed)
        self._changed_count -= len(saved.changed)
        if not source.parts:
            del self._sources[source_id]
        _removing.submit(files.remove_file, saved.path)
        return saved

    def drop(self, sources: Iterable[bytes]) -> None:
        """Remove the files of deleted sources."""
        dropped = [self._sources.pop(source_id) for source_id in sources if source_id in self._sources]
        if dropped:
            self._changed_count -= sum(source.changed_count for source in dropped)
            _removing.submit(_remove_all, dropped)

    def clear(self) -> None:
        """Remove all files."""
        if self._sources:
            _removing.submit(_remove_all, self.let_go())

    def let_go(self) -> list[SavedGroup]:
        """Take out all files, without removing them."""
        sources, self._sources, self._changed_count = self._sources, {}, 0
        return list(sources.values())


def take_unchanged(sources: Iterable[SavedGroup]) -> dict[bytes, SavedPart]:
    """The files that are as they were when the server was started, by prefix; removes the others. On any thread."""
    unchanged: dict[bytes, SavedPart] = {}
    for source in sources:
        for prefix, saved in source.parts.items():
            if saved.changed:
                files.remove_file(saved.path)
            else:
                unchanged[prefix] = saved
    return unchanged


def _remove_all(sources: list[SavedGroup]) -> None:
    """Remove all files, and free what is known of them bit by bit."""
    while sources:
        parts = sources.pop().parts
        while parts:
            _, saved = parts.popitem()
            files.remove_file(saved.path)


def _remove_part_files(data: str, names: Iterable[str]) -> None:
    for name in names:
        remove_part_file(data, name)


def _parts_of(row: bytes, sequence: int, folder: Folder) -> list[tuple[bytes, bytes, int]]:
    """The parts that a mark names, if it is right for an engine whose last write has this number."""
    try:
        mark = _decode_mark(row)
        is_right = (mark.version, mark.sequence) == (__version__, sequence) and mark.engine == files.identity_of(folder)
    except (msgspec.MsgspecError, OSError):
        return []
    return mark.parts if is_right else []


class LeavingParts(msgspec.Struct):
    """What a store that is being closed can save."""

    loaded: Sequence[tuple[bytes, "LoadedPart"]]
    """Prefix and entries of the parts in memory, those first that were used last."""
    unread: dict[bytes, SavedPart]
    """The files that have not been needed, by prefix."""


def save_parts(leaving: LeavingParts, engine: Engine, folder: Folder, monotonic: Callable[[], float]) -> bool:
    """Write the parts to files, and the mark; on any thread, when nothing else can be written any more.

    Gives up what takes too long or does not fit. False if the engine has refused the mark. Raises nothing.
    """
    named_count = _named_count([*leaving.unread, *[prefix for prefix, _ in leaving.loaded]])
    parts = [(prefix, saved.part_id, saved.count) for prefix, saved in leaving.unread.items()][:named_count]
    loaded = leaving.loaded[: named_count - len(parts)]
    written: list[tuple[bytes, bytes, int]] = []
    try:
        if loaded:
            make_vectors_folder(folder.data)
        _write_parts(loaded, folder, monotonic, written)
    except Exception as error:  # noqa: BLE001 - nothing that goes wrong here may keep the engine from being closed
        _log.warning(
            "%s: vectors in memory could not be saved (%s), so the next server reads them from their items.",
            folder.place,
            getattr(error, "strerror", None) or error,
        )
    parts += written
    if not parts:
        return True
    try:
        _write_mark(parts, engine, folder)
    except Exception as error:  # noqa: BLE001 - the engine raises bare exceptions
        _log.warning("%s: vectors in memory are not saved, because the engine is failing: %s", folder.place, error)
        for _, part_id, _ in parts:
            remove_part_file(folder.data, part_id.hex())
        return False
    count = sum(count for _, _, count in written)
    if count:
        _log.info("%s: saved %d vectors in %d files for the next server.", folder.place, count, len(written))
    return True


def _write_parts(
    loaded: Sequence[tuple[bytes, "LoadedPart"]],
    folder: Folder,
    monotonic: Callable[[], float],
    written: list[tuple[bytes, bytes, int]],
) -> None:
    """Write the parts, one file each; adds to `written` what the mark says of complete ones. Raises OSError."""
    deadline_seconds = monotonic() + SAVING_SECONDS_MAX
    for prefix, entries in loaded:
        if free_bytes(folder.data) < entries.memory_bytes + SPARE_DISK_BYTES:
            raise StorageError("the disk has too little room")
        part_id = new_part_id()
        path = part_file(folder.data, part_id)
        if not write_part(path, part_id, entries.sections(), lambda: monotonic() < deadline_seconds):
            _log.info("%s: vectors in memory were not all saved, which would have taken too long.", folder.place)
            return
        written.append((prefix, part_id, entries.count))


def _named_count(prefixes: Sequence[bytes]) -> int:
    """How many of the parts with these prefixes, from the first on, one row can name. Files of others that nobody has
    needed are found to have no mark by the next server.
    """
    left_bytes = MARK_BYTES_MAX
    for number, prefix in enumerate(prefixes):
        left_bytes -= len(prefix) + PART_ID_BYTES + _ENTRY_EXTRA_BYTES
        if left_bytes < 0:
            return number
    return len(prefixes)


def _write_mark(parts: list[tuple[bytes, bytes, int]], engine: Engine, folder: Folder) -> None:
    """Write the mark. Raises OSError and the engine's bare exceptions."""
    identity = files.identity_of(folder)
    mark = SavedMark(__version__, identity, engine.latest_sequence_number() + 1, parts)
    engine.put(layout.SAVED_PARTS_KEY, _encode_mark(mark))
