"""What is kept of a transfer, that is, of an export, an import or a bulk put? A record, which describes it for 90 days
and longer, and its progress while it is IN_PROGRESS. Both are documents; layout: docs/formats/transfers.md.
"""

from collections.abc import Callable
from typing import Annotated, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import Meta

from hashrange import limits
from hashrange.errors import LimitExceededException
from hashrange.operations.lasting import Lasting
from hashrange.operations.operation import Scope
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange

TransferStatus = Literal["IN_PROGRESS", "COMPLETED", "FAILED", "COMPLETED_WITH_ERRORS", "CANCELLING", "CANCELLED"]
"""The last three are those of bulk puts only."""
S3SseAlgorithm = Literal["AES256", "KMS"]

# The model's own patterns of these begin with `^` and end with `$`, which messages show.
BucketName = Annotated[str, Meta(max_length=255, pattern=r"^^[a-z0-9A-Z]+[\.\-\w]*[a-z0-9A-Z]+$$")]
BucketOwner = Annotated[str, Meta(pattern=r"^[0-9]{12}$")]
KeyPrefix = Annotated[str, Meta(max_length=1024)]
KmsKeyId = Annotated[str, Meta(min_length=1, max_length=2048)]


class TransferRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the records of all transfers have. Times are seconds of service time."""

    arn_part: ClassVar[str]
    """What stands between the ARN of the table and the id."""

    transfer_id: str
    account: str
    region: str
    table_name: str
    table_uuid: str
    token: str
    started_seconds: float
    status: TransferStatus = "IN_PROGRESS"
    ended_seconds: float = 0.0
    failure_code: str | None = None
    failure_message: str | None = None
    lasting: Lasting | None = None

    @property
    def path(self) -> tuple[str, ...]:
        """What identifies it, as in its documents' names."""
        return (self.account, self.region, self.transfer_id)

    @property
    def table_arn(self) -> str:
        """The ARN of its table."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.table_name}"

    @property
    def arn(self) -> str:
        """Its own ARN."""
        return f"{self.table_arn}/{self.arn_part}/{self.transfer_id}"


def folder_in(prefix: str | None) -> str:
    """The folder below a prefix of a request in which exports and reports lie. A prefix that ends in a slash gets no
    second one.
    """
    return f"{prefix.removesuffix('/')}/AWSDynamoDB/" if prefix else "AWSDynamoDB/"


TransferT = TypeVar("TransferT", bound=TransferRecord)
ProgressT = TypeVar("ProgressT")


class KeptTransfers(Generic[TransferT, ProgressT]):
    """All transfers of one kind. Every method raises StorageError."""

    def __init__(
        self,
        documents: Documents,
        kinds: tuple[type[TransferT], type[ProgressT]],
        prefixes: tuple[str, str],
        noun: str,
        beside: str | None = None,
    ) -> None:
        """`kinds`, `prefixes`: those of record and progress. `beside`: prefix of what else is kept of a transfer, as
        long as its record.
        """
        self._beside = beside
        self.records = KeptRecords(documents, prefixes[0], kinds[0], f"record of {noun}")
        self.progress = KeptRecords(documents, prefixes[1], kinds[1], f"progress of {noun}")

    def paths_in_progress(self) -> list[str]:
        """The paths of all that are in progress; gives way."""
        return list(self.progress.by_path())

    def find(self, path: str) -> tuple[TransferT | None, ProgressT | None]:
        """Record and progress of one."""
        parts = path.split("/")
        return self.records.get(*parts), self.progress.get(*parts)

    def all(self) -> list[tuple[TransferT, ProgressT | None]]:
        """All of every account and Region, those of each in the order in which they began; gives way."""
        progress = self.progress.by_path()
        return [(record, progress.get(path)) for path, record in self.records.by_path().items()]

    # --- for operations -------------------------------------------------------------------------

    def named(self, scope: Scope, arn: str) -> TransferT | None:
        """The transfer that has an ARN, in the scope's account and Region."""
        record = self.records.get(scope.account, scope.region, arn.rpartition("/")[2])
        return record if record is not None and record.arn == arn else None

    def earlier_use(self, scope: Scope, token: str | None, now_seconds: float) -> TransferT | None:
        """The transfer that a request with this client token has begun, as long as tokens are remembered."""
        if token is None:
            return None
        for _, record in self.records.walk(scope.account, scope.region):
            if record.token == token and now_seconds - record.started_seconds < limits.TRANSFER_TOKEN_SECONDS:
                return record
        return None

    def require_room(self, scope: Scope, most: int, refusal: str) -> None:
        """Raise LimitExceededException if so many are in progress. `refusal`: its message, with `{limit}`."""
        if len(self.progress.by_path(scope.account, scope.region)) >= most:
            raise LimitExceededException(refusal.format(limit=most))

    async def begin(self, record: TransferT, progress: ProgressT, *others: RecordChange) -> None:
        """Keep a new transfer; `others` in the same commit."""
        await self.records.write(
            self.records.change(record, *record.path), self.progress.change(progress, *record.path), *others
        )

    def page(
        self, scope: Scope, before: str | None, size: int, is_wanted: Callable[[TransferT], bool]
    ) -> tuple[list[TransferT], bool]:
        """Those of the last 90 days that are wanted and older than the transfer with the id `before`, the newest first,
        `size` at the most; and whether there are more.
        """
        since_seconds = scope.clock.service_time() - limits.TRANSFERS_LISTED_SECONDS
        found = [
            record
            for _, record in self.records.walk(scope.account, scope.region)
            if record.started_seconds >= since_seconds
            and (before is None or record.transfer_id < before)
            and is_wanted(record)
        ]
        found.sort(key=lambda record: record.transfer_id, reverse=True)
        return found[:size], len(found) > size

    # --- for jobs -------------------------------------------------------------------------------

    async def keep_progress(self, record: TransferT, progress: ProgressT, *others: RecordChange) -> None:
        """Keep how far a transfer has come; `others` in the same commit."""
        await self.progress.write(self.progress.change(progress, *record.path), *others)

    async def conclude(self, record: TransferT, *others: RecordChange) -> None:
        """Keep that a transfer has ended, and forget those that are no longer listed; `others` in the same commit."""
        since_seconds = record.ended_seconds - limits.TRANSFERS_LISTED_SECONDS
        records = self.records.walk(record.account, record.region)
        old = [one for _, one in records if 0 < one.ended_seconds < since_seconds]
        await self.records.write(
            self.records.change(record, *record.path),
            self.progress.removal(*record.path),
            *others,
            *[self.records.removal(*one.path) for one in old],
            *[RecordChange(self._beside + "/".join(one.path), None) for one in old if self._beside is not None],
        )
