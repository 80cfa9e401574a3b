"""What is a table? A frozen description, which the catalog stores and the control plane describes and changes.

A `Table` is immutable: a change makes a new `Table`, which the catalog stores in its place and opens for the data plane
(`open_table.py`). A table's state is a function of service time, so no job has to make a CREATING table ACTIVE.
"""

from typing import Literal, TypeVar

import msgspec

from hashrange.tables.source_id import SourceId, make_source_id

KeyType = Literal["S", "N", "B"]
SseType = Literal["AES256", "KMS"]
StreamViewType = Literal["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"]


class KeySchema(msgspec.Struct, frozen=True):
    """Key attributes of a table or index, in order.

    Only a global index may have several partition key attributes, or several sort key attributes.
    """

    partition_names: tuple[str, ...]
    partition_types: tuple[KeyType, ...]
    sort_names: tuple[str, ...] = ()
    sort_types: tuple[KeyType, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The key attributes: those of the partition key, then those of the sort key."""
        return self.partition_names + self.sort_names

    @property
    def attributes(self) -> list[tuple[str, KeyType]]:
        """Name and type of each key attribute, in the order of `names`."""
        return list(zip(self.names, self.partition_types + self.sort_types, strict=True))


class IndexProjection(msgspec.Struct, frozen=True):
    """The attributes that an entry holds besides the key attributes of index and table."""

    kind: Literal["ALL", "KEYS_ONLY", "INCLUDE"]
    non_key_names: tuple[str, ...] = ()


class Throughput(msgspec.Struct, frozen=True):
    """Provisioned or warm throughput, in capacity units per second."""

    read_units: int
    write_units: int


class Index(msgspec.Struct, frozen=True):
    """A secondary index: what was declared, and its state."""

    index_id: int
    name: str
    is_global: bool
    keys: KeySchema
    projection: IndexProjection
    throughput: Throughput | None = None
    former_throughput: Throughput | None = None
    """Units before the last change, which are shown until `updating_until_seconds`."""
    on_demand_max_read_units: int | None = None
    on_demand_max_write_units: int | None = None
    warm_read_units: int | None = None
    warm_write_units: int | None = None
    former_warm: Throughput | None = None
    """Warm throughput before the last request for more, which is shown until `warm_updating_until_seconds`."""
    throughput_increased_at_seconds: float | None = None
    throughput_decreased_at_seconds: float | None = None
    decreases_today: int = 0
    updating_until_seconds: float = 0.0
    warm_updating_until_seconds: float = 0.0
    state: Literal["CREATING", "ACTIVE", "DELETING"] = "ACTIVE"
    """CREATING until every item with the index's key attributes has an entry; a DELETING index has no entries."""
    deleted_at_seconds: float = 0.0
    """A DELETING index is shown in descriptions until this time, and gone afterwards."""


SearchElementKind = Literal["HASH", "INLINE_FILTER"]
VectorDistance = Literal["COSINE", "DOT_PRODUCT", "EUCLIDEAN"]


class SearchSchemaElement(msgspec.Struct, frozen=True):
    """An attribute of a vector index by whose values a search may choose."""

    name: str
    kind: SearchElementKind
    """HASH: a search chooses one value of this attribute; INLINE_FILTER: it may set conditions on it."""


class VectorIndex(msgspec.Struct, frozen=True):
    """A vector index: what was declared, and its state.

    An index that is made with its table is CREATING as long as the table. One that is added later is in its allocation
    phase, then it is filled (`Backfilling`), then it is ACTIVE.
    """

    index_id: int
    name: str
    attribute: str
    """Name of the top-level attribute that holds an item's vector: a list of `dimensions` numbers."""
    dimensions: int
    distance: VectorDistance
    projection: IndexProjection
    search_schema: tuple[SearchSchemaElement, ...] = ()
    """The elements as they were declared; at most one has the kind HASH."""
    state: Literal["CREATING", "ACTIVE", "DELETING"] = "ACTIVE"
    """CREATING until every item that belongs to the index has an entry; a DELETING index has no entries."""
    allocating_until_seconds: float = 0.0
    """An added index is in its allocation phase until this time: the table is UPDATING, and the index is not filled."""
    creating_until_seconds: float = 0.0
    """An added index is shown as CREATING until this time, even if it has all entries before."""
    deleted_at_seconds: float = 0.0
    """A DELETING index is shown in descriptions until this time, and gone afterwards."""

    @property
    def hash_name(self) -> str | None:
        """The attribute by whose value a search chooses a part of the index; None if the index has none."""
        return next((one.name for one in self.search_schema if one.kind == "HASH"), None)

    @property
    def search_names(self) -> tuple[str, ...]:
        """The attributes of the search schema, in the order in which they were declared."""
        return tuple([one.name for one in self.search_schema])


IndexT = TypeVar("IndexT", Index, VectorIndex)


class TimeToLive(msgspec.Struct, frozen=True):
    """The time to live setting of a table; stored since it was first turned on."""

    attribute: str
    """Name of the attribute that says when an item expires."""
    state: Literal["ENABLING", "ENABLED", "DISABLED"]
    """ENABLING until the queue of expiries has a row for every item that expires; DISABLED: no item expires."""
    changed_at_seconds: float
    """Service time at which time to live was last turned on or off."""
    changing_until_seconds: float = 0.0
    """Time to live is shown as DISABLING until this time, or as ENABLING at least until then."""


TimePrecision = Literal["MILLISECOND", "MICROSECOND"]


class KinesisDestination(msgspec.Struct, frozen=True):
    """A Kinesis data stream that the table's changes go to, or went to at most a day ago
    (`kinesis_destinations.py`).
    """

    stream_arn: str
    """ARN of the Kinesis data stream."""
    feed_label: str
    """Label of the table's feed: the stream that keeps the changes until Kinesis has accepted them."""
    state: Literal["ENABLING", "ACTIVE", "DISABLED", "ENABLE_FAILED"]
    """ENABLING until the Kinesis stream has been found."""
    changed_at_seconds: float
    """Service time at which the state or the precision changed."""
    changing_until_seconds: float = 0.0
    """Until this time, ACTIVE is shown as ENABLING or UPDATING, ENABLE_FAILED as ENABLING,
    and DISABLED as DISABLING."""
    is_updating: bool = False
    """True if the last change was one of the precision."""
    precision: TimePrecision | None = None
    """Precision of the times in the records; None if no request named one: MILLISECOND, and records do not say so."""
    description: str | None = None
    """Why the destination could not be enabled."""


class ResourcePolicy(msgspec.Struct, frozen=True):
    """The resource policy of a table or stream; stays stored once it is deleted, so that revisions only grow."""

    document: str | None
    """The policy as canonical JSON; None once it has been deleted."""
    revision: int
    """Service time of the policy's last change in milliseconds, but at least one more than the previous revision."""


class Recovery(msgspec.Struct, frozen=True):
    """The setting of point-in-time recovery of a table for which it is on."""

    since_seconds: float
    """Service time at which it was turned on."""
    period_days: int
    """How many days back the table can be restored."""


class RestoredFrom(msgspec.Struct, frozen=True):
    """What a table is being restored from."""

    table_arn: str
    at_seconds: float
    """The moment whose items it gets, in service time."""
    backup_arn: str | None = None
    is_complete: bool = False
    """True once the table has all items; it is still CREATING until its time."""


RunningChange = Literal["units", "mode", "class", "stream", "index"]
"""What a table is UPDATING for: its units, its billing mode, its class, its stream,
or an index that is created or deleted."""


class Table(msgspec.Struct, frozen=True):
    """A table as the catalog stores it. Times are service-time seconds since the epoch."""

    table_id: int
    """Number from a counter of the catalog, never reused; engine keys of the table's rows and entries begin with it."""
    uuid: str
    account: str
    region: str
    name: str
    keys: KeySchema
    attribute_types: dict[str, KeyType]
    """Name → type of each attribute in AttributeDefinitions, in the order in which requests defined them."""
    created_at_seconds: float
    active_at_seconds: float
    """The table is CREATING until this time."""
    indexes: tuple[Index, ...] = ()
    """The secondary indexes. Ids of these and of vector indexes come from one counter, `next_index_id`."""
    billing_mode: Literal["PROVISIONED", "PAY_PER_REQUEST"] = "PROVISIONED"
    throughput: Throughput = Throughput(0, 0)
    former_throughput: Throughput | None = None
    """Units before the last change of units or switch to on-demand. They are shown until `updating_until_seconds`."""
    updating_until_seconds: float = 0.0
    updating_for: RunningChange | None = None
    """What the table has last been UPDATING for; None also if it has been for a change made by an earlier version."""
    deleted_at_seconds: float | None = None
    """If set, the table is DELETING until this time and gone afterwards."""
    tags: dict[str, str] = {}
    table_class: Literal["STANDARD", "STANDARD_INFREQUENT_ACCESS"] = "STANDARD"
    table_class_changed_at_seconds: float | None = None
    is_deletion_protected: bool = False
    protection_changed_at_seconds: float | None = None
    """When an UpdateTable last set deletion protection."""
    sse_type: SseType | None = None
    kms_key_arn: str | None = None
    encryption_updating_until_seconds: float = 0.0
    encryption_changes_seconds: tuple[float, ...] = ()
    """Times of the changes of encryption within 24 hours from the first of them; oldest first."""
    on_demand_max_read_units: int | None = None
    on_demand_max_write_units: int | None = None
    warm_read_units: int | None = None
    warm_write_units: int | None = None
    former_warm: Throughput | None = None
    warm_updating_until_seconds: float = 0.0
    """The table's warm throughput is UPDATING until this time, and so is that of an index by its own."""
    switched_to_on_demand_at_seconds: float | None = None
    """When the table has become ACTIVE after its latest switch to on-demand, or will be;
    None if it was never on demand."""
    throughput_increased_at_seconds: float | None = None
    throughput_decreased_at_seconds: float | None = None
    decreases_today: int = 0
    """Throughput decreases on the UTC day of the last decrease."""
    switches_to_on_demand_seconds: tuple[float, ...] = ()
    """Times of the latest switch from provisioned to on-demand, and of switches up to a day before it; oldest first."""
    class_changes_seconds: tuple[float, ...] = ()
    """Times of the latest change of the table's class, and of changes up to 30 days before it; oldest first."""
    next_index_id: int = 1
    """The id of the next index to be created; a table never reuses an index id."""
    stream_view_type: StreamViewType | None = None
    """Which images the table's stream records hold; None while its stream is off."""
    stream_label: str | None = None
    policy: ResourcePolicy | None = None
    """The table's resource policy; None if there never was one."""
    stream_policies: dict[str, ResourcePolicy] = {}
    """Resource policies of the table's streams, by stream label."""
    time_to_live: TimeToLive | None = None
    """The table's time to live; None if it was never turned on."""
    kinesis_destinations: tuple[KinesisDestination, ...] = ()
    """Destinations of today and of the last day, oldest first. Only the last one may be ENABLING or ACTIVE."""
    recovery: Recovery | None = None
    """Point-in-time recovery; None while it is off."""
    restored_from: RestoredFrom | None = None
    """What the table has been restored from: CREATING at least until it has all items."""
    is_importing: bool = False
    """True while an import fills the table: no request finds it, and its name is free."""
    vector_indexes: tuple[VectorIndex, ...] = ()

    @property
    def is_filling(self) -> bool:
        """True until a table that is being restored has all items."""
        return self.restored_from is not None and not self.restored_from.is_complete

    @property
    def source_id(self) -> SourceId:
        """The 6 bytes that name the table's own rows: table id ‖ index id 0."""
        return make_source_id(self.table_id)

    @property
    def sources(self) -> list[SourceId]:
        """Source ids of the table, its indexes and its vector indexes, except of indexes that are being deleted."""
        indexes: list[Index | VectorIndex] = [*self.indexes, *self.vector_indexes]
        return [
            self.source_id,
            *[make_source_id(self.table_id, index.index_id) for index in indexes if index.state != "DELETING"],
        ]

    @property
    def has_item_collections(self) -> bool:
        """True if the table has local indexes: sizes of its item collections are then kept, reported and limited."""
        return False in [index.is_global for index in self.indexes]

    @property
    def arn(self) -> str:
        """The table's Amazon Resource Name."""
        return f"arn:aws:dynamodb:{self.region}:{self.account}:table/{self.name}"
