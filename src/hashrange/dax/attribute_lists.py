"""Which attributes does an item have? DAX's protocol names them once, as an attribute list with an id;
the ids are equal on all nodes, and survive restarts.

    dax-attribute-list/{account}/{id}        → the list's names
    dax-attribute-lists-bytes/{account}      → how much memory the account's lists would take

Each account has its own lists. A client keeps ids as long as it runs, so an id is sent only once its document is
durable. Memory holds the lists that were used last, of all accounts together; the others are read again when somebody
names them. Ids follow from the names, so that a server that has lost its lists, such as one in memory after a restart,
refuses an id from before and does not take it for another list.

When the store's content is replaced, the lists in memory of accounts with clients stay known, and are written again
when they are used. An account whose lists take too much makes no further ones. Its replies still name items' lists:
those are *passing*, known until some others have followed, and what names them is not cached. Source: dax.md 1.
"""

from collections import Counter, OrderedDict
from collections.abc import Collection, Hashable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import msgspec

from hashrange.errors import HashrangeError
from hashrange.items.steps import batches, look, spend, spend_decoding, walk
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, again_if_changed
from hashrange.wire.dax.reading import BadBytes

PREFIX = "dax-attribute-list/"
SIZES_PREFIX = "dax-attribute-lists-bytes/"
EMPTY_ID = 1
"""The id of the list without names, which no client asks for."""
LISTS_BYTES_MAX = 32 * 1024 * 1024
"""Size of all lists of an account, as memory would hold them: a client may name its attributes at random."""
KNOWN_BYTES_MAX = 64 * 1024 * 1024
"""Memory of lists that were used last, of all accounts."""
PASSING_LISTS_MAX, PASSING_BYTES_MAX = 50_000, 32 * 1024 * 1024
"""Passing lists of all accounts that are known: more than a page of 1 MB names; the newest one in any case."""
NAME_BYTES_MAX = 65_535
NAMES_BYTES_MAX = 400 * 1024
"""Names of a list, with a byte for the value of each: an item has no more."""
LAYOUTS_MAX, LAYOUT_NAMES_MAX = 1_000, 256
"""Layouts of items that are kept, and the names of the longest of them; see `AttributeLists.layouts`."""
WRITTEN_LISTS, WRITTEN_BYTES = 200, 64 * 1024
"""Lists that one commit writes, or fewer if their names have this many bytes: about a millisecond."""
SIZES_MAX = 10_000
"""Accounts whose size is remembered."""
_LIST_BYTES, _NAME_BYTES = 200, 60
_IDS = 2**30
"""Number of ids that can be given; clients take an id for a signed integer of 32 bits at least."""

ListPlace = tuple[str, int]
"""Account and id."""


class TooManyLists(HashrangeError):
    """There is no memory for another attribute list of this account."""


class _KnownList(NamedTuple):
    names: tuple[str, ...]
    size_bytes: int
    generation: int = -1
    """That of the content that has the list's document, or is to get it; -1 for a passing list, which has none."""


class AttributeLists:
    """The attribute lists of one server."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._lists = KeptRecords(documents, PREFIX, list[str], "attribute list")
        self._sizes = KeptRecords(documents, SIZES_PREFIX, int, "size of attribute lists")
        self.generation = documents.generation
        """That of the content of which these are the lists."""
        self._clients = Counter[str]()
        """Account → number of its clients, if there are any."""
        self._kept: frozenset[str] = frozenset()
        """Accounts that had clients when the store's content was replaced last."""
        self._known: OrderedDict[ListPlace, _KnownList] = OrderedDict()
        """Lists that have been used, the last one last."""
        self._ids: dict[tuple[str, tuple[str, ...]], int] = {}
        """Account and names → id, of the same lists."""
        self._known_bytes = self._passing_bytes = 0
        self._unwritten: dict[ListPlace, tuple[str, ...]] = {}
        self._passing: OrderedDict[ListPlace, _KnownList] = OrderedDict()
        """The oldest first."""
        self._sizes_bytes: dict[str, int] = {}
        """By account, for those that have been asked for."""
        self.passing_uses = 0
        """How many ids of passing lists have been given."""
        self.layouts: dict[tuple[Hashable, ...], tuple[bytes, list[str]]] = {}
        """Account, table, and names of an item in its order → its attribute list's id as CBOR, and the names of that
        list."""

    def count_client(self, account: str, change: int) -> None:
        """A client of this account has come (1) or gone (-1)."""
        self._clients[account] += change
        if not self._clients[account]:
            del self._clients[account]

    def forget(self) -> None:
        """Let lists of accounts that have no clients be unknown, unless the store has them:
        the store's content has been replaced.
        """
        self._kept = frozenset(self._clients)
        self._see_content()

    def _see_content(self) -> None:
        if self.generation != self._documents.generation:
            self.generation = self._documents.generation
            self._sizes_bytes.clear()
            self.layouts.clear()
            self._unwritten.clear()

    # --- lists ----------------------------------------------------------------------------------

    def names_of(self, account: str, list_id: int) -> Sequence[str]:
        """The names of a list, in order. Raises StorageError, and BadBytes for an unknown id."""
        found = self.find((account, list_id))
        if found is None:
            raise BadBytes("an unknown attribute list")
        return found

    def define(self, account: str, names: tuple[str, ...]) -> int:
        """The id of the list of these names, for a client.
        Raises StorageError, TooManyLists, and BadBytes for names that no item has.
        """
        size_bytes = 0
        for name in walk(names):
            own_bytes = len(name.encode("utf-8", "surrogatepass"))
            size_bytes += own_bytes + 1
            if own_bytes > NAME_BYTES_MAX or size_bytes > NAMES_BYTES_MAX:
                raise BadBytes("an attribute list that no item can have")
        return self.id_of(account, names, may_pass=False)

    def find(self, place: ListPlace) -> tuple[str, ...] | None:
        """The names of a list; None if there is none. Raises StorageError."""
        if place[1] == EMPTY_ID:
            return ()
        self._see_content()
        known = self._known.get(place)
        if known is not None and known.generation != self.generation:
            known = self._of_former_content(place, known)
        if known is not None:
            if place in self._known:
                self._known.move_to_end(place)
            return known.names
        unwritten = self._unwritten.get(place)
        if unwritten is not None:
            return unwritten
        passing = self._passing.get(place)
        return self._read(place) if passing is None else passing.names

    def _of_former_content(self, place: ListPlace, known: _KnownList) -> _KnownList | None:
        """A list that was used before the store's content was replaced, which is written again if the content lacks it;
        None: it is gone. Gives way.
        """
        account, list_id = place
        if account not in self._kept:
            self._drop(place)
            return None
        listed = self._lists.get(account, str(list_id), gives_way=True)
        if self._known.get(place) is known and known.generation != self.generation:
            self._known[place] = known._replace(generation=self.generation)
            if listed is None or tuple(listed) != known.names:
                self._sizes_bytes[account] = self.size_bytes(account) + known.size_bytes
                self._unwritten[place] = known.names
        return known

    def _read(self, place: ListPlace) -> tuple[str, ...] | None:
        """The names of a list that is not in memory. Gives way."""
        account, list_id = place
        generation = self.generation
        listed = self._lists.get(account, str(list_id), gives_way=True)
        if listed is None:
            return None
        names = tuple(listed)
        size_bytes = _size_bytes(names)
        if generation == self._documents.generation and place not in self._known:
            self._remember(place, names, size_bytes)
        return names

    def id_of(self, account: str, names: tuple[str, ...], *, may_pass: bool = True) -> int:
        """The id of the list of these names, which is made if there is none; see `write`. Gives way.

        `may_pass`: it may be known for a while only. Otherwise raises TooManyLists. Raises StorageError.
        """
        if not names:
            return EMPTY_ID
        self._see_content()
        made = self._ids.get((account, names))
        if made is not None and self.find((account, made)) == names:
            return made
        list_id, size_bytes = first_id(names), _size_bytes(names)
        while (holder := self.find((account, list_id))) is not None and holder != names:
            list_id += 1
        place = (account, list_id)
        if place in self._passing and place not in self._known:
            self._pass(place, self._passing[place])
        elif holder is None:  # nothing has given way since that was found
            if self.size_bytes(account) > LISTS_BYTES_MAX:
                if not may_pass:
                    raise TooManyLists
                self._pass(place, _KnownList(names, size_bytes))
            else:
                self._sizes_bytes[account] += size_bytes
                self._unwritten[place] = names  # first, as the next line may give way
                self._remember(place, names, size_bytes)
        return list_id

    def size_bytes(self, account: str) -> int:
        """Size of all lists of an account. Raises StorageError."""
        found = self._sizes_bytes.get(account)
        if found is None:
            if len(self._sizes_bytes) >= SIZES_MAX:
                self._sizes_bytes.clear()
            found = self._sizes_bytes[account] = self._sizes.get(account) or 0
        return found

    def _remember(self, place: ListPlace, names: tuple[str, ...], size_bytes: int) -> None:
        """Keep a list in memory, which may have no room for 90,000 others then. Gives way."""
        self._known[place] = _KnownList(names, size_bytes, self.generation)
        self._ids[place[0], names] = place[1]
        self._known_bytes += size_bytes
        while self._known_bytes > KNOWN_BYTES_MAX and len(self._known) > 1:
            self._drop(next(iter(self._known)))
            spend(1)

    def _drop(self, place: ListPlace) -> None:
        gone = self._known.pop(place)
        self._known_bytes -= gone.size_bytes
        if self._ids.get((place[0], gone.names)) == place[1]:
            del self._ids[place[0], gone.names]

    def _pass(self, place: ListPlace, made: _KnownList) -> None:
        """Let a list be known until some others have followed. Gives way."""
        self.passing_uses += 1
        passing = self._passing
        if passing.pop(place, None) is None:
            self._passing_bytes += made.size_bytes
        passing[place] = made
        while len(passing) > 1 and (len(passing) > PASSING_LISTS_MAX or self._passing_bytes > PASSING_BYTES_MAX):
            self._passing_bytes -= passing.popitem(last=False)[1].size_bytes
            spend(1)

    # --- documents --------------------------------------------------------------------------------

    @property
    def is_durable(self) -> bool:
        """True if every id may be sent: the store knows its list."""
        return not self._unwritten and self.generation == self._documents.generation

    async def write(self) -> None:
        """Write the lists that are not written yet, some in each commit. Their ids may be sent once the position
        of the store after this is durable. Gives way. Raises StorageError.
        """
        self._see_content()
        left = list(self._unwritten)
        while left:
            changes: dict[ListPlace, RecordChange] = {}
            added_bytes = Counter[str]()
            changed_bytes = 0
            while left and len(changes) < WRITTEN_LISTS and changed_bytes < WRITTEN_BYTES:
                account, list_id = place = left.pop()
                names = self._unwritten.get(place)
                if names is not None:
                    changes[place] = self._lists.change(list(names), account, str(list_id))
                    added_bytes[account] += _size_bytes(names)
                    changed_bytes += len(changes[place].document or b"")
            if changes and await self._write_some(changes.values(), added_bytes, self.generation):
                for place in changes:
                    self._unwritten.pop(place, None)
            look()

    @again_if_changed
    async def _write_some(
        self, lists: Collection[RecordChange], added_bytes: Mapping[str, int], generation: int
    ) -> bool:
        """Write lists, and add their sizes to those of their accounts. False if the content was replaced."""
        sizes = [self._sizes.updated(partial(_sum, more), account) for account, more in added_bytes.items()]
        return await self._lists.write(*lists, *sizes, generation=generation)


def _sum(more: int, size_bytes: int | None) -> int:
    return (size_bytes or 0) + more


def _size_bytes(names: tuple[str, ...]) -> int:
    return _LIST_BYTES + _NAME_BYTES * len(names) + sum([sum(map(len, some)) for some in batches(names)])


def first_id(names: tuple[str, ...]) -> int:
    """The id of these names, unless another list of the account has it already. Gives way."""
    spend_decoding(16 * len(names))
    digest = sha256(msgspec.json.encode(names)).digest()
    return EMPTY_ID + 1 + int.from_bytes(digest[:8], "big") % _IDS
