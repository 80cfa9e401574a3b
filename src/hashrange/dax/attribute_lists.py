"""Which attributes does an item have? DAX's protocol names them once, as an attribute list with an id; the ids are equal on all nodes, and survive restarts.

    dax-attribute-list/{id}    → the list's names

A client keeps ids as long as it runs. So an id is sent only once its document is durable, and a list that was ever known stays known,
also when the store's content is replaced: no other list may get its id. Ids follow from the names, so that a server that has lost its
lists, such as one in memory after a restart, refuses an id from before and does not take it for another list. Source: dax.md 1.
"""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from hashrange.errors import HashrangeError
from hashrange.store.interface import WholeStore
from hashrange.wire.dax.reading import BadBytes

PREFIX = "dax-attribute-list/"
EMPTY_ID = 1
"""The id of the list without names, which no client asks for."""
LISTS_BYTES_MAX = 64 * 1024 * 1024
"""Memory of all lists: as many as come from a client that names its attributes at random."""
_LIST_BYTES = 200
_IDS = 2**30
"""So many ids are given; clients take an id for a signed integer of 32 bits at least."""


class TooManyLists(HashrangeError):
    """There is no memory for another attribute list."""


class AttributeLists:
    """The attribute lists of one server."""

    def __init__(self, store: WholeStore) -> None:
        """Reads the known lists. Raises StorageError."""
        self._store = store
        self._names: dict[int, tuple[str, ...]] = {EMPTY_ID: ()}
        self._ids: dict[tuple[str, ...], int] = {(): EMPTY_ID}
        self._size_bytes = 0
        self._generation = store.documents.generation
        self._unwritten: dict[int, tuple[str, ...]] = {}
        for name, content in store.documents.below(PREFIX):
            self._add(int(name.removeprefix(PREFIX)), tuple(msgspec.json.decode(content, type=list[str])))

    def names_of(self, list_id: int) -> Sequence[str]:
        """The names of a list, in order. Raises BadBytes for an unknown id."""
        try:
            return self._names[list_id]
        except KeyError:
            raise BadBytes("an unknown attribute list") from None

    def id_of(self, names: tuple[str, ...]) -> int:
        """The id of the list of these names, which is made if there is none; see `write`. Raises TooManyLists."""
        found = self._ids.get(names)
        if found is not None:
            return found
        if self._size_bytes > LISTS_BYTES_MAX:
            raise TooManyLists
        list_id = _first_id(names)
        while list_id in self._names:
            list_id += 1
        self._add(list_id, names)
        self._unwritten[list_id] = names
        return list_id

    @property
    def is_durable(self) -> bool:
        """True if every id may be sent: the store knows its list."""
        return not self._unwritten and self._generation == self._store.documents.generation

    async def write(self) -> None:
        """Write the lists that are not written yet. Their ids may be sent once the store's position after this is durable. Raises StorageError."""
        documents = self._store.documents
        if self._generation != documents.generation:
            self._generation = documents.generation
            self._unwritten = dict(self._names)
        written = dict(self._unwritten)
        await documents.write({f"{PREFIX}{list_id}": msgspec.json.encode(names) for list_id, names in written.items()})
        for list_id in written:
            self._unwritten.pop(list_id, None)

    def _add(self, list_id: int, names: tuple[str, ...]) -> None:
        self._names[list_id] = names
        self._ids[names] = list_id
        self._size_bytes += _LIST_BYTES + sum([len(name) + 60 for name in names])


def _first_id(names: tuple[str, ...]) -> int:
    """The id of these names, unless another list has it already."""
    digest = sha256(msgspec.json.encode(names)).digest()
    return EMPTY_ID + 1 + int.from_bytes(digest[:8], "big") % _IDS
