"""What does a search of a vector index ask for, and what does it find? No store is known here."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hashrange.items.types import Item
from hashrange.vectors.ranking import RankedRow


class VectorQuery(msgspec.Struct, frozen=True, gc=False):
    """What a search asks for."""

    hash_key: bytes | None
    """The start of the keys of all entries with the wanted value of the HASH attribute; None: all entries."""
    vector: bytes
    """The vector that is searched for: as many 32-bit floats as the index has dimensions."""
    top_k: int
    """How many entries are wanted at most."""
    test: Callable[[Item], bool] | None = None
    """True for the attributes of an entry that may be found; None: all may."""
    tested_names: frozenset[str] = frozenset()
    """The attributes that `test` reads."""


class FoundEntries(NamedTuple):
    """What a search has found."""

    entries: list[RankedRow]
    """Most similar first."""
    read_bytes: int
    """Item sizes of all entries that the search has read, those among them that `test` refused."""
