"""Which attributes does an item have? DAX's protocol names them once, as an attribute list with an id;
the ids are equal on all nodes, and survive restarts.

    dax-attribute-list/{account}/{id}    → the list's names

Each account has its own lists. A client keeps ids as long as it runs.
So an id is sent only once its document is durable, and a list stays known while clients of its account are connected,
also when the store's content is replaced. Ids follow from the names, so that a server that has lost its lists,
such as one in memory after a restart, refuses an id from before and does not take it for another list.

An account whose lists take too much memory makes no further ones. Its replies still name items' lists:
those are *passing*, known until some others have followed, and what names them is not cached. Source: dax.md 1.
"""

from collections.abc import Collection, Hashable, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgspec

from hashrange.errors import HashrangeError
from hashrange.items.steps import batches, spend_decoding, walk
from hashrange.store.interface import WholeStore
from hashrange.store.records import KeptRecords
from hashrange.wire.dax.reading import BadBytes

PREFIX = "dax-attribute-list/"
EMPTY_ID = 1
"""The id of the list without names, which no client asks for."""
LISTS_BYTES_MAX = 32 * 1024 * 1024
"""Memory of all lists of an account: as many as come from a client that names its attributes at random."""
PASSING_LISTS_MAX, PASSING_BYTES_MAX = 1_000, 4 * 1024 * 1024
"""Passing lists of an account that are known; the newest one in any case."""
NAME_BYTES_MAX = 65_535
NAMES_BYTES_MAX = 400 * 1024
"""Names of a list, with a byte for the value of each: an item has no more."""
LAYOUTS_MAX, LAYOUT_NAMES_MAX = 1_000, 256
"""Layouts of items of an account that are kept, and the names of the longest of them; see `AccountLists.layouts`."""
_LIST_BYTES, _NAME_BYTES = 200, 60
_IDS = 2**30
"""So many ids are given; clients take an id for a signed integer of 32 bits at least."""


class TooManyLists(HashrangeError):
    """There is no memory for another attribute list of this account."""


class _PassingList(NamedTuple):
    """A list that is known for a while."""

    names: tuple[str, ...]
    size_bytes: int


class AccountLists:
    """The attribute lists of one account."""

    def __init__(self, account: str, unwritten: dict[tuple[str, int], tuple[str, ...]]) -> None:
        """`unwritten`: takes new lists, by account and id."""
        self._account, self._unwritten = account, unwritten
        self._names: dict[int, tuple[str, ...]] = {EMPTY_ID: ()}
        self._ids: dict[tuple[str, ...], int] = {(): EMPTY_ID}
        self._size_bytes = self._passing_bytes = 0
        self._passing: dict[int, _PassingList] = {}
        """The oldest first."""
        self.passing_uses = 0
        """How many ids of passing lists have been given."""
        self.layouts: dict[Hashable, tuple[bytes, list[str]]] = {}
        """Table, and names of an item in its order → its attribute list's id as CBOR, and the names of that."""

    @property
    def is_full(self) -> bool:
        """True if no further list is made."""
        return self._size_bytes > LISTS_BYTES_MAX

    @property
    def known(self) -> dict[int, tuple[str, ...]]:
        """All lists that stay, by id."""
        return self._names

    def names_of(self, list_id: int) -> Sequence[str]:
        """The names of a list, in order. Raises BadBytes for an unknown id."""
        found = self._names.get(list_id)
        if found is not None:
            return found
        passing = self._passing.get(list_id)
        if passing is None:
            raise BadBytes("an unknown attribute list")
        return passing.names

    def define(self, names: tuple[str, ...]) -> int:
        """The id of the list of these names, for a client.
        Raises TooManyLists, and BadBytes for names that no item has.
        """
        if names not in self._ids:
            size_bytes = 0
            for name in walk(names):
                own_bytes = len(name.encode("utf-8", "surrogatepass"))
                size_bytes += own_bytes + 1
                if own_bytes > NAME_BYTES_MAX or size_bytes > NAMES_BYTES_MAX:
                    raise BadBytes("an attribute list that no item can have")
        return self.id_of(names, may_pass=False)

    def id_of(self, names: tuple[str, ...], *, may_pass: bool = True) -> int:
        """The id of the list of these names, which is made if there is none; see `AttributeLists.write`. Gives way.

        `may_pass`: it may be known for a while only. Otherwise raises TooManyLists.
        """
        found = self._ids.get(names)
        if found is not None:
            return found
        size_bytes, list_id = _size_bytes(names), _first_id(names)
        found = self._ids.get(names)
        if found is not None:
            return found  # another request has made it meanwhile
        while list_id in self._names or (list_id in self._passing and self._passing[list_id].names != names):
            list_id += 1
        if self.is_full:
            if not may_pass:
                raise TooManyLists
            self._pass(list_id, _PassingList(names, size_bytes))
        else:
            self._add(list_id, names, size_bytes)
            self._unwritten[self._account, list_id] = names
        return list_id

    def add(self, list_id: int, names: tuple[str, ...]) -> None:
        """Take over a list."""
        self._add(list_id, names, _size_bytes(names))

    def _add(self, list_id: int, names: tuple[str, ...], size_bytes: int) -> None:
        self._names[list_id] = names
        self._ids[names] = list_id
        self._size_bytes += size_bytes

    def _pass(self, list_id: int, made: _PassingList) -> None:
        self.passing_uses += 1
        passing = self._passing
        if passing.pop(list_id, None) is None:
            self._passing_bytes += made.size_bytes
        passing[list_id] = made
        while len(passing) > 1 and (len(passing) > PASSING_LISTS_MAX or self._passing_bytes > PASSING_BYTES_MAX):
            self._passing_bytes -= passing.pop(next(iter(passing))).size_bytes


class AttributeLists:
    """The attribute lists of one server."""

    def __init__(self, store: WholeStore) -> None:
        """Reads the known lists. Raises StorageError."""
        self._accounts: dict[str, AccountLists] = {}
        self._generation = store.documents.generation
        self._unwritten: dict[tuple[str, int], tuple[str, ...]] = {}
        self._lists = KeptRecords(store.documents, PREFIX, tuple[str, ...], "attribute list")
        self._gone: list[str] = []
        """Paths of lists that an earlier version has written, for all accounts together.
        They are not known any more; the next `write` removes them.
        """
        for path, names in self._lists.by_path().items():
            account, _, list_id = path.rpartition("/")
            if account:
                self.of(account).add(int(list_id), names)
            else:
                self._gone.append(path)

    def of(self, account: str) -> AccountLists:
        """The lists of an account."""
        found = self._accounts.get(account)
        if found is None:
            found = self._accounts[account] = AccountLists(account, self._unwritten)
        return found

    def forget(self, connected: Collection[str]) -> None:
        """Drop the lists of all accounts but those that have clients, `connected`, and room for further lists:
        the store's content has been replaced.
        """
        for account, lists in list(self._accounts.items()):
            lists.layouts.clear()
            if account not in connected or lists.is_full:
                del self._accounts[account]
                for place in [one for one in self._unwritten if one[0] == account]:
                    del self._unwritten[place]

    @property
    def is_durable(self) -> bool:
        """True if every id may be sent: the store knows its list."""
        return not self._unwritten and self._generation == self._lists.documents.generation

    async def write(self) -> None:
        """Write the lists that are not written yet. Their ids may be sent once the store's position after
        this is durable. Raises StorageError.
        """
        gone = self._gone
        if self._generation != (generation := self._lists.documents.generation):
            self._generation = generation
            gone = list(self._lists.by_path())
            self._unwritten.clear()
            for account, lists in self._accounts.items():
                self._unwritten.update({(account, list_id): names for list_id, names in lists.known.items() if names})
        written = dict(self._unwritten)
        await self._lists.write(
            *[self._lists.removal(path) for path in gone],
            *[self._lists.change(names, account, str(list_id)) for (account, list_id), names in written.items()],
        )
        self._gone.clear()
        for place in written:
            self._unwritten.pop(place, None)


def _size_bytes(names: tuple[str, ...]) -> int:
    return _LIST_BYTES + _NAME_BYTES * len(names) + sum([sum(map(len, some)) for some in batches(names)])


def _first_id(names: tuple[str, ...]) -> int:
    """The id of these names, unless another list has it already. Gives way."""
    spend_decoding(16 * len(names))
    digest = sha256(msgspec.json.encode(names)).digest()
    return EMPTY_ID + 1 + int.from_bytes(digest[:8], "big") % _IDS
