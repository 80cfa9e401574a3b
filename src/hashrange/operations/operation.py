"""What is an operation of the API? A record of its request struct, its function, and properties that other code needs.

One file per implemented operation under `operations/` holds the request struct, the function and an `OPERATION`;
dispatch, metrics and docs use these records.

Request structs: `msgspec.Struct(frozen=True, kw_only=True, gc=False)`, members by the service's own names, in the order
in which the service reports their faults. A required member has no default; an optional one is `T | None = None` (null
means absent). Constraints are `Annotated[…, msgspec.Meta(…)]` types of `operations.shapes`, which also holds the
enumerations; the slow path (`wire.faults`) words their violations.
"""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Literal

import msgspec

from hashrange.clock import Clock
from hashrange.operations import shapes
from hashrange.operations.meter import CapacityForm, Meter
from hashrange.operations.naming import by_no_table
from hashrange.settings import Settings
from hashrange.soon import Soon, settled
from hashrange.store.interface import Maintenance, Store, WholeStore
from hashrange.wire.rules import NO_RULES, RequestRules

Wording = Literal["bare", "enveloped", "older"]
"""How an operation words a `RequestFault`. "bare": in the current layer's words; "enveloped": in these, after the
prefix "1 validation error detected: "; "older": in the older layer's words."""


class Scope:
    """Everything that an operation may use: account, Region, store, clock, settings. One per account and Region."""

    __slots__ = (
        "__weakref__",
        "account",
        "clock",
        "documents",
        "maintenance",
        "region",
        "see_watches",
        "settings",
        "state_delay",
        "store",
        "tables",
    )

    def __init__(self, account: str, region: str, store: WholeStore, clock: Clock, settings: Settings) -> None:
        self.account = account
        self.region = region
        self.store: Store = store
        self.maintenance: Maintenance = store.maintenance
        """The store, for an operation that does the first slice of a job's work, such as an index's first entries."""
        self.documents = store.documents
        self.see_watches: Callable[[], None] = lambda: None
        """Called after a change of what Contributor Insights watches."""
        self.clock = clock
        self.settings = settings
        self.tables = store.catalog.tables(account, region)
        self.state_delay: Callable[[str], float] = lambda name: settings.table_state_delay_seconds
        """Table name → seconds of service time for which a table that is changed now stays CREATING,
        UPDATING or DELETING."""


Run = Callable[..., Soon[Any]]
"""`run(scope, request)`, or `run(scope, request, meter)` for operations that consume capacity. Executes one request.
Returns the reply (a dict or None), or a coroutine that returns it. Raises ApiError or Malformed if it refuses."""


class Operation(msgspec.Struct, frozen=True):
    """One operation of the API."""

    name: str
    request: type
    run: Run
    wording: Wording = "bare"
    capacity: CapacityForm | None = None
    """Layout of ConsumedCapacity in the reply; None if the operation consumes none, and its `run` takes no meter."""
    tables: Callable[[Any], Iterable[str]] = by_no_table
    """`tables(request)`: names or ARNs of the tables in the request, in the request's order, possibly repeated."""
    items: Callable[[Any], Iterable[tuple[str, shapes.AttributeMap]]] | None = None
    """`items(request)`: the items that a request writes one after the other, in this order:
    name or ARN of the table, and an item or a key map. None: the operation writes at most one item,
    or all at once, or each is a request by itself."""
    writes: bool = False
    """True if requests may change what other requests read, or will once that is implemented; False in `pending.py`."""
    is_read: Callable[[Any], bool] | None = None
    """True if a request only reads, such as a SELECT, although its operation has `writes`."""
    rules: RequestRules = NO_RULES
    """Rules by which the slow path checks the operation's requests, in addition to their struct."""
    reports_missing_tables: bool = False
    """True if a missing table is reported inside the reply, and does not fail the whole request."""
    is_eventual: Callable[[Any], bool] | None = None
    """True for requests whose reply need not wait until what they read is durable (eventually consistent reads).

    Replies to other requests need not wait either if the operation has no `writes`, the request's `tables` exist, are
    given by name, and have only durable commits. None: all replies wait until all commits are durable."""
    element_type: type[msgspec.Struct] | None = None
    """Struct of a list's elements, such as those of TransactItems. In a large body they are decoded one by one, and the
    limit of JSON members holds for each element by itself. None: the limit holds for the whole body."""
    is_quick: bool = False
    """True if a small request reads or writes a single item; it begins before requests that may take long."""
    service: Literal["DynamoDB_20120810", "DynamoDBStreams_20120810"] = "DynamoDB_20120810"

    def only_reads(self, request: Any) -> bool:
        """True if the request changes nothing, so that it need not be carried out once its client has left."""
        return not self.writes or (self.is_read is not None and self.is_read(request))

    def start(self, scope: Scope, request: Any, meter: Meter) -> Coroutine[Any, Any, Any]:
        """A coroutine that executes the request and returns its reply."""
        return settled(self.run(scope, request) if self.capacity is None else self.run(scope, request, meter))
