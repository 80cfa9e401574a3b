"""What does `hashrange inspect` list of recovery, backups and restores? Tables of text, only if there is anything."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from hashrange.errors import StorageCorruption
from hashrange.operations.backups.kept_backups import BACKUP_PREFIX, RESTORE_PREFIX, Backup, Restore
from hashrange.store.embedded.inspect import StoreOverview
from hashrange.store.records import decode_document
from hashrange.store.statistics import Statistics

PREFIXES = (BACKUP_PREFIX, RESTORE_PREFIX)
"""How names of the documents begin that are listed."""
Listed = tuple[list[tuple[str, ...]], int]
"""Rows, of which the first is the head, and how many columns are words; the others are numbers."""


def listed(overview: StoreOverview, only: str | None) -> Iterator[Listed]:
    """What is listed behind the tables; of one table if `only` names it. Raises StorageCorruption."""
    backups = kept_records(overview, BACKUP_PREFIX, Backup, "backup").values()
    restores = kept_records(overview, RESTORE_PREFIX, Restore, "restore of a table").values()
    recovery = [
        (table.name, table.schema.account, table.schema.region, _time(one.since_seconds), f"{one.period_days}")
        for table, _ in overview.tables
        if (one := table.schema.recovery) is not None and only in (None, table.name)
    ]
    if recovery:
        yield [("recovery of", "account", "Region", "on since", "days"), *recovery], 4
    kept = [
        _backup_row(overview, one)
        for one in backups
        if one.state in ("CREATING", "AVAILABLE") and only in (None, one.table.name)
    ]
    if kept:
        yield [("backup of", "account", "Region", "id", "name", "status", "items", "bytes"), *kept], 6
    filling = [row for one in restores if only in (None, one.table_name) and (row := _restore_row(overview, one))]
    if filling:
        yield [("restore of", "account", "Region", "from", "items", "done"), *filling], 4


def kept_records(overview: StoreOverview, prefix: str, kind: type[Any], what: str) -> dict[str, Any]:
    """Path → record of each document below a prefix. Raises StorageCorruption, which says `what` is damaged."""
    decode = msgspec.json.Decoder(kind).decode
    return {
        name.removeprefix(prefix): decode_document(decode, name, document, what)
        for name, document in overview.documents
        if name.startswith(prefix)
    }


def _backup_row(overview: StoreOverview, backup: Backup) -> tuple[str, ...]:
    figures = overview.kept.get(backup.owner)
    if figures is None:
        raise StorageCorruption(f"no rows are kept for {backup.owner}")
    place = (backup.table.name, backup.account, backup.region)
    return (*place, backup.backup_id, backup.name, backup.state, f"{figures.item_count:,}", f"{figures.size_bytes:,}")


def _restore_row(overview: StoreOverview, restore: Restore) -> tuple[str, ...] | None:
    """The row of a restore that is in progress; None if it has ended."""
    place = (restore.account, restore.region, restore.table_name)
    found: list[Statistics] = [
        figures
        for table, figures in overview.tables
        if (table.schema.account, table.schema.region, table.name) == place and table.schema.is_filling
    ]
    if not found:
        return None
    source = restore.backup.rpartition("/")[2] if restore.backup else f"table {restore.source and restore.source.name}"
    return (*place[2:], *place[:2], source, f"{restore.item_count:,}", f"{found[0].item_count:,}")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
