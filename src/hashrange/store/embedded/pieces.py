"""How is a long document divided into pieces, and read from them? Only rows and batches;
who writes them is `documents.py`, or `upgrade.py`.
"""

import secrets
from collections.abc import Iterator
from typing import Any

import rocksdict

from hashrange.errors import StorageCorruption
from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded import layout
from hashrange.store.embedded.layout import DOCUMENT_ROW_BYTES_MAX, LongDocument

COMMIT_BYTES_MAX = 4 * DOCUMENT_ROW_BYTES_MAX
"""Bytes of pieces that one commit writes, which takes some 1 ms, or that a read takes before it gives way."""


def new_long_document(size_bytes: int) -> LongDocument:
    """A place for the pieces of a document of this length."""
    return LongDocument(secrets.token_bytes(layout.PIECE_ID_BYTES), size_bytes)


def put_pieces(batch: rocksdict.WriteBatch, long: LongDocument, value: bytes, start: int) -> None:
    """Add the pieces of a long document from `start` on, at most COMMIT_BYTES_MAX, to a batch."""
    for at in range(start, min(len(value), start + COMMIT_BYTES_MAX), DOCUMENT_ROW_BYTES_MAX):
        key = layout.piece_key(long.id, at // DOCUMENT_ROW_BYTES_MAX)
        batch.put(key, value[at : at + DOCUMENT_ROW_BYTES_MAX])


def delete_pieces(batch: rocksdict.WriteBatch, piece_id: bytes) -> None:
    """Add the deletion of all pieces with this id to a batch."""
    prefix = layout.PIECE_PREFIX + piece_id
    batch.delete_range(prefix, prefix_upper_bound(prefix))


def document_pieces(engine: Any, name: str, long: LongDocument) -> Iterator[bytes]:
    """The pieces of a long document, in order. Raises StorageCorruption and the engine's bare exceptions."""
    return (document_piece(engine, name, long, number) for number in range(long.piece_count))


def document_piece(engine: Any, name: str, long: LongDocument, number: int) -> bytes:
    """One piece of a long document. Raises StorageCorruption and the engine's bare exceptions."""
    piece: bytes | None = engine.get(layout.piece_key(long.id, number))
    size_bytes = min(DOCUMENT_ROW_BYTES_MAX, long.size_bytes - number * DOCUMENT_ROW_BYTES_MAX)
    if piece is None or len(piece) != size_bytes:
        found = "is missing" if piece is None else f"has {len(piece)} bytes instead of {size_bytes}"
        raise StorageCorruption(f"piece {number} of the document {name} {found}")
    return piece


def piece_ids(engine: Any) -> Iterator[bytes]:
    """The ids for which there are pieces. Reads the first piece of each. Raises the engine's bare exceptions."""
    prefix, upper = layout.PIECE_PREFIX, prefix_upper_bound(layout.PIECE_PREFIX)
    options = rocksdict.ReadOptions()
    options.set_iterate_upper_bound(upper)
    iterator = engine.iter(options)
    try:
        iterator.seek(prefix)
        while iterator.valid():
            found = iterator.key()[len(prefix) : len(prefix) + layout.PIECE_ID_BYTES]
            yield found
            iterator.seek(layout.piece_key(found, layout.PIECE_NUMBER_MAX))
        iterator.status()
    finally:
        del iterator
