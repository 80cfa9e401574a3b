"""How is a folder of an older format converted? A server that opens it divides long documents and adds stream records
to the change logs, then adds missing partitions and table description members in one commit (docs/formats/store.md).
"""

from typing import Any

import rocksdict

from hashrange.errors import StorageFormatUnknown
from hashrange.items.keys import prefix_upper_bound
from hashrange.store.embedded import layout
from hashrange.store.embedded.former_formats import FORMER_RECORD_PREFIX, former_rows, rows_below
from hashrange.store.embedded.pieces import COMMIT_BYTES_MAX, new_long_document, put_pieces
from hashrange.tables.partitions import first_partitions

PARTITIONS_SINCE_VERSION = 5
STREAMS_SINCE_VERSION = 6
PIECES_SINCE_VERSION = 10
LOG_SINCE_VERSION = 12
"""Before this format, stream records belonged to shards."""


def check_format(engine: Any, place: str) -> None:
    """Store the format version in a new store, convert an older one.

    Raises StorageFormatUnknown for an unknown version, and for rows without a version; also StorageCorruption and the
    engine's bare exceptions.
    """
    row = engine.get(layout.FORMAT_KEY)
    if row is None and next(iter(engine.keys()), None) is not None:
        raise StorageFormatUnknown(f"{place} was not written by Hashrange: it holds rows but no format version.")
    version = layout.FORMAT_VERSION if row is None else int.from_bytes(row, "big")
    if version not in layout.READ_VERSIONS:
        raise StorageFormatUnknown(
            f"{place} has format {version}; this Hashrange reads format {layout.FORMAT_VERSION}."
            " Use the version that wrote it, or move the data with an export and an import."
        )
    if row is None or version < layout.FORMAT_VERSION:
        _convert(engine, version)


def _convert(engine: Any, version: int) -> None:
    """Store FORMAT_VERSION, missing partitions, and table descriptions with the members added since `version`.

    Before format STREAMS_SINCE_VERSION, tables only described their streams; the streams begin when the store is opened
    (`change_log.py`).
    """
    _divide_long_documents(engine)
    batch = rocksdict.WriteBatch(raw_mode=True)
    if version < LOG_SINCE_VERSION:
        batch.delete_range(*_add_to_logs(engine))
    for engine_key, row in rows_below(engine, layout.CATALOG_PREFIX):
        table = layout.decode_table(row)
        batch.put(engine_key, layout.encode_table(table))
        for source_id in table.sources if version < PARTITIONS_SINCE_VERSION else ():
            for partition in first_partitions(source_id):
                batch.put(layout.partition_key(partition), layout.encode_partition_row(partition))
    batch.put(layout.FORMAT_KEY, layout.FORMAT_VERSION.to_bytes(4, "big"))
    engine.write(batch)


def _add_to_logs(engine: Any) -> tuple[bytes, bytes]:
    """Add all stream records to the change logs of their tables; after a kill, they are added again.

    Returns the range of the engine keys under which they were stored.
    """
    batch, batch_bytes = rocksdict.WriteBatch(raw_mode=True), 0
    for _, engine_key, record in former_rows(engine):
        batch.put(engine_key, record)
        batch_bytes += len(record)
        if batch_bytes > COMMIT_BYTES_MAX:
            engine.write(batch)
            batch, batch_bytes = rocksdict.WriteBatch(raw_mode=True), 0
    engine.write(batch)
    return FORMER_RECORD_PREFIX, prefix_upper_bound(FORMER_RECORD_PREFIX)


def _divide_long_documents(engine: Any) -> None:
    """Store each long document in pieces. What a kill leaves half done is deleted, or done,
    when the store is opened again.
    """
    long = [
        engine_key
        for engine_key, row in rows_below(engine, layout.DOCUMENT_PREFIX)
        if len(row) > layout.DOCUMENT_ROW_BYTES_MAX
    ]
    for engine_key in long:
        row = engine.get(engine_key)
        divided = new_long_document(len(row))
        for start in range(0, len(row), COMMIT_BYTES_MAX):
            batch = rocksdict.WriteBatch(raw_mode=True)
            put_pieces(batch, divided, row, start)
            engine.write(batch)
        batch = rocksdict.WriteBatch(raw_mode=True)
        name = engine_key[len(layout.DOCUMENT_PREFIX) :]
        batch.put(layout.LONG_DOCUMENT_PREFIX + name, layout.encode_long_document(divided))
        batch.delete(engine_key)
        engine.write(batch)
