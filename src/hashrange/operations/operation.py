"""What is an operation? A record that names its request, its function and how its reply behaves.

One file per API operation under `operations/` holds the request struct, the function and an `OPERATION`; dispatch, metrics and
docs come from these records.

Request structs: `msgspec.Struct(frozen=True, kw_only=True, gc=False)`, members by the service's own names, in the order in which
the service reports their faults. A required member has no default; an optional one is `T | None = None` (null means absent).
Constraints stand in `Annotated[…, msgspec.Meta(…)]` types of `operations.shapes`; the slow path (`wire.faults`) words their
violations. `operations.shapes` also holds the enumerations.
"""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal

import msgspec

from hashrange.clock import Clock
from hashrange.operations.meter import CapacityForm, Meter
from hashrange.operations.naming import by_no_table
from hashrange.settings import Settings
from hashrange.soon import Soon, settled
from hashrange.store.interface import Maintenance, Store, WholeStore
from hashrange.wire.rules import NO_RULES, RequestRules

Wording = Literal["bare", "enveloped", "older"]
"""How an operation words a `RequestFault`: current wording, current in an envelope, or the older wording."""


class Scope:
    """What an operation may use: the caller's account and Region, the store, the clock. One per (account, Region), kept."""

    __slots__ = ("account", "clock", "maintenance", "region", "settings", "store", "tables")

    def __init__(self, account: str, region: str, store: WholeStore, clock: Clock, settings: Settings) -> None:
        self.account = account
        self.region = region
        self.store: Store = store
        self.maintenance: Maintenance = store
        """For what an operation begins and a job would do next, such as the first entries of a new index."""
        self.clock = clock
        self.settings = settings
        self.tables = store.catalog.tables(account, region)


Run = Callable[..., Soon[Any]]
"""run(scope, request), of operations that consume capacity run(scope, request, meter): plans and commits one request and returns its
reply, a dict or None, or a coroutine that brings it; refuses by raising an ApiError, or Malformed."""


class Operation(msgspec.Struct, frozen=True):
    """One operation of the API."""

    name: str
    request: type
    run: Run
    wording: Wording = "bare"
    capacity: CapacityForm | None = None
    """How its reply tells ConsumedCapacity, if that is asked for; None for operations that consume none, whose `run` takes no meter."""
    tables: Callable[[Any], Iterable[str]] = by_no_table
    """tables(request): names or ARNs of the tables that it names, in its order and perhaps repeatedly."""
    writes: bool = False
    """May a request of it change what others read? Also where that change is not built yet."""
    rules: RequestRules = NO_RULES
    """What is asked of its requests beyond their struct; the slow path takes them from here."""
    tells_missing_tables: bool = False
    """Its reply tells what was not found, and the operation does not refuse."""
    is_eventual: Callable[[Any], bool] | None = None
    """True for requests whose reply need not wait until what they read is durable (eventually consistent reads).

    The other replies of such an operation, if it does not write, wait for what its `tables` hold, and for nothing else."""
    pieces: type[msgspec.Struct] | None = None
    """The struct of the elements of a large request that stand in lists and are independent: each is bounded by itself, so that the whole may
    hold more than one may."""
    is_quick: bool = False
    """A small request of it reads or writes a single item, and begins before those that may take long."""
    service: Literal["DynamoDB_20120810", "DynamoDBStreams_20120810"] = "DynamoDB_20120810"

    def start(self, scope: Scope, request: Any, meter: Meter) -> Coroutine[Any, Any, Any]:
        """A coroutine that plans and commits this request."""
        return settled(self.run(scope, request) if self.capacity is None else self.run(scope, request, meter))
