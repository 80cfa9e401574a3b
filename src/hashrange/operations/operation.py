"""What is an operation of the API? A record of its request struct, its function, and how its replies behave.

One file per API operation under `operations/` holds the request struct, the function and an `OPERATION`; dispatch,
metrics and docs use these records.

Request structs: `msgspec.Struct(frozen=True, kw_only=True, gc=False)`, members by the service's own names, in the order
in which the service reports their faults. A required member has no default; an optional one is `T | None = None` (null
means absent). Constraints are `Annotated[…, msgspec.Meta(…)]` types of `operations.shapes`, which also holds the
enumerations; the slow path (`wire.faults`) words their violations.
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
"""How an operation words a `RequestFault`: current wording, current wording in an envelope, or the older wording."""


class Scope:
    """Everything that an operation may use: account, Region, store, clock. One per (account, Region), kept."""

    __slots__ = ("account", "clock", "maintenance", "region", "settings", "store", "tables")

    def __init__(self, account: str, region: str, store: WholeStore, clock: Clock, settings: Settings) -> None:
        self.account = account
        self.region = region
        self.store: Store = store
        self.maintenance: Maintenance = store
        """For work that an operation begins and a job would do next, such as the first entries of a new index."""
        self.clock = clock
        self.settings = settings
        self.tables = store.catalog.tables(account, region)


Run = Callable[..., Soon[Any]]
"""`run(scope, request)`, or `run(scope, request, meter)` for operations that consume capacity. Plans and commits one
request. Returns its reply (a dict or None), or a coroutine that returns it. Raises ApiError or Malformed to refuse."""


class Operation(msgspec.Struct, frozen=True):
    """One operation of the API."""

    name: str
    request: type
    run: Run
    wording: Wording = "bare"
    capacity: CapacityForm | None = None
    """Layout of ConsumedCapacity in the reply; None if the operation consumes none, and its `run` takes no meter."""
    tables: Callable[[Any], Iterable[str]] = by_no_table
    """`tables(request)`: names or ARNs of the tables in the request, in its order, possibly repeated."""
    writes: bool = False
    """True if requests may change what other requests read, also where that change is not implemented yet."""
    rules: RequestRules = NO_RULES
    """Rules for the operation's requests beyond their struct, used by the slow path."""
    reports_missing_tables: bool = False
    """True if the reply reports missing tables, instead of an error."""
    is_eventual: Callable[[Any], bool] | None = None
    """True for requests whose reply need not wait until what they read is durable (eventually consistent reads).

    The operation's other replies, unless it writes, wait only until commits to its `tables` are durable."""
    element_type: type[msgspec.Struct] | None = None
    """Struct of the independent list elements of a large request. Each element is bounded by itself, so that the whole
    request may have more members than one element may."""
    is_quick: bool = False
    """True if a small request reads or writes a single item; it begins before requests that may take long."""
    service: Literal["DynamoDB_20120810", "DynamoDBStreams_20120810"] = "DynamoDB_20120810"

    def start(self, scope: Scope, request: Any, meter: Meter) -> Coroutine[Any, Any, Any]:
        """A coroutine that plans and commits the request."""
        return settled(self.run(scope, request) if self.capacity is None else self.run(scope, request, meter))
