"""Which state is a table in? Pure functions of the stored table and service time.

No job turns CREATING into ACTIVE: the table carries its deadlines, and a state is what the deadlines say now. With a
delay of zero the deadline is the moment of the call itself, so the next call already sees the state after it.
Source: service behaviour, developer guide "Table and index states".
"""

from typing import Literal

from hashrange.tables.schema import Table

Status = Literal["CREATING", "UPDATING", "DELETING", "ACTIVE"]


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


def serves_items(table: Table, now_seconds: float) -> bool:
    """True when the data plane may read and write: ACTIVE or UPDATING."""
    return table.deleted_at_seconds is None and table.active_at_seconds <= now_seconds
