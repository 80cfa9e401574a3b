"""What may go wrong on purpose? A list of `Fault`s with a seed, given in code,
as TOML or as JSON (docs/testing/faults.md).
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hashrange.errors import ApiError, Malformed
from hashrange.items.steps import spend
from hashrange.items.values import check_item, type_of
from hashrange.settings import SettingUnusable
from hashrange.tables.throttling import ThrottlingCode, ThroughputLimit
from hashrange.written.values import TomlFault, fault_in, read_toml

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
    "repeated-records",
    "small-batches",
    "no-room",
    "long-operations",
]
S3Code = Literal["AccessDenied", "InternalError", "NoSuchBucket", "ServiceUnavailable"]
Moment = Literal["before", "after"]

_WHERE = frozenset({"operation", "table", "key"})
MEMBERS: dict[str, frozenset[str]] = {
    "throttle": _WHERE | {"index", "exception", "reason", "retry_after_ms"},
    "error": _WHERE | {"when", "code"},
    "conflict": _WHERE | {"seconds"},
    "unprocessed": _WHERE,
    "slow": _WHERE | {"seconds"},
    "drop": _WHERE | {"when"},
    "half-reply": _WHERE,
    "stale-read": _WHERE | {"seconds"},
    "index-lag": frozenset({"seconds"}),
    "table-states": frozenset({"table", "seconds"}),
    "late-records": frozenset({"table", "seconds"}),
    "repeated-records": frozenset({"table"}),
    "small-batches": frozenset({"table", "records"}),
    "no-room": frozenset({"operation", "table"}),
    "long-operations": frozenset({"operation", "table", "seconds"}),
}
"""Kind → members that it may have, besides `share`, `count` and `skip`, which every kind has."""
TIMED = frozenset({"slow", "stale-read", "index-lag", "table-states", "late-records", "long-operations"})
"""Kinds of faults that need the member `seconds`."""
FAULTS_MAX = 1000
FAULT_VALUES_MAX = 1_000
"""Members and values of one fault, with those inside of them: our own bound. Operations have some 200 names, and a key
has four values."""
FAULT_LEVELS_MAX = 100
"""Levels of lists and members in one fault: our own bound. A key has three."""
CONVERTING_STEPS, CHECKING_STEPS = 15, 10
"""Steps of work to convert the members of one fault, and to check them."""
RETRY_AFTER_MS_MAX = 86_400_000
"""A day: our own bound. SDKs wait at most 5 s longer than they would without the header."""
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1
"""Range of a seed, `count` and `skip`: that of TOML's integers."""
ECHOED_LENGTH_MAX = 100
"""Characters of a wrong name that a message repeats."""


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
    """Number of matches, from the first on, that do not meet the fault."""


class Fault(_Where, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that goes wrong on purpose: what, in which requests, and how often."""

    kind: FaultKind
    when: Moment = "before"
    """For the kinds "error" and "drop": whether the fault comes before the request is carried out, or once it has been
    carried out, which a refused request never is."""
    seconds: Annotated[float, Meta(ge=0, le=86_400)] | None = None
    """For "slow": the real time by which a reply is late. For all other kinds, service time:
    how old the rows of a stale read are, how late index entries and stream records are, how long table states and
    long operations last, and how close to each other two requests for one item must be to be in conflict."""
    exception: ThrottlingCode | None = None
    """Exception of a throttled request; None: the one that fits the table's billing mode."""
    reason: ThroughputLimit | None = None
    """Last words of the reason in ThrottlingReasons: `KeyRangeThroughputExceeded` for
    `TableReadKeyRangeThroughputExceeded`. None: the reason that fits the exception."""
    retry_after_ms: Annotated[int, Meta(ge=0, le=RETRY_AFTER_MS_MAX)] | None = None
    """Milliseconds in the header `x-amz-retry-after` of a throttled request's reply; None: there is no such header."""
    records: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """For "small-batches": most records of a batch; None: 1."""
    code: S3Code | None = None
    """For "error" of operations of S3: the error's code; None: InternalError."""

    @property
    def operations(self) -> frozenset[str] | None:
        """Names of the operations that the fault concerns; None: any."""
        names = (self.operation,) if isinstance(self.operation, str) else self.operation
        return None if names is None else frozenset(names)


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
            content = file.read()
    except OSError as error:
        raise FaultsError(f"the file of faults {path} cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # the path holds a null byte
        raise FaultsError(f"the file of faults {path!r} cannot be read: {error}.") from None
    members: Any = None
    try:
        members = read_toml(content)
        read = msgspec.convert(members, _File)
        return checked(read.fault, read.seed)
    except msgspec.ValidationError:
        reason = fault_in(members, _File)
    except (TomlFault, FaultsError) as error:
        reason = str(error)
    except RecursionError:
        reason = "it is nested too deeply."
    raise FaultsError(f"the file of faults {path} cannot be used: {reason}")


def checked(faults: Sequence[Fault | dict[str, Any]], seed: int) -> Faults:
    """Return the faults, with each member converted to its declared type: code may have given a list for a tuple.

    Gives way. Raises FaultsError for a member with a wrong value, and what `check` raises.
    """
    exact = []
    for number, fault in enumerate(faults, 1):
        spend(CONVERTING_STEPS)
        members: Any = fault
        _require_few_values(number, fault)
        try:
            members = msgspec.to_builtins(fault)
            _check_integers(number, members)
            exact.append(msgspec.convert(members, Fault))
        except RecursionError:
            raise FaultsError(f"fault {number}: it is nested too deeply.") from None
        except (msgspec.ValidationError, TypeError, ValueError):
            raise FaultsError(f"fault {number}: {fault_in(members, Fault)}") from None
    if isinstance(seed, int) and not INTEGER_MIN <= seed <= INTEGER_MAX:
        raise FaultsError(f"the seed must be from {INTEGER_MIN} to {INTEGER_MAX}.")
    try:
        found = msgspec.convert({"faults": exact, "seed": seed}, Faults)
    except ValueError:  # also of a seed that is a text with half a surrogate pair
        all_faults = {"faults": msgspec.to_builtins(exact), "seed": seed}
        raise FaultsError(f"the faults cannot be used: {fault_in(all_faults, Faults)}") from None
    check(found)
    return found


def _require_few_values(number: int, fault: Fault | dict[str, Any]) -> None:
    """Raise FaultsError for a fault, with members of any types, that has more than FAULT_VALUES_MAX values in all, or
    more than FAULT_LEVELS_MAX levels of them.
    """
    level: list[Any] = [msgspec.structs.asdict(fault) if isinstance(fault, Fault) else fault]
    count = 0
    for _ in range(FAULT_LEVELS_MAX):
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict | list | tuple):
                count += len(value)
                if count > FAULT_VALUES_MAX:
                    raise FaultsError(
                        f"fault {number}: it has more than {FAULT_VALUES_MAX:,} members and values;"
                        " divide its operations among several faults."
                    )
                below += value.values() if isinstance(value, dict) else value
        if not below:
            return
        level = below
    raise FaultsError(f"fault {number}: it is nested too deeply.")


def _check_integers(number: int, members: Any) -> None:
    """Raise FaultsError for a `count` or `skip` that is far too large; msgspec refuses such integers in other words."""
    for name, least in (("count", 1), ("skip", 0)):
        value = members.get(name) if isinstance(members, dict) else None
        if isinstance(value, int) and value > INTEGER_MAX:
            raise FaultsError(f"fault {number}: the member {name} must be from {least} to {INTEGER_MAX}.")


def most_lag_seconds(faults: Faults) -> float:
    """The longest delay of index entries that faults can cause."""
    return max([fault.seconds or 0.0 for fault in faults.faults if fault.kind == "index-lag"], default=0.0)


def check(faults: Faults) -> None:
    """Raise FaultsError for the first fault with a member that its kind does not have or that no item or table can
    have, or without a member that it needs.
    """
    for number, fault in enumerate(faults.faults, 1):
        spend(CHECKING_STEPS)
        given = {name for name, value in msgspec.structs.asdict(fault).items() if value != _defaults[name]}
        surplus = given - MEMBERS[fault.kind] - {"kind", "share", "count", "skip"}
        if surplus:
            allowed = ", ".join(sorted(MEMBERS[fault.kind]))
            raise FaultsError(
                f'fault {number}: the kind "{fault.kind}" has no member {min(surplus)};'
                f" it has {allowed}, share, count and skip."
            )
        if fault.kind in TIMED and fault.seconds is None:
            raise FaultsError(f'fault {number}: the kind "{fault.kind}" needs the member seconds.')
        wrong = _wrong_name(fault) or (None if fault.key is None else _wrong_key(fault.key, fault.table))
        if wrong is not None:
            raise FaultsError(f"fault {number}: {wrong}")
        if fault.index is not None and (fault.table is None or fault.key is not None):
            raise FaultsError(f"fault {number}: the member index needs the member table, and excludes the member key.")


def echoed(name: str) -> str:
    """A wrong name for a message, which repeats ECHOED_LENGTH_MAX characters of it at most."""
    return name if len(name) <= ECHOED_LENGTH_MAX else f"{name[:ECHOED_LENGTH_MAX]}…"


def _wrong_name(fault: Fault) -> str | None:
    """What is wrong with the names of operations, table or index; None if nothing is."""
    operations = fault.operations
    if operations is not None and (not operations or "" in operations):
        return "the member operation names none; leave it out for all operations."
    if fault.table == "":
        return "the member table is empty; leave it out for all tables."
    for member, name in (("table", fault.table), ("index", fault.index)):
        if name is not None and _NAME(name) is None:
            return (
                f'no {member} has the name "{echoed(name)}"; the member {member} is a name of letters,'
                " digits, _, - and periods."
            )
    return None


def _wrong_key(key_map: dict[str, dict[str, Any]], table: str | None) -> str | None:
    """What is wrong with a key: why no table could have items with this key,
    or with this partition key; None if nothing is.
    """
    if table is None:
        return "the member key needs the member table."
    if len(key_map) not in {1, 2}:
        return 'the member key needs one or two attributes, such as {"id": {"S": "order-1"}}.'
    for name, value in key_map.items():
        try:
            is_right = type_of(check_item({name: value})[0][name]) in {"S", "N", "B"}
        except (ApiError, Malformed):
            is_right = False
        if not is_right:
            example = '{"S": "order-1"} or {"N": "5"}'
            return f"the value of {echoed(name)} in the member key must be of type S, N or B, such as {example}."
    return None


_NAME = re.compile(r"[a-zA-Z0-9_.-]+").fullmatch
_defaults = msgspec.structs.asdict(Fault(kind="error")) | {"kind": None}
