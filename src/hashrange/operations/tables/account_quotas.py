"""Does an account's quota allow this table, or this change of one? Capacity of tables and of the account,
and how many tables change at the same time.

Capacity is limited only where throughput is enforced (`--throughput enforced`). Only what a request raises is checked,
so that content from elsewhere, which may have more, can still be changed. Source: developer guide, quotas page of 2026;
LimitExceededException as observed in October 2026.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from hashrange import limits
from hashrange.errors import LimitExceededException
from hashrange.items.steps import spend, walk
from hashrange.messages import tables as say
from hashrange.operations.operation import Scope
from hashrange.tables.schema import Index, Table, Throughput
from hashrange.tables.states import is_gone, status, time_to_live_status

Kind = Literal["Read", "Write"]
KINDS: tuple[Kind, Kind] = ("Read", "Write")


class _Capacity(NamedTuple):
    """Read or write capacity of a table or global index."""

    provisioned: int
    on_demand_max: int
    warm: int


def check_capacity(scope: Scope, old: Table | None, new: Table) -> None:
    """Raise LimitExceededException if a table has, or its account would have, more capacity than the quotas
    allow, unless it had before.

    `old`: the table before; None if it is new. Checks table and global indexes in their order, then the account.
    """
    if scope.settings.throughput != "enforced":
        return
    before: dict[str | None, Table | Index] = (
        {} if old is None else {None: old} | {index.name: index for index in old.indexes}
    )
    for subject in _subjects(new):
        name = None if isinstance(subject, Table) else subject.name
        for kind in KINDS:
            _check_subject(scope, name, kind, _capacity(before.get(name), kind), _capacity(subject, kind))
    tables = walk([table.schema for table in scope.tables.values()])
    others = [table for table in tables if not is_gone(table, scope.clock.service_time())]
    for kind in KINDS:
        added = _provisioned(new, kind) - (0 if old is None else _provisioned(old, kind))
        reserved = 0
        for table in others:
            spend(2 + len(table.indexes))
            reserved += _provisioned(table, kind)
        if added > 0 and reserved + added > limits.ACCOUNT_CAPACITY_UNITS_MAX:
            raise LimitExceededException(
                say.ACCOUNT_UNITS.format(
                    member=f"{kind}CapacityUnits",
                    region=scope.region,
                    current=reserved,
                    limit=limits.ACCOUNT_CAPACITY_UNITS_MAX,
                    units=added,
                )
            )


def check_changes(scope: Scope, created: Table | None = None) -> None:
    """Raise LimitExceededException if so many tables change now that no other may.
    `created`: the table, if it is to be created.

    A table changes while it is CREATING, UPDATING or DELETING, and while its time to live is
    shown as ENABLING or DISABLING.

    Needs a look at each table, but only if there are as many as may change at the same time.
    """
    least = limits.INDEXED_CREATIONS_MAX if created is not None and created.indexes else limits.TABLE_CHANGES_MAX
    if len(scope.tables) < least:
        return
    now_seconds = scope.clock.service_time()
    tables = [table.schema for table in scope.tables.values()]
    states = [(table, status(table, now_seconds)) for table in tables if not is_gone(table, now_seconds)]
    if (
        sum(state != "ACTIVE" or _changes_expiry(table, now_seconds) for table, state in states)
        >= limits.TABLE_CHANGES_MAX
    ):
        raise LimitExceededException(say.TOO_MANY_CHANGES.format(limit=limits.TABLE_CHANGES_MAX))
    if created is not None and created.indexes:
        indexed = sum(state == "CREATING" and bool(table.indexes) for table, state in states)
        if indexed >= limits.INDEXED_CREATIONS_MAX:
            raise LimitExceededException(say.TOO_MANY_INDEXED.format(limit=limits.INDEXED_CREATIONS_MAX))


def _changes_expiry(table: Table, now_seconds: float) -> bool:
    return time_to_live_status(table.time_to_live, now_seconds) in ("ENABLING", "DISABLING")


def _subjects(table: Table) -> Iterator[Table | Index]:
    """What has capacity of its own: the table, and its global indexes."""
    yield table
    for index in table.indexes:
        if index.is_global:
            yield index


def _capacity(subject: Table | Index | None, kind: Kind) -> _Capacity:
    if subject is None:
        return _Capacity(0, 0, 0)
    given = subject.throughput or Throughput(0, 0)
    if kind == "Read":
        return _Capacity(given.read_units, subject.on_demand_max_read_units or 0, subject.warm_read_units or 0)
    return _Capacity(given.write_units, subject.on_demand_max_write_units or 0, subject.warm_write_units or 0)


def _provisioned(table: Table, kind: Kind) -> int:
    return sum([_capacity(subject, kind).provisioned for subject in _subjects(table)])


def _check_subject(scope: Scope, index: str | None, kind: Kind, old: _Capacity, new: _Capacity) -> None:
    """Raise LimitExceededException for capacity above the quota of a table (`index` None) or global
    index that the request has raised.
    """
    limit = limits.TABLE_CAPACITY_UNITS_MAX
    unit_text = say.TABLE_UNITS if index is None else say.INDEX_UNITS
    for units, before, text, member, naming in (
        (new.provisioned, old.provisioned, unit_text, f"{kind}CapacityUnits", "index "),
        (new.on_demand_max, old.on_demand_max, say.ON_DEMAND_QUOTA, f"Max{kind}RequestUnits", "index : "),
        (new.warm, old.warm, say.WARM_QUOTA, f"{kind}UnitsPerSecond", "index "),
    ):
        if units > max(limit, before):
            words = {"units": units, "index": index, "region": scope.region, "limit": limit, "kind": kind}
            subject = "table" if index is None else naming + index
            raise LimitExceededException(text.format(member=member, subject=subject, **words))
