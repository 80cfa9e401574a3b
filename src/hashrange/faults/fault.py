"""What may go wrong on purpose? A list of `Fault`s with a seed, given in code, as TOML or as JSON (docs/testing/faults.md)."""

import tomllib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.errors import ApiError, Malformed
from hashrange.items.values import check_item, type_of
from hashrange.settings import SettingUnusable

FaultKind = Literal[
    "throttle",
    "error",
    "conflict",
    "unprocessed",
    "slow",
    "drop",
    "half-reply",
    "stale-read",
    "index-lag",
    "table-states",
    "late-records",
]
ThrottlingError = Literal["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
ThrottlingReason = Literal[
    "ProvisionedThroughputExceeded",
    "KeyRangeThroughputExceeded",
    "AccountLimitExceeded",
    "MaxOnDemandThroughputExceeded",
]

_WHERE = frozenset({"operation", "table", "key"})
MEMBERS: dict[str, frozenset[str]] = {
    "throttle": _WHERE | {"index", "exception", "reason"},
    "error": _WHERE | {"when"},
    "conflict": _WHERE | {"seconds"},
    "unprocessed": _WHERE,
    "slow": _WHERE | {"seconds"},
    "drop": _WHERE | {"when"},
    "half-reply": _WHERE,
    "stale-read": _WHERE | {"seconds"},
    "index-lag": frozenset({"seconds"}),
    "table-states": frozenset({"table", "seconds"}),
    "late-records": frozenset({"table", "seconds"}),
}
"""Kind → members that it may have, besides `share`, `count` and `skip`, which every kind has."""
TIMED = frozenset({"slow", "stale-read", "index-lag", "table-states", "late-records"})
"""Kinds of faults that need the member `seconds`."""
FAULTS_MAX = 1000


class FaultsError(SettingUnusable):
    """A list of faults cannot be used; the message says which fault is wrong, and why."""


class _Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """The members that say which requests meet a fault, and how often. None means any."""

    operation: str | tuple[str, ...] | None = None
    """Name or names of operations."""
    table: str | None = None
    """Name of a table, in any account and Region."""
    index: str | None = None
    """Name of an index: reads of it and, of a global index, writes to its table."""
    key: dict[str, dict[str, Any]] | None = None
    """Key of an item in DynamoDB's JSON, or a partition key alone, which names all its items."""
    share: Annotated[float, Meta(ge=0, le=1)] = 1.0
    """Probability that a matching request or item meets the fault; drawn from the seed."""
    count: Annotated[int, Meta(ge=1)] | None = None
    """The fault is met at most this many times."""
    skip: Annotated[int, Meta(ge=0)] = 0
    """This many matches, the first ones, do not meet the fault."""


class Fault(_Where, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that goes wrong on purpose: what, in which requests, and how often."""

    kind: FaultKind
    when: Literal["before", "after"] = "before"
    """For the kinds "error" and "drop": whether the fault comes before the request is carried out, or after its commit."""
    seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    """For "slow": the real time by which a reply is late. For all other kinds, service time: how old the rows of a stale
    read are, how late index entries and stream records are, how long table states last, and how close to each other two
    requests for one item must be to be in conflict."""
    exception: ThrottlingError | None = None
    """Exception of a throttled request; None: the one that fits the table's billing mode."""
    reason: ThrottlingReason | None = None
    """Reason of a throttled request in ThrottlingReasons, without its first words, such as `TableRead`; None: the reason that
    fits the exception."""


class Faults(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """All faults of a database, and the seed from which it is drawn who meets them."""

    faults: Annotated[tuple[Fault, ...], Meta(max_length=FAULTS_MAX)] = ()
    seed: int = 0


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A TOML file of faults."""

    fault: Annotated[tuple[dict[str, Any], ...], Meta(max_length=FAULTS_MAX)] = ()
    seed: int = 0


def read_faults(path: str) -> Faults:
    """Read a TOML file: `seed`, and a table `[[fault]]` for each fault. Raises FaultsError."""
    try:
        with open(path, "rb") as file:
            read = msgspec.convert(tomllib.load(file), _File)
        return checked(read.fault, read.seed)
    except OSError as error:
        raise FaultsError(f"the file of faults {path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, FaultsError) as error:
        raise FaultsError(f"the file of faults {path} cannot be used: {error}") from None


def checked(faults: Sequence[Fault | dict[str, Any]], seed: int) -> Faults:
    """Return the faults with members of the declared types. Code may have given others, such as a list of operations.

    Raises FaultsError for a member with a wrong value, and what `check` raises.
    """
    exact = []
    for number, fault in enumerate(faults, 1):
        try:
            exact.append(msgspec.convert(msgspec.to_builtins(fault), Fault))
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise FaultsError(f"fault {number}: {error}.") from None
    try:
        found = msgspec.convert({"faults": exact, "seed": seed}, Faults)
    except msgspec.ValidationError as error:
        raise FaultsError(f"the faults cannot be used: {error}.") from None
    check(found)
    return found


def most_lag_seconds(faults: Faults) -> float:
    """The longest delay of index entries that faults can cause."""
    return max([fault.seconds or 0.0 for fault in faults.faults if fault.kind == "index-lag"], default=0.0)


def check(faults: Faults) -> None:
    """Raise FaultsError for the first fault with a member that its kind does not have or that no item or table can have,
    or without a member that it needs.
    """
    for number, fault in enumerate(faults.faults, 1):
        given = {name for name, value in msgspec.structs.asdict(fault).items() if value != _defaults[name]}
        surplus = given - MEMBERS[fault.kind] - {"kind", "share", "count", "skip"}
        if surplus:
            allowed = ", ".join(sorted(MEMBERS[fault.kind]))
            raise FaultsError(
                f'fault {number}: the kind "{fault.kind}" has no member {min(surplus)}; it has {allowed}, share, count and skip.'
            )
        if fault.kind in TIMED and fault.seconds is None:
            raise FaultsError(f'fault {number}: the kind "{fault.kind}" needs the member seconds.')
        if fault.key is not None and fault.table is None:
            raise FaultsError(f"fault {number}: the member key needs the member table.")
        if fault.key is not None and not _is_key(fault.key):
            raise FaultsError(
                f'fault {number}: the member key needs one or two attributes, such as {{"id": {{"S": "order-1"}}}}.'
            )
        if fault.index is not None and (fault.table is None or fault.key is not None):
            raise FaultsError(f"fault {number}: the member index needs the member table, and excludes the member key.")


def _is_key(key_map: dict[str, dict[str, Any]]) -> bool:
    """True if a table could have items with this key, or with this partition key."""
    try:
        item = check_item(key_map)[0]
    except (ApiError, Malformed):
        return False
    return len(item) in {1, 2} and all(type_of(value) in {"S", "N", "B"} for value in item.values())


_defaults = msgspec.structs.asdict(Fault(kind="error")) | {"kind": None}
