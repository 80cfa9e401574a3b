"""Which database does a test get? A `Database` in the test's process: boto3 clients without sockets,
and content that can be copied, restored or emptied.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial
from inspect import iscoroutinefunction
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, Self, TypeVar

import msgspec

from hashrange.clock import MovableClock, SystemClock
from hashrange.jobs.virtual_time import advance
from hashrange.operations.meter import Meter
from hashrange.service.initial_content import reset_service
from hashrange.service.opening import open_fork, open_service
from hashrange.service.snapshots import ServiceSnapshot, return_to, take_snapshot, write_snapshot
from hashrange.settings import SHARED_ACCOUNT, SHARED_REGION, Settings
from hashrange.store.snapshot_file import FilePath, replaced_file
from hashrange.testing.blocks import Held, HeldBlocks
from hashrange.testing.database_faults import DatabaseFaults
from hashrange.testing.in_process import CLOSED, InProcess, end_with_forks
from hashrange.testing.inside import Inside, checked_advance, require_names
from hashrange.testing.loading import boto3_needed, uncollected

if TYPE_CHECKING:
    from hashrange.testing.botocore_transport import Transport

P = ParamSpec("P")
T = TypeVar("T")
CREDENTIALS = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": SHARED_REGION}
"""Credentials and Region of clients and resources, unless the caller gives others; any are accepted."""
CLIENTS = ("dynamodb", "dynamodbstreams", "lambda", "cloudwatch", "application-autoscaling", "dax", "sts")
"""Services, as boto3 names them, whose clients a database has."""
KEPT_OPEN = (
    "This database belongs to the fixture hashrange_database, and later tests use it too."
    " Use it without `with`, and do not close it. A test that needs a database of its own uses server()."
)
WITHOUT_SECRETS = (
    "Settings({name}=…) has no effect here: a database inside a program lets every access key in, and its port speaks"
    " HTTP. Start `hashrange serve` for a test of keys or certificates."
)


class Units:
    """Capacity units that were consumed."""

    def __init__(self) -> None:
        self.read = 0.0
        self.write = 0.0

    def add(self, units: float, *, is_write: bool) -> None:
        """Add read or write units."""
        if is_write:
            self.write += units
        else:
            self.read += units

    def __repr__(self) -> str:
        return f"Units(read={self.read:g}, write={self.write:g})"


class UsedCapacity(Units):
    """The capacity units of all requests that ended within the block, for assertions:
    `read`, `write`, and the same by table and index.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tables: defaultdict[str, Units] = defaultdict(Units)
        """Name of a table → units of the table and its indexes together."""
        self.indexes: defaultdict[tuple[str, str], Units] = defaultdict(Units)
        """Names of a table and its index → units of the index."""

    def count(self, meter: Meter) -> None:
        """Add what one request has consumed."""
        for usage in meter:
            is_write = usage.is_write
            by_index = [(index.name, units) for index, units in usage.index_units]
            units = usage.table_units + sum(index_units for _, index_units in by_index)
            self.add(units, is_write=is_write)
            self.tables[usage.table.name].add(units, is_write=is_write)
            for index, index_units in by_index:
                self.indexes[usage.table.name, index].add(index_units, is_write=is_write)


class ServiceTime:
    """The service time of one database: what its time to live, states, tokens and delays go by."""

    def __init__(self, process: InProcess) -> None:
        self._process = process

    @property
    def _clock(self) -> MovableClock:
        clock = self._process.clock
        assert isinstance(clock, MovableClock), "a database's clock can be moved"
        return clock

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.service_time()

    def advance(self, seconds: float) -> None:
        """Move service time ahead by `seconds`; returns when all that became due has been done.

        Raises ValueError if `seconds` is less than 0, or leads to a time more than 100 years ahead of the machine's.
        Raises NeverRests if a function goes on triggering itself; time has been moved then.
        """
        self._process.run(advance, self._clock, self._process.service.jobs, checked_advance(seconds))

    def freeze(self) -> None:
        """Let service time stand still, except for `advance`, until `resume`."""
        self._process.run(self._clock.freeze)

    def resume(self) -> None:
        """Let service time run again, from where it stands."""
        self._process.run(self._clock.resume)


class Snapshot:
    """The whole content of a database at one moment, and its service time, until `release` or the database's end."""

    def __init__(self, process: InProcess, content: ServiceSnapshot) -> None:
        self._process = process
        self.content = content

    def save(self, path: FilePath) -> None:
        """Write the snapshot to a file, for `server(snapshot=…)` and `hashrange serve --snapshot`; replaces the file.

        Raises OSError; the former file is then unchanged.
        """
        with replaced_file(path) as file:
            self._process.run(write_snapshot, file, self.content)

    def release(self) -> None:
        """Free the snapshot's files; databases that were restored from it or forked keep their content.

        Does nothing once the database has ended.
        """
        try:
            self._process.run(self.content.checkpoint.release)
        except RuntimeError:
            if not self._process.is_ending:
                raise


class Database:
    """A database in this process, on its own thread; a context manager. Call its methods on any other thread."""

    def __init__(
        self, settings: Settings, begin_with: Snapshot | None = None, siblings: set[InProcess] | None = None
    ) -> None:
        """Prepare a database, without starting it. `begin_with`: the content to begin with.
        `siblings`: see InProcess.
        """
        self._settings = settings
        if begin_with is None:
            opening = partial(open_service, settings, MovableClock(SystemClock()))
        else:
            opening = partial(open_fork, settings, begin_with.content)
        self._process = InProcess(opening, siblings)
        self._boto3_lock = Lock()
        self._is_kept_open = False
        self.clock = ServiceTime(self._process)
        self.faults = DatabaseFaults(self._process)

    def client(self, service: str = "dynamodb", **options: Any) -> Any:
        """A boto3 client of one of CLIENTS, by default `dynamodb`, that calls this database; `options` as for boto3.

        Raises ValueError for other services.
        """
        if service not in CLIENTS:
            raise ValueError(f"a database has clients of {', '.join(CLIENTS)}; make a client of {service} with boto3.")
        with self._boto3_lock, uncollected():
            return self._session.client(service, **(CREDENTIALS | options))

    def resource(self, **options: Any) -> Any:
        """A boto3 resource of DynamoDB that calls this database; `options` as for boto3."""
        with self._boto3_lock, uncollected():
            return self._session.resource("dynamodb", **(CREDENTIALS | options))

    def call(
        self, operation: str, members: Mapping[str, Any], *, service: str = "dynamodb", region: str = SHARED_REGION
    ) -> dict[str, Any]:
        """Call an operation without a client, in a fifth of a client's time; returns the members of the output.

        `members`: the input, as the low-level client takes it; bytes come back as base64 text. `service`: `dynamodb`,
        `cloudwatch`, `application-autoscaling` or `dax`; else ValueError, as for a
        `region` that is no Region's name, and an `operation` that is no text. Nothing is retried. Raises StorageError,
        and the error of a refusal, whose `code` and `message` are the service's: `hashrange.errors.ApiError` or,
        of the other services, ServiceError.
        """
        require_names(operation, region)
        if service == "dynamodb":
            return self._process.call(SHARED_ACCOUNT, region, operation, members)
        reply: dict[str, Any] = self.run(Inside.call, operation, members, service=service, region=region)
        return reply

    def run(
        self, program: Callable[Concatenate[Inside, P], Awaitable[T]], *arguments: P.args, **options: P.kwargs
    ) -> T:
        """Run a coroutine function on the database's own thread, as `program(inside, *arguments)`;
        returns or raises as it does.

        The calls of `inside` change no threads, which takes most of a call's time. Meanwhile the database answers other
        requests when the program awaits something. If this wait is interrupted, by Ctrl-C for example, or the database
        is closed, the program is cancelled. Raises TypeError for any other function.
        """
        if not iscoroutinefunction(program):
            raise TypeError(f"run takes a coroutine function, as in `async def program(inside): …`, not {program!r}.")
        bound = partial(program, self._inside, *arguments, **options)
        result: T = self._process.run_interruptible(bound)
        return result

    @cached_property
    def _inside(self) -> Inside:
        """What programs get."""
        return Inside(self._process.service)

    def reset(self) -> None:
        """Return to the initial content: nothing, or that of `Settings(init=…)`;
        service time runs again as the machine's does, and there are no faults.

        Raises SettingUnusable if the init folder cannot be applied; nothing is changed then.
        """
        self._process.run(reset_service, self._process.service)

    def snapshot(self) -> Snapshot:
        """Copy the whole content."""
        return Snapshot(self._process, self._process.run(take_snapshot, self._process.service))

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the whole content by that of a snapshot: of this database, of a fork, or of one it was forked from.

        If service time was frozen at the snapshot, it is frozen again at that moment;
        else it differs from the machine's as it did then.
        """
        if not isinstance(snapshot, Snapshot):
            raise TypeError(
                f"restore takes what snapshot() has returned, not {snapshot!r}. With a file, a database begins:"
                " server(snapshot=…)."
            )
        self._process.run(return_to, self._process.service, snapshot.content)

    def fork(self) -> "Database":
        """Start a second database with the same content; neither sees what is written to the other from now on.

        It ends with this database, unless it is closed before.
        """
        snapshot = self.snapshot()
        snapshot.content.checkpoint.hand_over()
        fork = Database(msgspec.structs.replace(self._settings, port=0), snapshot, self._process.forks)
        try:
            try:
                fork.start()
            finally:
                snapshot.release()
            if self._process.is_unwanted:
                raise RuntimeError(CLOSED)
        except BaseException:
            fork.close()
            raise
        return fork

    @property
    def endpoint(self) -> str:
        """URL of a port on the loopback at which other programs reach the database; listens when first asked.

        Raises ListenError.
        """
        return self._process.listen()

    @property
    def dax_endpoint(self) -> str | None:
        """URL of the DAX cluster `default`, such as `dax://127.0.0.1:40001`;
        None without `Settings(dax_port=…)`. Listens when first asked.

        Raises ListenError.
        """
        return self._process.listen_for_dax()

    @contextmanager
    def capacity(self) -> Iterator[UsedCapacity]:
        """Count the capacity units that requests consume within the `with` block."""
        used = UsedCapacity()
        counters = self._process.service.requests.counters
        self._process.run(counters.append, used.count)
        try:
            yield used
        finally:
            self._process.run(counters.remove, used.count)

    def start(self) -> None:
        """Start the database; returns when it is open. Raises StorageError, SettingUnusable and SnapshotFileError."""
        self._process.start()

    def require_open(self) -> None:
        """Raise RuntimeError if the database is closed, or runs in the process that this one was forked from."""
        self._process.require_open()

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """While the block runs, refuse to close the database; forks that are made meanwhile end with the block."""
        was_kept_open, self._is_kept_open = self._is_kept_open, True
        forks = self._process.forks.copy()
        try:
            yield
        finally:
            self._is_kept_open = was_kept_open
            end_with_forks(self._process.forks - forks)

    def close(self) -> None:
        """End the database and its forks. Does nothing if it has ended."""
        self._require_own()
        self._process.close()

    def __enter__(self) -> Self:
        self._require_own()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _require_own(self) -> None:
        """Raise RuntimeError if others need the database to stay open."""
        if self._is_kept_open:
            raise RuntimeError(KEPT_OPEN)

    @cached_property
    def _session(self) -> Any:
        """The session of all clients and resources. Sessions must not be used on two threads at a time."""
        with boto3_needed("clients and resources"):
            # Imported here, because start time counts.
            from hashrange.testing import botocore_transport  # noqa: PLC0415

            session = botocore_transport.new_session(botocore_transport.NO_PROFILE)
        self._transport.attach(session, botocore_transport.OWN_SERVICES)
        return session

    @cached_property
    def _transport(self) -> "Transport":
        """What answers the requests of clients."""
        # Imported here: it loads botocore, and start time counts.
        from hashrange.testing.botocore_transport import Transport  # noqa: PLC0415

        return Transport(self._process)


class StartingDatabase:
    """A database that starts when a `with` or `async with` block begins, and ends with it; each block has its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._blocks: HeldBlocks[Database] = HeldBlocks()

    def __call__(
        self, settings: Settings | None = None, *, snapshot: FilePath | None = None, port: int = 0
    ) -> "StartingDatabase":
        """A database for a `with` or `async with` block; in memory unless `settings` is given and has a `data_dir`.

        `snapshot`: the file to begin with (`Snapshot.save`, `hashrange snapshot`). `port`: that of `Database.endpoint`;
        0 takes a free one. Raises ValueError for settings of keys and certificates.
        The block's beginning raises StorageError, SettingUnusable or SnapshotFileError.
        """
        if not isinstance(settings, Settings | None):
            raise TypeError(f"server takes Settings, as in server(Settings(data_dir=…)), not {settings!r}.")
        settings = msgspec.structs.replace(settings or self._settings, port=port)
        for name in ("credentials", "tls_cert", "tls_key"):
            if getattr(settings, name) is not None:
                raise ValueError(WITHOUT_SECRETS.format(name=name))
        if snapshot is not None:
            settings = msgspec.structs.replace(settings, snapshot=str(snapshot))
        return StartingDatabase(settings)

    def _hold(self) -> Held[Database]:
        database = Database(self._settings)
        try:
            database.start()
            yield database
        finally:
            database.close()

    def __enter__(self) -> Database:
        return self._blocks.enter(self._hold())

    def __exit__(self, *_: object) -> None:
        self._blocks.leave()

    async def __aenter__(self) -> Database:
        return await self._blocks.enter_later(self._hold())

    async def __aexit__(self, *_: object) -> None:
        await self._blocks.leave_later()

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("clock", "faults") or hasattr(Database, name):
            raise AttributeError(f"server() has no {name} until it runs: enter it with `with server() as database:`.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


server = StartingDatabase(Settings(data_dir=None, port=0))


# --- programs in other languages ------------------------------------------------------------------

KEY_VARIABLES = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
}
PROFILE_VARIABLES = ("AWS_DEFAULT_PROFILE", "AWS_PROFILE")
"""Variables that name a profile for botocore; the first that is set counts."""
MISLEADING_VARIABLES = (
    *PROFILE_VARIABLES,
    "AWS_SESSION_TOKEN",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
)
"""Variables that lead SDKs to other credentials or endpoints than those of `endpoint_variables`."""


def endpoint_variables(endpoint: str) -> dict[str, str]:
    """Variables with which a program in any language calls the database at this address."""
    return KEY_VARIABLES | {
        "AWS_ENDPOINT_URL_DYNAMODB": endpoint,
        "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint,
        "AWS_REGION": CREDENTIALS["region_name"],
        "AWS_DEFAULT_REGION": CREDENTIALS["region_name"],
    }
