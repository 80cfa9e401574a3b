"""What does a store keep in memory of its engine's content? All of it is read on any thread, while the store may
still serve another engine, and then put in place at once (`EmbeddedStore.load`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hashrange.items.types import Key
from hashrange.store.embedded.catalog import StoredCatalog, read_catalog
from hashrange.store.embedded.documents import StoredDocuments, read_documents
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.participant import Options, Participant
from hashrange.store.embedded.walks import Walks


class StoredContent(NamedTuple):
    """What one engine holds, made ready for one store, which takes it over."""

    catalog: StoredCatalog
    documents: StoredDocuments
    walks: dict[bytes, Key]
    """As `Walks.positions`."""
    of_participants: Sequence[Any]
    """What `Participant.read` has returned, in the order of the participants."""


def read_content(engine: Engine, options: Options, participants: Sequence[Participant], walks: Walks) -> StoredContent:
    """Read a newly opened engine. 25 µs for each table, 30 µs for each shard of a stream.

    Raises StorageCorruption and the engine's bare exceptions.
    """
    catalog = read_catalog(engine, options)
    tables = [table.schema for table in catalog.by_id.values()]
    read = [one.read(engine, tables) for one in participants]
    return StoredContent(catalog, read_documents(engine), walks.read(engine, tables), read)
