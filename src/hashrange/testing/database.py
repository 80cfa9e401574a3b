"""Which database does a test get? A `Database` in the test's process: boto3 clients without sockets, and content that can be copied, restored or emptied."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self

from hashrange.clock import MovableClock, ServiceTimeState, SystemClock
from hashrange.jobs.virtual_time import advance
from hashrange.service.opening import open_service
from hashrange.settings import Settings
from hashrange.store.copying import Checkpoint
from hashrange.testing.botocore_transport import Transport
from hashrange.testing.in_process import InProcess

CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
"""Credentials and Region of clients and resources, unless the caller gives others; any are accepted."""


class ServiceTime:
    """The service time of one database: what its time to live, states, tokens and delays go by."""

    def __init__(self, process: InProcess, clock: MovableClock) -> None:
        self._process = process
        self._clock = clock

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.service_time()

    def advance(self, seconds: float) -> None:
        """Move service time ahead; returns when all that became due has been done. Raises ValueError for less than 0."""
        if not seconds >= 0:
            raise ValueError(f"service time moves ahead only, not by {seconds} seconds")
        self._process.run(advance, self._clock, self._process.service.jobs, seconds)

    def freeze(self) -> None:
        """Let service time stand still, except for `advance`, until `resume`."""
        self._process.run(self._clock.freeze)

    def resume(self) -> None:
        """Let service time run again, from where it stands."""
        self._process.run(self._clock.resume)


class Snapshot:
    """The whole content of a database at one moment, and its service time, until `release` or the database's end."""

    def __init__(self, process: InProcess, checkpoint: Checkpoint, time_state: ServiceTimeState) -> None:
        self._process = process
        self.checkpoint = checkpoint
        self.time_state = time_state

    def release(self) -> None:
        """Free the snapshot's files; databases that were restored from it or forked keep their content."""
        self._process.run(self.checkpoint.release)


class Database:
    """A database in this process, on its own thread; a context manager. Call its methods on any other thread."""

    def __init__(self, settings: Settings, begin_with: Snapshot | None = None) -> None:
        """Start the database; returns when it is open. Raises StorageError. `begin_with`: the content to begin with."""
        self._settings = settings
        if begin_with is None:
            self._clock, checkpoint = MovableClock(SystemClock()), None
        else:
            self._clock, checkpoint = MovableClock(SystemClock(), begin_with.time_state), begin_with.checkpoint
        self._process = InProcess(open_with=partial(open_service, settings, self._clock, checkpoint=checkpoint))
        self._transport = Transport(self._process)
        self.clock = ServiceTime(self._process, self._clock)

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """A boto3 client of `dynamodb` or `dynamodbstreams` that calls this database; `options` as for boto3."""
        return self._session().client(service, **(CREDENTIALS | options))

    def resource(self, **options: Any) -> Any:
        """A boto3 resource of DynamoDB that calls this database; `options` as for boto3."""
        return self._session().resource("dynamodb", **(CREDENTIALS | options))

    def reset(self) -> None:
        """Delete all content; service time runs again as the machine's does."""
        self._process.run(self._return_to, None, ServiceTimeState())

    def snapshot(self) -> Snapshot:
        """Copy the whole content."""
        checkpoint = self._process.run(self._process.service.store.checkpoint)
        return Snapshot(self._process, checkpoint, self._clock.state)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the whole content by that of a snapshot: of this database, of a fork, or of one it was forked from.

        If the snapshot's service time was frozen, it returns to that; else it differs from the machine's as it did then.
        """
        self._process.run(self._return_to, snapshot.checkpoint, snapshot.time_state)

    def fork(self) -> "Database":
        """Start a second database with the same content; neither sees what is written to the other from now on."""
        snapshot = self.snapshot()
        try:
            return Database(self._settings, snapshot)
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

    def _return_to(self, checkpoint: Checkpoint | None, time_state: ServiceTimeState) -> None:
        """On the database's thread: replace its content and its service time."""
        before = self._clock.state
        self._clock.go_to(time_state)
        try:
            self._process.service.store.restore(checkpoint)
        except BaseException:
            self._clock.go_to(before)
            raise

    def _session(self) -> Any:
        import boto3  # noqa: PLC0415 - an optional dependency, and slow to import

        session = boto3.Session()
        self._transport.attach(session)
        return session


@contextmanager
def server(settings: Settings | None = None) -> Iterator[Database]:
    """Yield a database that ends with the `with` block; in memory unless `settings` is given and has a `data_dir`."""
    with Database(settings or Settings(data_dir=None)) as database:
        yield database
