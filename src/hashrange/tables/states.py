"""Which state is a table in? Pure functions of the stored table and service time.

No job turns CREATING into ACTIVE: the table carries its deadlines, and a state is what the deadlines say now. With a
delay of zero the deadline is the moment of the call itself, so the next call already sees the state after it. Service time never
goes back while a process runs; between two, it may: `without_endless_waits`.
Source: service behaviour, developer guide "Table and index states".
"""

from typing import Literal

import msgspec

from hashrange.tables.schema import Index, Table, TimeToLive

Status = Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"]
TimeToLiveStatus = Literal["ENABLING", "ENABLED", "DISABLING", "DISABLED"]


def is_gone(table: Table, now_seconds: float) -> bool:
    """True once a deleted table's deadline has passed: everybody treats it as absent, whoever touches it purges it."""
    return table.deleted_at_seconds is not None and table.deleted_at_seconds <= now_seconds


def status(table: Table, now_seconds: float) -> Status:
    """The state at `now_seconds` of a table that is not gone."""
    if table.deleted_at_seconds is not None:
        return "DELETING"
    if table.active_at_seconds > now_seconds:
        return "CREATING"
    if table.updating_until_seconds > now_seconds:
        return "UPDATING"
    return "ACTIVE"


def index_status(index: Index, table_status: Status, now_seconds: float) -> Status:
    """The state of a global index that is not gone; it is created and deleted with its table, and UPDATING by itself."""
    if table_status in ("CREATING", "DELETING"):
        return table_status
    if index.state != "ACTIVE":
        return index.state
    return "UPDATING" if index.updating_until_seconds > now_seconds else "ACTIVE"


def time_to_live_status(time_to_live: TimeToLive | None, now_seconds: float) -> TimeToLiveStatus:
    """The state of a table's time to live."""
    if time_to_live is None:
        return "DISABLED"
    is_changing = time_to_live.changing_until_seconds > now_seconds
    if time_to_live.state == "DISABLED":
        return "DISABLING" if is_changing else "DISABLED"
    return "ENABLING" if is_changing else time_to_live.state


def may_backfill(table: Table, now_seconds: float) -> bool:
    """True when entries may be made for a CREATING index: while the table is UPDATING, room is made for them."""
    return table.updating_until_seconds <= now_seconds


def without_gone_indexes(table: Table, now_seconds: float) -> Table:
    """The table without the deleted indexes whose deadline has passed, and definitions that only they used."""
    indexes = tuple([one for one in table.indexes if one.state != "DELETING" or one.deleted_at_seconds > now_seconds])
    if len(indexes) == len(table.indexes):
        return table
    used = {
        name for keys in (table.keys, *[one.keys for one in indexes]) for name in keys.partition_names + keys.sort_names
    }
    types = {name: kind for name, kind in table.attribute_types.items() if name in used}
    return msgspec.structs.replace(table, indexes=indexes, attribute_types=types)


def without_endless_waits(table: Table, now_seconds: float, delay_seconds: float) -> Table:
    """The table without deadlines that are further ahead than any that is set now, `delay_seconds`: they are over.

    They were set by a clock that has gone back since, be it at their table's creation or later.
    """
    latest_seconds = now_seconds + delay_seconds

    def ended(deadline_seconds: float) -> float:
        return now_seconds if deadline_seconds > latest_seconds else deadline_seconds

    replace = msgspec.structs.replace
    indexes = tuple(
        [
            replace(
                index,
                updating_until_seconds=ended(index.updating_until_seconds),
                deleted_at_seconds=ended(index.deleted_at_seconds),
            )
            for index in table.indexes
        ]
    )
    time_to_live = table.time_to_live
    if time_to_live is not None:
        time_to_live = replace(
            time_to_live,
            changed_at_seconds=min(time_to_live.changed_at_seconds, now_seconds),
            changing_until_seconds=ended(time_to_live.changing_until_seconds),
        )
    return replace(
        table,
        active_at_seconds=ended(table.active_at_seconds),
        updating_until_seconds=ended(table.updating_until_seconds),
        deleted_at_seconds=None if table.deleted_at_seconds is None else ended(table.deleted_at_seconds),
        indexes=indexes,
        time_to_live=time_to_live,
    )


def serves_items(table: Table, now_seconds: float) -> bool:
    """True when the data plane may read and write: ACTIVE or UPDATING."""
    return table.deleted_at_seconds is None and table.active_at_seconds <= now_seconds
