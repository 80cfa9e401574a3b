"""What is common to the operations of DynamoDB? What they may use, and how their protocol reads and words them.

A file under `operations/` holds the request struct, the function and the record of an operation, `OPERATION`
(`aws_services/operation.py`), or `OPERATIONS` that answer one question together; dispatch, metrics and docs use these
records.

Request structs: `msgspec.Struct(frozen=True, kw_only=True, gc=False)`, members by the service's own names, in the order
in which the service reports their faults. A required member has no default; an optional one is `T | None = None` (null
means absent). Constraints are `Annotated[…, msgspec.Meta(…)]` types of `operations.shapes`, which also holds the
enumerations; the slow path (`wire.faults`) words their violations.
"""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Literal

import msgspec

from hashrange.clock import Clock
from hashrange.operations.insights.watching import BeginTimes
from hashrange.settings import Settings
from hashrange.store.interface import LocalMaintenance, Store, WholeStore, local_maintenance_of
from hashrange.store.row_copies import RowCopies, row_copies_of
from hashrange.tables.schema import Table
from hashrange.wire.rules import NO_RULES, RequestRules

Wording = Literal["bare", "enveloped", "older"]
"""How an operation words a `RequestFault`. "bare": in the current layer's words; "enveloped": in these, after the
prefix "1 validation error detected: "; "older": in the older layer's words."""


class Scope:
    """Everything that an operation may use: account, Region, store, clock, settings. One per account and Region, and
    for each choice of Regions that keys are limited to.
    """

    def __init__(
        self,
        account: str,
        region: str,
        store: WholeStore,
        clock: Clock,
        settings: Settings,
        regions: Collection[str] | None = None,
    ) -> None:
        self.account = account
        self.region = region
        self.regions = regions
        """The Regions that the sender's key is limited to; None: it is not limited."""
        self.store: Store = store
        self.documents = store.documents
        self._whole_store = store
        self.see_watches: Callable[[Table], None] = lambda table: None
        """Called after a change of what Contributor Insights watches of a table."""
        self.wake_job: Callable[[str], None] = lambda name: None
        """`wake_job(name)`: lets the job of a feature find the work that an operation has made for it."""
        self.begin_times = BeginTimes(store.documents)
        """Those of the watches of Contributor Insights; all Scopes of a service share one object."""
        self.scaling_settings: Callable[[Scope, str, str], Awaitable[dict[str, Any] | None]] = _unknown_settings
        """`scaling_settings(scope, resource_id, "ReadCapacityUnits")`: an AutoScalingSettingsDescription of a table or
        an index, named as Application Auto Scaling does; None if its units are not scaled. May raise StorageError."""
        self.clock = clock
        self.settings = settings
        self.tables = store.catalog.tables(account, region)
        self.state_delay: Callable[[str, str], float] = lambda name, operation: settings.table_state_delay_seconds
        """`state_delay(name, operation)`: seconds of service time for which this table, which this operation changes
        now, stays CREATING, UPDATING or DELETING."""
        self.least_seconds: Callable[[str, str], float] = lambda name, operation: 0.0
        """`least_seconds(name, operation)`: seconds of service time for which a backup, restore or transfer of this
        table that this operation begins now stays in progress at the least."""

    @property
    def maintenance(self) -> LocalMaintenance:
        """The store, for an operation that does the first slice of a job's work, such as an index's first entries."""
        return local_maintenance_of(self._whole_store)

    @property
    def row_copies(self) -> RowCopies:
        """The store, for operations on backups and exports."""
        return row_copies_of(self._whole_store)

    def reaches(self, region: str) -> bool:
        """True if the sender may see what the account has in a Region, which a request names beside its own."""
        return self.regions is None or region in self.regions


async def _unknown_settings(_scope: Scope, _resource_id: str, _unit: str) -> None:
    """What a Scope without a service knows of auto scaling."""


class JsonWire(msgspec.Struct, frozen=True):
    """How DynamoDB's JSON names an operation, reads its requests, and words its errors."""

    wording: Wording = "bare"
    rules: RequestRules = NO_RULES
    """Rules by which the slow path checks the operation's requests, in addition to their struct."""
    element_type: type[msgspec.Struct] | None = None
    """Struct of a list's elements, such as those of TransactItems. In a large body they are decoded one by one, and the
    limit of JSON members holds for each element by itself. None: the limit holds for the whole body."""
    is_quick: bool = False
    """True if a small request reads or writes a single item; it begins before requests that may take long."""
    reaches_out: bool = False
    """True if the operation has the server read or write what other services hold, with the server's own credentials:
    pages of other sites, which may use the tables, may not send it (docs/security.md)."""
    service: Literal["DynamoDB_20120810", "DynamoDBStreams_20120810"] = "DynamoDB_20120810"


JSON = JsonWire()
STREAMS_JSON = JsonWire(service="DynamoDBStreams_20120810")
