"""Which backups are there, and which tables are being restored? What is kept of each, as a document of the store.

The name of a document is the owner of the rows and the copy that belong to it (`store/row_copies.py`), so that whoever
finds either finds the other. A record is written before its copy begins, and removed after its rows: what a kill
leaves in between is settled by a job (`backups/settling.py`), and no client sees it.
Source of ids and times: service behaviour, captures of October 2026.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, NamedTuple

import msgspec

from hashrange.errors import AccessDeniedException, BackupNotFoundException, ValidationException
from hashrange.items.steps import spend
from hashrange.messages import backups as say
from hashrange.operations.lasting import Lasting
from hashrange.operations.operation import Scope
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords
from hashrange.tables.schema import Table

BACKUP_PREFIX = "backup/"
RESTORE_PREFIX = "restore/"
COPY_JOB = "row copying"
"""Name of the job that moves rows and settles what has been left."""
TAKEN_STEPS = 20
"""Steps that looking for a backup of one millisecond takes."""
SYSTEM_SUFFIX = "00000000"
"""How ids of backups of deleted tables end."""
_BACKUP_ARN = re.compile(
    r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([a-zA-Z0-9_.-]{3,255})/backup/([0-9]{14}-[0-9a-f]{8})"
).fullmatch


class Backup(msgspec.Struct, frozen=True, omit_defaults=True):
    """A backup of a table. Times are seconds of service time."""

    account: str
    region: str
    backup_id: str
    """Time in milliseconds, 14 digits, `-` and eight hexadecimal digits. No two backups of a Region share the time."""
    name: str
    table: Table
    """The table as it was, without tags and policies."""
    created_at_seconds: float
    state: Literal["BEGUN", "CREATING", "AVAILABLE", "DELETED"] = "BEGUN"
    """BEGUN until the copy of the rows has begun: nobody sees the backup yet; CREATING until its rows stand alone;
    DELETED until the rows are gone: nobody sees it any more."""
    item_count: int = 0
    size_bytes: int = 0
    expires_at_seconds: float | None = None
    """When the backup of a deleted table is deleted; None for one that a client has made."""
    shown_from_seconds: float = 0.0
    """Nobody sees the backup of a deleted table before it is gone."""
    lasting: Lasting | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """What identifies it, as in its document's name."""
        return (self.account, self.region, self.backup_id)

    @property
    def owner(self) -> str:
        """Name of the document, which is the owner of the backup's rows."""
        return BACKUP_PREFIX + "/".join(self.path)

    @property
    def arn(self) -> str:
        """The backup's Amazon Resource Name."""
        return f"{self.table.arn}/backup/{self.backup_id}"

    @property
    def is_system(self) -> bool:
        """True if the service has made it of a deleted table."""
        return self.expires_at_seconds is not None

    def is_shown(self, now_seconds: float) -> bool:
        """True if clients see the backup."""
        return self.state in ("CREATING", "AVAILABLE") and self.shown_from_seconds <= now_seconds


class Restore(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table that is being restored; what it is restored from is one of these."""

    account: str
    region: str
    table_name: str
    backup: str | None = None
    """Name of the backup's document."""
    source: Table | None = None
    """The table that is restored to a point in time."""
    at_seconds: float | None = None
    """The moment of which `source` gets the items; None: when the copy begins."""
    item_count: int = 0
    """Items that the table will have, approximately: those of its source when the restore began."""
    lasting: Lasting | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """What identifies it, as in its document's name."""
        return (self.account, self.region, self.table_name)

    @property
    def owner(self) -> str:
        """Name of the document, which is the owner of the copy."""
        return RESTORE_PREFIX + "/".join(self.path)

    @property
    def operation(self) -> str:
        """Name of the operation that has begun it."""
        return "RestoreTableToPointInTime" if self.backup is None else "RestoreTableFromBackup"


def backups_of(documents: Documents) -> KeptRecords[Backup]:
    """What is kept of all backups."""
    return KeptRecords(documents, BACKUP_PREFIX, Backup, "backup")


async def record_backup(scope: Scope, backup: Backup) -> None:
    """Keep a backup as it is now. Raises StorageError."""
    records = backups_of(scope.documents)
    await records.write(records.change(backup, *backup.path))


def restores_of(documents: Documents) -> KeptRecords[Restore]:
    """What is kept of all restores that are in progress."""
    return KeptRecords(documents, RESTORE_PREFIX, Restore, "restore of a table")


def new_backup(scope: Scope, table: Table, name: str, suffix: str | None = None) -> Backup:
    """The record of a backup of a table, made now: it takes the next millisecond in which no other was made. `suffix`:
    the end of its id; None: eight digits that look random. Raises StorageError.
    """
    now_seconds = scope.clock.service_time()
    now_ms = int(now_seconds * 1000)
    place = f"{BACKUP_PREFIX}{scope.account}/{scope.region}/"
    while _is_taken(scope, f"{place}{now_ms:014d}-"):
        spend(TAKEN_STEPS)
        now_ms += 1
    digest = hashlib.sha256(f"{scope.account}/{scope.region}/{table.uuid}/{now_ms}".encode()).hexdigest()
    backup_id = f"{now_ms:014d}-{suffix or _not_system(digest[:8])}"
    return Backup(scope.account, scope.region, backup_id, name, recorded_table(table), now_seconds)


def _is_taken(scope: Scope, begin: str) -> bool:
    """True if a document has a name that begins so, or will have at once."""
    is_attended = any(owner.startswith(begin) for owner in scope.row_copies.attended)
    return is_attended or bool(scope.documents.some_below(begin, None, 1))


def _not_system(digits: str) -> str:
    return "00000001" if digits == SYSTEM_SUFFIX else digits


def recorded_table(table: Table) -> Table:
    """The table as backups record it."""
    return msgspec.structs.replace(table, tags={}, policy=None, stream_policies={}, kinesis_destinations=())


# --- ARNs -----------------------------------------------------------------------------------------


class BackupPlace(NamedTuple):
    """What the ARN of a backup names."""

    region: str
    table_name: str
    backup_id: str


def read_backup_arn(scope: Scope, arn: str) -> BackupPlace:
    """What an ARN names. Raises ValidationException for a text that is none, AccessDeniedException for another
    account's.
    """
    match = _BACKUP_ARN(arn)
    if match is None:
        raise ValidationException(say.INVALID_BACKUP_ARN)
    region, account, table_name, backup_id = match.groups()
    if account != scope.account:
        raise AccessDeniedException(say.BACKUP_DENIED)
    return BackupPlace(region, table_name, backup_id)


def find_backup(scope: Scope, arn: str, region: str | None = None) -> Backup:
    """The backup of an ARN. As in the service, the Region in it is not looked at unless `region` is given; a backup
    in a Region that the sender's key does not reach is not found. Raises what `read_backup_arn` raises, and
    BackupNotFoundException.
    """
    place = read_backup_arn(scope, arn)
    backup = backups_of(scope.documents).get(scope.account, region or scope.region, place.backup_id)
    is_there = backup is not None and backup.table.name == place.table_name and scope.reaches(backup.region)
    if backup is None or not is_there or not backup.is_shown(scope.clock.service_time()):
        raise BackupNotFoundException(say.BACKUP_NOT_FOUND.format(arn=arn))
    return backup


@contextmanager
def attending(scope: Scope, owner: str) -> Iterator[None]:
    """Within the context, the job leaves the owner's rows and copy alone; at its end, the job looks for work."""
    try:
        with scope.row_copies.attending(owner):
            yield
    finally:
        scope.wake_job(COPY_JOB)
