"""In which state are a table, its indexes and its time to live, and which of them are gone?
Pure functions of the stored table and service time.

No job makes a CREATING table ACTIVE: its state follows from its deadlines and the current time. With a delay of zero
the deadline is the time of the call itself, so the next call already sees the new state. Service time never
goes back while a process runs, but may between two processes: `without_overlong_deadlines`.
Source: service behaviour, developer guide "Table and index states".
"""

from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec

from hashrange.tables.schema import Index, KeySchema, Table, Throughput, TimeToLive, VectorIndex

TimedT = TypeVar("TimedT", bound=msgspec.Struct)
Status = Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"]
TimeToLiveStatus = Literal["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


def is_gone(table: Table, now_seconds: float) -> bool:
    """True once a deleted table's deadline has passed: it counts as absent until an operation on tables purges it."""
    return table.deleted_at_seconds is not None and table.deleted_at_seconds <= now_seconds


def status(table: Table, now_seconds: float) -> Status:
    """The state at `now_seconds` of a table that is not gone."""
    if table.deleted_at_seconds is not None:
        return "DELETING"
    if table.is_filling or table.active_at_seconds > now_seconds:
        return "CREATING"
    if table.updating_until_seconds > now_seconds:
        return "UPDATING"
    return "ACTIVE"


def is_changing(table: Table, now_seconds: float) -> bool:
    """True if the table is UPDATING, or its encryption or warm throughput is."""
    return status(table, now_seconds) == "UPDATING" or now_seconds < max(
        table.encryption_updating_until_seconds, table.warm_updating_until_seconds
    )


def index_status(index: Index, table_status: Status, now_seconds: float) -> Status:
    """State of a global index that is not gone: the table's state if CREATING or DELETING, otherwise its own."""
    if table_status in ("CREATING", "DELETING"):
        return table_status
    if index.state != "ACTIVE":
        return index.state
    return "UPDATING" if index.updating_until_seconds > now_seconds else "ACTIVE"


def vector_index_status(index: VectorIndex, table_status: Status, now_seconds: float) -> Status:
    """State of a vector index that is not gone: the table's state if CREATING or DELETING, otherwise its own.

    It is never UPDATING. Source: service behaviour, captures of August 2026.
    """
    if table_status in ("CREATING", "DELETING"):
        return table_status
    if index.state == "ACTIVE" and index.creating_until_seconds > now_seconds:
        return "CREATING"
    return index.state


def is_allocating(index: VectorIndex, now_seconds: float) -> bool:
    """True in the first phase of an index that is added to a table: it is not filled, and cannot be deleted."""
    return index.state != "DELETING" and index.allocating_until_seconds > now_seconds


def has_unfinished_index(table: Table, now_seconds: float) -> bool:
    """True if an index of the table is shown as CREATING, UPDATING or DELETING while the table itself is ACTIVE."""
    states = [index_status(index, "ACTIVE", now_seconds) for index in table.indexes]
    states += [vector_index_status(index, "ACTIVE", now_seconds) for index in table.vector_indexes]
    return any(state != "ACTIVE" for state in states)


def time_to_live_status(time_to_live: TimeToLive | None, now_seconds: float) -> TimeToLiveStatus:
    """The state of a table's time to live."""
    if time_to_live is None:
        return "DISABLED"
    is_changing = time_to_live.changing_until_seconds > now_seconds
    if time_to_live.state == "DISABLED":
        return "DISABLING" if is_changing else "DISABLED"
    return "ENABLING" if is_changing else time_to_live.state


def former_units(subject: Table | Index, now_seconds: float) -> Throughput | None:
    """The units that a table or index had before the change of units, or switch to on-demand,
    that it is UPDATING for; None if there is none.
    """
    return subject.former_throughput if subject.updating_until_seconds > now_seconds else None


def changing_until_seconds(table: Table, index: Index | None) -> float:
    """Service time until which a table, or one of its global indexes, has the throughput from before its last
    change, if that still lies ahead.
    """
    until_seconds = table.updating_until_seconds
    return until_seconds if index is None else max(until_seconds, index.updating_until_seconds)


def shown_throughput(subject: Table | Index, now_seconds: float) -> Throughput | None:
    """The provisioned units of a table or index as descriptions show them: those before the change while they change,
    but 0 after a switch to on-demand.
    """
    former = former_units(subject, now_seconds)
    is_on_demand = isinstance(subject, Table) and subject.billing_mode == "PAY_PER_REQUEST"
    return subject.throughput if former is None or is_on_demand else former


def shown_table(table: Table, now_seconds: float) -> tuple[Table, float | None]:
    """The table with the provisioned units that are shown of it and its indexes, and the first moment at which
    they are others; None if they stay.
    """
    subjects: tuple[Table | Index, ...] = (table, *table.indexes)
    ends_seconds = [one.updating_until_seconds for one in subjects if former_units(one, now_seconds) is not None]
    if not ends_seconds or table.billing_mode != "PROVISIONED":
        return table, None
    indexes = tuple(
        [msgspec.structs.replace(one, throughput=shown_throughput(one, now_seconds)) for one in table.indexes]
    )
    shown = msgspec.structs.replace(table, throughput=shown_throughput(table, now_seconds), indexes=indexes)
    return shown, min(ends_seconds)


def may_backfill(table: Table, now_seconds: float) -> bool:
    """True if a new index or queue of expiries may be filled; not while the table is UPDATING (allocates resources)."""
    return table.updating_until_seconds <= now_seconds


def without_gone_indexes(table: Table, now_seconds: float) -> Table:
    """The table without DELETING indexes whose deadline has passed, and without attribute types that only they used."""
    indexes = tuple([one for one in table.indexes if not _is_gone_index(one, now_seconds)])
    vector_indexes = tuple([one for one in table.vector_indexes if not _is_gone_index(one, now_seconds)])
    if len(indexes) == len(table.indexes) and len(vector_indexes) == len(table.vector_indexes):
        return table
    used = used_names(table.keys, indexes, vector_indexes)
    types = {name: kind for name, kind in table.attribute_types.items() if name in used}
    return msgspec.structs.replace(table, indexes=indexes, vector_indexes=vector_indexes, attribute_types=types)


def _is_gone_index(index: Index | VectorIndex, now_seconds: float) -> bool:
    return index.state == "DELETING" and index.deleted_at_seconds <= now_seconds


def used_names(keys: KeySchema, indexes: Sequence[Index], vector_indexes: Sequence[VectorIndex]) -> set[str]:
    """Names of the attributes that a table's keys, the keys of its indexes and search schemas use."""
    used = {name for schema in (keys, *[one.keys for one in indexes]) for name in schema.names}
    return used.union(*[one.search_names for one in vector_indexes])


def without_overlong_deadlines(
    table: Table, now_seconds: float, delay_seconds: float, vector_delay_seconds: float = 0.0
) -> Table:
    """The table with every deadline more than `delay_seconds` ahead moved to `now_seconds`; while a vector index
    is CREATING, every deadline more than `vector_delay_seconds` ahead, if that is more.

    Such deadlines were set before the machine's clock was set back. For the same reason, the `changed_at_seconds` of
    time to live and of Kinesis destinations is moved if it is in the future at all.
    """
    if any(one.creating_until_seconds > now_seconds for one in table.vector_indexes):
        delay_seconds = max(delay_seconds, vector_delay_seconds)
    latest_seconds = now_seconds + delay_seconds

    def ended(one: TimedT, latest_seconds: float, *names: str, **changes: object) -> TimedT:
        """`one`, with those of its moments that are after `latest_seconds` moved to `now_seconds`."""
        moments = {name: getattr(one, name) for name in names}
        late = {name: now_seconds for name, at in moments.items() if at is not None and at > latest_seconds}
        return msgspec.structs.replace(one, **late, **changes)

    def settled(one: TimedT) -> TimedT:
        return ended(ended(one, latest_seconds, "changing_until_seconds"), now_seconds, "changed_at_seconds")

    vector_deadlines = ("allocating_until_seconds", "creating_until_seconds", "deleted_at_seconds")
    deadlines = ("updating_until_seconds", "warm_updating_until_seconds", "deleted_at_seconds")
    return ended(
        table,
        latest_seconds,
        *deadlines,
        "active_at_seconds",
        "encryption_updating_until_seconds",
        "switched_to_on_demand_at_seconds",
        indexes=tuple([ended(index, latest_seconds, *deadlines) for index in table.indexes]),
        vector_indexes=tuple([ended(one, latest_seconds, *vector_deadlines) for one in table.vector_indexes]),
        time_to_live=None if table.time_to_live is None else settled(table.time_to_live),
        kinesis_destinations=tuple([settled(one) for one in table.kinesis_destinations]),
    )


def serves_items(table: Table, now_seconds: float) -> bool:
    """True if the data plane may read and write: the table is ACTIVE or UPDATING."""
    return table.deleted_at_seconds is None and not table.is_filling and table.active_at_seconds <= now_seconds


def is_being_restored(table: Table, now_seconds: float) -> bool:
    """True until a restored table is ACTIVE for the first time."""
    return table.restored_from is not None and status(table, now_seconds) == "CREATING"
