"""Is every long document whole? Its pieces are there, and have the lengths that the row that leads to them says.

Pieces that nothing leads to are no fault: a kill leaves them behind, and the next server deletes them.
"""

from collections.abc import Iterator

from hashrange.errors import StorageCorruption
from hashrange.store.embedded import layout
from hashrange.store.embedded.documents import long_documents
from hashrange.store.embedded.engine import Engine
from hashrange.store.embedded.pieces import document_pieces
from hashrange.store.embedded.reading import scan_prefix


def document_faults(engine: Engine) -> Iterator[str]:
    """A sentence for each document that is not whole, is stored twice, or is too long for its row."""
    short = set()
    for engine_key, row in scan_prefix(engine, layout.DOCUMENT_PREFIX):
        name = engine_key[len(layout.DOCUMENT_PREFIX) :].decode()
        short.add(name)
        if len(row) > layout.DOCUMENT_ROW_BYTES_MAX:
            yield f"the row of the document {name} has {len(row)} bytes, more than {layout.DOCUMENT_ROW_BYTES_MAX}"
    try:
        for name, long in long_documents(engine):
            if name in short:
                yield f"the document {name} is stored both in one row and in pieces"
            try:
                for _ in document_pieces(engine, name, long):
                    pass
            except StorageCorruption as error:
                yield str(error)
    except StorageCorruption as error:
        yield str(error)
