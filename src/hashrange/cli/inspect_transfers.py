"""What does `hashrange inspect` list of exports, imports and bulk puts? Tables of text, only if there is anything."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from hashrange.cli.inspect_backups import Listed, kept_records
from hashrange.operations.transfers.bulk_records import (
    BULK_PREFIX,
    BULK_PROGRESS_PREFIX,
    BulkProgress,
    BulkRecord,
    bulk_counts,
    bulk_input_bytes,
)
from hashrange.operations.transfers.export_records import (
    EXPORT_PREFIX,
    EXPORT_PROGRESS_PREFIX,
    ExportProgress,
    ExportRecord,
    exported_items,
)
from hashrange.operations.transfers.import_records import (
    IMPORT_PREFIX,
    IMPORT_PROGRESS_PREFIX,
    ImportProgress,
    ImportRecord,
    import_counts,
)
from hashrange.operations.transfers.transfer_records import TransferRecord
from hashrange.store.embedded.inspect import StoreOverview


class _Kind(NamedTuple):
    """How the transfers of one kind are listed."""

    head: str
    record: tuple[str, type[TransferRecord]]
    """How the names of the documents begin, and what is in them."""
    progress: tuple[str, type[Any]]
    figures: tuple[str, ...]


_EXPORTS = _Kind("export of", (EXPORT_PREFIX, ExportRecord), (EXPORT_PROGRESS_PREFIX, ExportProgress), ("items",))
_IMPORTS = _Kind(
    "import into",
    (IMPORT_PREFIX, ImportRecord),
    (IMPORT_PROGRESS_PREFIX, ImportProgress),
    ("items", "errors", "bytes"),
)
_BULK_PUTS = _Kind(
    "bulk put into",
    (BULK_PREFIX, BulkRecord),
    (BULK_PROGRESS_PREFIX, BulkProgress),
    ("items", "errors", "refused", "bytes"),
)
_KINDS = (_EXPORTS, _IMPORTS, _BULK_PUTS)
PREFIXES = tuple(prefix for kind in _KINDS for prefix in (kind.record[0], kind.progress[0]))
"""How names of the documents begin that are listed."""


def listed_transfers(overview: StoreOverview, only: str | None) -> Iterator[Listed]:
    """What is listed behind the tables; of one table if `only` names it. Raises StorageCorruption."""
    for kind in _KINDS:
        progress = kept_records(overview, *kind.progress, "transfer")
        rows = [
            _row(record, progress.get(path))
            for path, record in kept_records(overview, *kind.record, "transfer").items()
            if only in (None, record.table_name)
        ]
        if rows:
            yield [(kind.head, "account", "Region", "id", "status", *kind.figures), *rows], 5


def _row(record: TransferRecord, progress: Any) -> tuple[str, ...]:
    status = record.status if record.failure_code is None else f"{record.status} ({record.failure_code})"
    figures = [f"{figure:,}" for figure in _figures(record, progress)]
    return record.table_name, record.account, record.region, record.transfer_id, status, *figures


def _figures(record: TransferRecord, progress: Any) -> tuple[int, ...]:
    if isinstance(record, ExportRecord):
        return (exported_items(record, progress),)
    if isinstance(record, ImportRecord):
        imported = import_counts(record, progress)
        return imported.imported, imported.errors, imported.processed_bytes
    assert isinstance(record, BulkRecord)
    counts = bulk_counts(record, progress)
    put = counts.processed - counts.failed - counts.refused
    return put, counts.failed, counts.refused, bulk_input_bytes(record, progress)
