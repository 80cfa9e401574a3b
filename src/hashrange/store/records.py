"""How does a feature keep its records, such as alarms or functions? `KeptRecords` keeps those of one type, each as a
document: its JSON, under a name that follows from what identifies it.
`RememberedRecords` also has all of them in memory.

A record's *path* identifies it among the others of its type: parts without `/`, except for the last one. The name of
its document is the prefix of the type and the path with `/` between its parts. Changes of records of several types can
be written in one commit. Must not know what the records mean.

A change that follows from what was read is refused by RecordsChanged if another writer came between. The service then
runs the operation again, and the runner the job's slice; what must not be done twice is made `again_if_changed`.
Where one server may change a long record in several tasks at once, it holds a lock from reading to writing, such as
`RememberedRecords.order`: otherwise each task would read and encode all of it, and all but one would be refused.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import wraps
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import msgspec

from hashrange.errors import RECORDS_TRIES_MAX, RecordsChanged, StorageCorruption, StorageError
from hashrange.items.shared_work import SharedWork
from hashrange.items.steps import LARGE_PIECE_BYTES, look, spend_decoding
from hashrange.store.documents import Documents
from hashrange.store.pause import PAUSE

RecordT = TypeVar("RecordT")
P = ParamSpec("P")
T = TypeVar("T")
TOGETHER_BYTES, TOGETHER_MAX = 32 * 1024, 100
"""Documents that are read together, and their bytes: about half a millisecond. Those before tell how many that are."""
NONE: Mapping[str, Any] = MappingProxyType({})


def below_in_pieces(
    documents: Documents, prefix: str, after: str | None = None
) -> Iterator[Sequence[tuple[str, bytes]]]:
    """Yield what `Documents.below` returns, some documents at a time, those that follow the name `after`. Raises
    StorageError.
    """
    count = 1
    while some := documents.some_below(prefix, after, count):
        yield some
        after = some[-1][0]
        is_little = sum([len(document) for _, document in some]) < TOGETHER_BYTES
        count = min(2 * count, TOGETHER_MAX) if is_little else max(count // 2, 1)


class SharedReading:
    """The reading of something from the documents of a store, some at a time, by whoever needs it. It begins anew if
    the store's content is replaced meanwhile.
    """

    def __init__(
        self, documents: Documents, read: Callable[[], Iterator[None]], when_read: Callable[[], None] = lambda: None
    ) -> None:
        """`read` reads something at each step, and takes it over after the last one; it does not give way itself.
        `when_read` is called after that.
        """
        self._documents, self._read, self._when_read = documents, read, when_read
        self._work = SharedWork()
        self._begun_generation = -1
        self.generation = -1
        """Generation of the content that was read last; -1: nothing has been read."""

    def finish(self) -> None:
        """Read, unless the present content has been read; gives way. Raises what `read` raises."""
        while self.generation != (generation := self._documents.generation):
            if not self.is_reading(generation):
                self._begun_generation = generation
                self._work.begin(self._pieces)
            self._work.finish()

    def is_reading(self, generation: int) -> bool:
        """True if the content of this generation is being read."""
        return self._work.is_left and self._begun_generation == generation

    def forget(self) -> None:
        """Read anew when `finish` is called next."""
        self.generation = -1
        self._work.give_up()

    def _pieces(self) -> Iterator[None]:
        generation = self._begun_generation
        for _ in self._read():
            yield
            if generation != self._documents.generation:
                return
        self.generation = generation
        self._when_read()


def decode_document(decode: Callable[[bytes], RecordT], name: str, document: bytes, noun: str) -> RecordT:
    """What `decode` makes of a document. Raises StorageCorruption for one that is no `noun`."""
    try:
        return decode(document)
    except (msgspec.MsgspecError, ValueError) as error:
        raise StorageCorruption(f"the document {name} is no {noun}: {error}") from error


def again_if_changed(work: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """`work`, which is done again if it raises RecordsChanged, up to RECORDS_TRIES_MAX times; then StorageError."""

    @wraps(work)
    async def repeated(*arguments: P.args, **options: P.kwargs) -> T:
        for _ in range(RECORDS_TRIES_MAX):
            with suppress(RecordsChanged):
                return await work(*arguments, **options)
        raise StorageError(f"others have changed the same records {RECORDS_TRIES_MAX} times meanwhile")

    return repeated


class WasRead(NamedTuple):
    """What a change follows from."""

    document: bytes | None
    """None: there was no such record."""


class RecordChange(NamedTuple):
    """What a write does to one record."""

    name: str
    """Name of the document."""
    document: bytes | None
    """None: the record is removed."""
    read: WasRead | None = None
    """None: the change is made whatever the document is."""
    remember: Callable[[bool], None] | None = None
    """Called after the write, with True if it has taken place."""


MakeChanges = Callable[[], Awaitable[Sequence[RecordChange]]]


async def _no_changes() -> Sequence[RecordChange]:
    return ()


class KeptRecords(Generic[RecordT]):
    """The records of one type. Every method that reads or writes raises StorageError;
    for a document that holds no such record, StorageCorruption.
    """

    def __init__(self, documents: Documents, prefix: str, kind: type[RecordT], noun: str) -> None:
        """`prefix` ends in `/`. `noun`: what a record is called in the message of StorageCorruption."""
        self.documents = documents
        self._prefix = prefix
        self._noun = noun
        self._decode = msgspec.json.Decoder(kind).decode

    def get(self, *path: str, gives_way: bool = False) -> RecordT | None:
        """The record with this path; None if there is none. `gives_way`: also while the document is decoded."""
        return self.find(*path, gives_way=gives_way)[0]

    def find(self, *path: str, gives_way: bool = False) -> tuple[RecordT | None, bytes | None]:
        """The record with this path as `get` returns it, and its document."""
        name = self._name(path)
        document = self.documents.get(name)
        if document is not None and gives_way:
            spend_decoding(len(document))
        return None if document is None else self._read(name, document), document

    def by_path(self, *begin: str) -> dict[str, RecordT]:
        """Paths as text → all records whose paths begin with these parts, in the order of their names; gives way, and
        begins anew if the store's content is replaced meanwhile.
        """
        while True:
            generation = self.documents.generation
            found = dict(self.walk(*begin))
            if generation == self.documents.generation:
                return found

    def walk(self, *begin: str, after: str | None = None) -> Iterator[tuple[str, RecordT]]:
        """Path and record as in `by_path`, one after the other, from the first one that follows the path `after`; gives
        way, and ends if the store's content is replaced meanwhile.
        """
        generation = self.documents.generation
        for some in self.pieces(*begin, after=after):
            yield from some
            look()
            if generation != self.documents.generation:
                return

    def pieces(
        self,
        *begin: str,
        after: str | None = None,
        note_damaged: Callable[[str, str], None] | None = None,
        note: Callable[[str, bytes], None] = lambda _path, _document: None,
    ) -> Iterator[list[tuple[str, RecordT]]]:
        """Path and record as in `by_path`, some at a time; does not give way. `note_damaged`: called with the path of
        each document that holds no record, and with what is wrong; without it, StorageCorruption is raised. `note`:
        called with path and document of each.
        """
        prefix = self._prefix + "".join([f"{part}/" for part in begin])
        for some in below_in_pieces(self.documents, prefix, None if after is None else self._prefix + after):
            read = []
            for name, document in some:
                note(self._path(name), document)
                try:
                    read.append((self._path(name), self._read(name, document)))
                except StorageCorruption as error:
                    if note_damaged is None:
                        raise
                    note_damaged(self._path(name), str(error))
            yield read

    def change(self, record: RecordT, *path: str, read: WasRead | None = None) -> RecordChange:
        """The change that creates or replaces a record. `read`: None if it is made whatever the record was."""
        return RecordChange(self._name(path), msgspec.json.encode(record), read)

    def removal(self, *path: str, read: WasRead | None = None) -> RecordChange:
        """The change that removes a record, if there is one. `read`: as in `change`."""
        return RecordChange(self._name(path), None, read)

    def updated(self, update: Callable[[RecordT | None], RecordT | None], *path: str) -> RecordChange:
        """The change that makes of a record what `update` returns for it. None: there is no record."""
        before, document = self.find(*path)
        return self._updated(update(before), WasRead(document), path)

    async def updated_in_steps(self, update: Callable[[RecordT | None], RecordT | None], *path: str) -> RecordChange:
        """As `updated`, but a task gives way, too: while a long record is read, before it is decoded, and before it is
        updated and encoded.
        """
        name = self._name(path)
        document = await self.documents.read(name)
        is_long = document is not None and len(document) >= LARGE_PIECE_BYTES
        if is_long:
            await PAUSE
        before = None if document is None else self._read(name, document)
        if is_long:
            await PAUSE
        return self._updated(update(before), WasRead(document), path)

    def _updated(self, after: RecordT | None, read: WasRead, path: tuple[str, ...]) -> RecordChange:
        return self.removal(*path, read=read) if after is None else self.change(after, *path, read=read)

    def replacement(self, before: RecordT | None, after: RecordT | None, *path: str) -> RecordChange:
        """The change of a record that was `before`. Raises RecordsChanged if it no longer is."""

        def update(present: RecordT | None) -> RecordT | None:
            if present != before:
                raise RecordsChanged
            return after

        return self.updated(update, *path)

    async def write(self, *changes: RecordChange, generation: int | None = None) -> bool:
        """Make changes, of records of other types too, in one commit, which has taken place on return.

        Returns False (nothing done) if `generation` is given and the store's content has been replaced since. Raises
        RecordsChanged (nothing done) if a document is no longer as it was read.
        """
        now = self.documents.generation
        read = {one.name: one.read.document for one in changes if one.read is not None}
        is_done = await self.documents.write({one.name: one.document for one in changes}, generation, read)
        is_same_content = now == self.documents.generation
        for one in changes:
            if one.remember is not None and is_same_content:
                one.remember(is_done)
        if not is_done and generation in {None, self.documents.generation}:
            raise RecordsChanged
        return is_done

    def _name(self, path: tuple[str, ...]) -> str:
        return self._prefix + "/".join(path)

    def path_of(self, name: str) -> str | None:
        """The path as text of the record whose document has this name; None if it is a record of another type."""
        return self._path(name) if name.startswith(self._prefix) else None

    def _path(self, name: str) -> str:
        return name[len(self._prefix) :]

    def _read(self, name: str, document: bytes) -> RecordT:
        return decode_document(self._decode, name, document, self._noun)


class RememberedRecords(Generic[RecordT]):
    """All records of one type in memory. They are read when first asked for, and anew when the store's content has been
    replaced; a write changes them only if it has taken place.

    Every method that reads or writes raises StorageError, and gives way while the records are read. A document that
    holds no record concerns whoever asks for its record, or for others of its groups (`groups_of_path`).
    """

    def __init__(
        self,
        records: KeptRecords[RecordT],
        path_of: Callable[[RecordT], tuple[str, ...]],
        *,
        groups_of: Callable[[RecordT], tuple[Hashable, ...]] = lambda _: (),
        groups_of_path: Callable[[str], tuple[Hashable, ...]] | None = None,
        correct: Callable[[RecordT], RecordT] = lambda record: record,
        when_read: Callable[[], None] = lambda: None,
    ) -> None:
        """`groups_of`: the groups that a record is found by; see `among`. `groups_of_path`: the same of a path; without
        it, no record can be had while the document of one holds none. `correct`: returns a record that was read as
        it is to be from now on. `when_read`: called when all have been read.
        """
        self._records = records
        self._path_of, self._groups_of, self._groups_of_path = path_of, groups_of, groups_of_path
        self._correct = correct
        self._by_path: dict[str, RecordT] = {}
        self._documents: dict[str, bytes] = {}
        """Path → document of the record, as it was read or written."""
        self._groups: dict[Hashable, dict[str, RecordT]] = {}
        self._damaged: dict[str, str] = {}
        """Path → what is wrong with the document, which holds no record."""
        self._reading = SharedReading(records.documents, self._read, when_read)
        self.order = asyncio.Lock()
        """A lock that is held while a change is made, so that what is remembered last was written last. Whoever changes
        other records that are written together with these holds it from reading to writing, so that none is refused.
        """

    @property
    def generation(self) -> int:
        """Generation of the content that was read last; -1: nothing has been read."""
        return self._reading.generation

    def by_path(self) -> Mapping[str, RecordT]:
        """Path as text → record: in the order of their names as they were read, then new ones."""
        self._reading.finish()
        for wrong in self._damaged.values():
            raise StorageCorruption(wrong)
        return self._by_path

    def _read(self) -> Iterator[None]:
        """Read all records, some at each step."""
        found: dict[str, RecordT] = {}
        documents: dict[str, bytes] = {}
        groups: dict[Hashable, dict[str, RecordT]] = {}
        damaged: dict[str, str] = {}
        note_damaged = None if self._groups_of_path is None else damaged.__setitem__
        for some in self._records.pieces(note_damaged=note_damaged, note=documents.__setitem__):
            for path, read in some:
                record = found[path] = self._correct(read)
                for group in self._groups_of(record):
                    groups.setdefault(group, {})[path] = record
            yield
        self._by_path, self._documents, self._groups, self._damaged = found, documents, groups, damaged

    def get(self, *path: str) -> RecordT | None:
        """The record with this path; None if there is none."""
        self._reading.finish()
        name = "/".join(path)
        if name in self._damaged:
            raise StorageCorruption(self._damaged[name])
        return self._by_path.get(name)

    def among(self, group: Hashable) -> Mapping[str, RecordT]:
        """Path as text → record, of the records in a group."""
        self._reading.finish()
        for path, wrong in self._damaged.items():
            if self._groups_of_path is not None and group in self._groups_of_path(path):
                raise StorageCorruption(wrong)
        return self._groups.get(group, NONE)

    def change(self, record: RecordT) -> RecordChange:
        """The change that creates a record, or replaces what it is now."""
        path = self._path_of(record)
        return self._from_remembered(path, self._records.change(record, *path), record)

    def removal(self, record: RecordT) -> RecordChange:
        """The change that removes a record as it is now."""
        path = self._path_of(record)
        return self._from_remembered(path, self._records.removal(*path), None)

    def _from_remembered(self, path: tuple[str, ...], change: RecordChange, record: RecordT | None) -> RecordChange:
        """`change`, after which the record of this path is `record`; refused unless it is as remembered."""
        text = "/".join(path)

        def remember(is_written: bool) -> None:
            if is_written:
                self._put(text, record, change.document)
            else:
                self._look_anew(path)

        return change._replace(read=WasRead(self._documents.get(text)), remember=remember)

    def require(self, record: RecordT) -> None:
        """Raise RecordsChanged if the record is no longer as it was read."""
        if self.get(*self._path_of(record)) != record:
            raise RecordsChanged

    async def write(self, *changes: RecordChange, others: MakeChanges = _no_changes) -> bool:
        """Make changes, as `KeptRecords.write` does. Returns False (nothing done) if the store's content
        has been replaced since these records were last asked for.

        `others`: makes changes of other records for the same commit, once it is this write's turn. It is not called,
        and no long document is written, if the write would be refused.
        """
        generation = self.generation
        async with self.order:
            if generation == self.generation and any(map(self._is_outdated, changes)):
                raise RecordsChanged
            return await self._records.write(*changes, *await others(), generation=generation)

    def _is_outdated(self, change: RecordChange) -> bool:
        """True if a record of these has been changed since `change` was made."""
        path = self._records.path_of(change.name)
        return path is not None and change.read is not None and change.read.document != self._documents.get(path)

    def forget(self) -> None:
        """Read all records anew when they are asked for next: the outcome of a write is not known."""
        self._reading.forget()

    def _look_anew(self, path: tuple[str, ...]) -> None:
        """Read a record that another writer may have changed."""
        try:
            record, document = self._records.find(*path)
        except StorageCorruption:
            self.forget()
        else:
            self._put("/".join(path), None if record is None else self._correct(record), document)

    def _put(self, path: str, record: RecordT | None, document: bytes | None) -> None:
        self._damaged.pop(path, None)
        self._documents.pop(path, None)
        if document is not None:
            self._documents[path] = document
        before = self._by_path.get(path) if record is not None else self._by_path.pop(path, None)
        if before is not None:
            for group in self._groups_of(before):
                self._groups[group].pop(path, None)
                if not self._groups[group]:
                    del self._groups[group]
        if record is not None:
            self._by_path[path] = record
            for group in self._groups_of(record):
                self._groups.setdefault(group, {})[path] = record
