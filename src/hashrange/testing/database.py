"""Which database does a test get? A `Database` in its own process: boto3 clients without sockets, and its content copied, restored or emptied."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from hashrange.clock import Clock, MovableClock, SystemClock
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint
from hashrange.testing.botocore_transport import Transport
from hashrange.testing.in_process import InProcess

CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
"""What clients are made with, unless the caller names other values: any are accepted."""


class Snapshot:
    """The whole content of a database at one moment, until `release` or the end of the database."""

    def __init__(self, process: InProcess, checkpoint: Checkpoint) -> None:
        self._process = process
        self.checkpoint = checkpoint

    def release(self) -> None:
        """Free the snapshot's files; databases that were restored from it or forked keep their content."""
        self._process.run(self.checkpoint.release)


class Database:
    """A database in this process, on a thread of its own; a context manager. Its methods may be called on any thread."""

    def __init__(self, settings: Settings, clock: Clock, checkpoint: Checkpoint | None = None) -> None:
        """Start the database; returns when it is open. Raises StorageError. `checkpoint`: the content to begin with."""
        self._settings = settings
        self._clock = clock
        self._process = InProcess(open_with=partial(open_service, settings, clock, checkpoint=checkpoint))
        self._transport = Transport(self._process)

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """A boto3 client of `dynamodb` or `dynamodbstreams` that calls this database; `options` as for boto3."""
        return self._session().client(service, **(CREDENTIALS | options))

    def resource(self, **options: Any) -> Any:
        """A boto3 resource of DynamoDB that calls this database; `options` as for boto3."""
        return self._session().resource("dynamodb", **(CREDENTIALS | options))

    def reset(self) -> None:
        """Delete all content."""
        self._process.run(self._process.service.store.restore, None)

    def snapshot(self) -> Snapshot:
        """Copy the whole content."""
        return Snapshot(self._process, self._process.run(self._process.service.store.checkpoint))

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the whole content by that of a snapshot of this database, or of one that it was forked from."""
        self._process.run(self._process.service.store.restore, snapshot.checkpoint)

    def fork(self) -> "Database":
        """Start a second database with the same content; neither sees what is written to the other from now on."""
        snapshot = self.snapshot()
        try:
            return Database(self._settings, self._clock, snapshot.checkpoint)
        finally:
            snapshot.release()

    def close(self) -> None:
        """End the database."""
        self._process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _session(self) -> Any:
        import boto3  # noqa: PLC0415 - an optional dependency, and slow to import

        session = boto3.Session()
        self._transport.attach(session)
        return session


@contextmanager
def server(settings: Settings | None = None) -> Iterator[Database]:
    """Yield a database in memory that ends with the `with` block; `settings`: other ones than the defaults."""
    with Database(settings or Settings(data_dir=None), MovableClock(SystemClock())) as database:
        yield database
