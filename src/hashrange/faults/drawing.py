"""Who meets a fault? For each request and each item that it touches, the faults that match are drawn,
in order, and reported.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from hashrange.clock import Clock
from hashrange.errors import ApiError
from hashrange.faults.fault import Fault, FaultKind, Faults, Moment
from hashrange.items.steps import spend
from hashrange.items.types import Key
from hashrange.items.values import check_item
from hashrange.tables.open_table import OpenTable
from hashrange.tables.source_id import partition_prefix

REPORTED_MAX = 100_000
"""Most faults that are reported one by one; later ones are only counted."""
SOME_VALUES: dict[str, dict[str, str]] = {"S": {"S": "0"}, "N": {"N": "0"}, "B": {"B": "AA=="}}
"""Type of a sort key → an example value, with which a partition key alone becomes a whole key."""
REQUEST_KINDS: frozenset[FaultKind] = frozenset({"error", "slow", "drop", "half-reply"})
"""Kinds of faults that apply to a request as a whole: when it begins or, if the fault has a key,
when it touches the item."""
SERVICE_KINDS: frozenset[FaultKind] = REQUEST_KINDS | {"throttle"}
"""Kinds of faults that requests to services beside DynamoDB meet."""
UPLOADS = frozenset({"PutObject", "UploadPart"})
"""Operations of S3 for whose bodies there may be no room: those that meet faults of the kind `no-room`."""
DELIVERY_KINDS: frozenset[FaultKind] = frozenset({"late-records", "repeated-records", "small-batches"})
"""Kinds of faults that apply to batches of stream records on their way to functions."""
DELIVERY = "Invoke"
"""Operation that reports name for faults of batches, although no request is involved; the name is Lambda's."""
TABLES_MAX = 100
"""Most tables of which it is remembered which faults may concern them."""
PREPARING_STEPS = 25
"""Steps of work for each fault before rows of a table meet it for the first time:
a generator is seeded, or a key encoded."""


class MetFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that a request has met, as it is reported."""

    number: int
    """Number of this report among all reports, from 1."""
    fault: int
    """Position of the fault in the list of faults, from 1."""
    kind: FaultKind
    operation: str
    service_time: float
    """Service time at which the request met the fault, in seconds since the epoch."""
    table: str | None = None
    index: str | None = None
    key: str | None = None
    """The key's bytes in the store, in hexadecimal; None if no single item was touched."""


class Touch(msgspec.Struct, frozen=True):
    """An access of a request to rows of a table."""

    table: OpenTable
    index: str | None
    """Name of the index that is read; None if the table itself is read or written."""
    key: Key | None
    """Key of the row; None if rows of several keys may be read."""
    prefix: bytes = b""
    """The bytes with which all keys begin that may be read, if these have one partition key; else empty."""


class _Drawn:
    """One fault, and how often it matched and was met."""

    def __init__(self, fault: Fault, number: int, seed: int) -> None:
        self.fault = fault
        self.number = number
        self.matches = 0
        self.met = 0
        self._seed = f"{seed}/{number}"
        self.operations = fault.operations

    def is_met(self) -> bool:
        """Draw whether a match meets the fault."""
        fault = self.fault
        self.matches += 1
        if self.matches <= fault.skip or (fault.count is not None and self.met >= fault.count):
            return False
        if fault.share < 1 and self._chance() >= fault.share:
            return False
        self.met += 1
        return True

    @cached_property
    def _chance(self) -> Callable[[], float]:
        """Returns the next random number. To seed its generator when it is first needed takes 25 µs."""
        return random.Random(self._seed).random  # noqa: S311 - reproducible, not secret

    def be_seeded(self) -> None:
        """Seed the fault's generator, if it is needed and has not been seeded yet."""
        if self.fault.share < 1:
            _ = self._chance

    def names_operation(self, operation: str) -> bool:
        """True if the fault concerns this operation."""
        return self.operations is None or operation in self.operations

    def names(self, touch: Touch, changed_indexes: Sequence[str]) -> bool:
        """True if the fault, which may concern the rows that are touched, names no other index.
        `changed_indexes`: global indexes that a write changes.
        """
        index = self.fault.index
        return index is None or index == touch.index or index in changed_indexes


class _OfTable(NamedTuple):
    """The faults that may concern rows of one table, in their order."""

    of_all: list[_Drawn]
    """The faults of the table that name no key."""
    of_keys: dict[bytes, list[_Drawn]]
    """A key, or the start of all keys with one partition key → the faults that name it."""

    def concerning(self, touch: Touch) -> list[_Drawn]:
        """The faults that may concern the rows that are touched. 0.2 µs, and 0.1 µs for each if some name the key."""
        if not self.of_keys or touch.index is not None:
            return self.of_all
        start = touch.prefix if touch.key is None else partition_prefix(touch.key)
        of_key = self.of_keys.get(start, [])
        if touch.key is not None and touch.key != start:
            of_key = of_key + self.of_keys.get(touch.key, [])
        return sorted(self.of_all + of_key, key=attrgetter("number")) if of_key else self.of_all


class Drawing:
    """Draws which requests and items meet which faults, and reports what they met. For one service, on its loop."""

    def __init__(self, faults: Faults, clock: Clock) -> None:
        self.faults = faults
        self._clock = clock
        self._drawn = [_Drawn(fault, number, faults.seed) for number, fault in enumerate(faults.faults, 1)]
        self.report: list[MetFault] = []
        """Faults that were met, in order: the first REPORTED_MAX."""
        self.met = 0
        """Number of faults that were met."""
        self._of_tables: dict[int, _OfTable] = {}
        """Table id → the faults that may concern rows of the table, of at most TABLES_MAX tables."""

    def on_request(self, operation: str, tables: Sequence[str], when: Moment) -> Iterator[Fault]:
        """Draw the faults that a whole request meets as it begins ("before"), or once it has been carried out
        ("after"); yields those that it meets.

        `tables`: names of the tables in the request.
        """
        for drawn in self._drawn:
            fault = drawn.fault
            if fault.kind in REQUEST_KINDS and fault.key is None and fault.when == when:
                if not drawn.names_operation(operation) or (fault.table is not None and fault.table not in tables):
                    continue
                if drawn.is_met():
                    self._note(drawn, operation, fault.table)
                    yield fault

    def on_service_request(self, operation: str, when: Moment, table: str | None = None) -> Iterator[Fault]:
        """Draw the faults that a request to a service beside DynamoDB meets, as `on_request` does:
        only faults that name its operation, or are of uploads.

        `table`: the table for whose transfer the server itself asks S3.
        """
        for drawn in self._drawn:
            fault = drawn.fault
            if fault.kind == "no-room":
                is_named = operation in (drawn.operations or UPLOADS)
            else:
                is_named = fault.kind in SERVICE_KINDS and operation in (drawn.operations or ())
            if is_named and fault.table in (None, table) and fault.when == when and drawn.is_met():
                self._note(drawn, operation, table)
                yield fault

    def on_touch(
        self,
        kinds: frozenset[FaultKind],
        operation: str,
        touch: Touch,
        changed_indexes: Sequence[str] = (),
        is_possible: Callable[[Fault], bool] = lambda fault: True,
        when: Moment = "before",
    ) -> Iterator[Fault]:
        """Draw the faults of these kinds that an access to rows meets, before or after it is carried out; yields those
        that it meets.

        Of kinds that a whole request meets, only faults with a key are drawn. `is_possible` tells whether the access
        can meet a fault that concerns its rows; if not, it does not count as a match.

        May give way before the first draw, and not after it, so that each access draws all at once.
        """
        found = self._of_table(touch.table).concerning(touch)
        spend(len(found))
        for drawn in found:
            fault = drawn.fault
            if (
                fault.kind in kinds
                and fault.when == when
                and (fault.key is not None or fault.kind not in REQUEST_KINDS)
                and drawn.names_operation(operation)
                and drawn.names(touch, changed_indexes)
                and is_possible(fault)
                and drawn.is_met()
            ):
                self._note(drawn, operation, touch.table.name, fault.index or touch.index, touch.key)
                yield fault

    def _of_table(self, table: OpenTable) -> _OfTable:
        """The faults that may concern rows of a table.
        Up to 50 µs for each fault when it is first asked for; gives way.
        """
        known = self._of_tables.get(table.table_id)
        if known is not None:
            return known
        found = _OfTable([], {})
        for drawn in self._drawn:
            fault = drawn.fault
            if fault.table not in (None, table.name):
                continue
            spend(PREPARING_STEPS)
            drawn.be_seeded()
            if fault.key is None:
                found.of_all.append(drawn)
                continue
            with suppress(ApiError):  # the fault's key does not fit the table's keys
                found.of_keys.setdefault(_key_start(table, fault.key), []).append(drawn)
        if len(self._of_tables) >= TABLES_MAX:
            self._of_tables.clear()
        self._of_tables[table.table_id] = found
        return found

    def on_delivery(self, table: str) -> Iterator[Fault]:
        """Draw the faults that a batch of a table's stream records meets on its way to a function;
        yields those that it meets.
        """
        for drawn in self._drawn:
            fault = drawn.fault
            if fault.kind in DELIVERY_KINDS and fault.table in (None, table) and drawn.is_met():
                self._note(drawn, DELIVERY, table)
                yield fault

    def seconds_of(self, kind: FaultKind, table: str | None = None, operation: str = "") -> float:
        """The greatest `seconds` of the faults of a kind that concern a table (None: any) and the operation, if they
        name some, and are met; 0 if none is.
        """
        seconds = 0.0
        for drawn in self._drawn:
            fault = drawn.fault
            is_named = fault.table in (None, table) and drawn.names_operation(operation)
            if fault.kind == kind and is_named and drawn.is_met():
                self._note(drawn, operation or kind, table)
                seconds = max(seconds, fault.seconds or 0.0)
        return seconds

    def most_seconds(self, kind: FaultKind) -> float | None:
        """The greatest `seconds` of all faults of a kind; None if there is none. Draws nothing."""
        return max([drawn.fault.seconds or 0.0 for drawn in self._drawn if drawn.fault.kind == kind], default=None)

    def has(self, kind: FaultKind) -> bool:
        """True if there is a fault of this kind."""
        return any(drawn.fault.kind == kind for drawn in self._drawn)

    def has_request_faults(self, when: Moment, *, with_key: bool) -> bool:
        """True if there are faults of REQUEST_KINDS, with or without a key, that come at this moment."""
        faults = [drawn.fault for drawn in self._drawn if drawn.fault.kind in REQUEST_KINDS]
        return any(fault.when == when and (fault.key is not None) == with_key for fault in faults)

    def _note(
        self, drawn: _Drawn, operation: str, table: str | None = None, index: str | None = None, key: Key | None = None
    ) -> None:
        self.met += 1
        if self.met <= REPORTED_MAX:
            shown = None if key is None else key.hex()
            now_seconds = self._clock.service_time()
            kind = drawn.fault.kind
            self.report.append(MetFault(self.met, drawn.number, kind, operation, now_seconds, table, index, shown))


def _key_start(table: OpenTable, key_map: dict[str, Any]) -> bytes:
    """The key of the item that `key_map` names or, if it is only a partition key, the bytes with which the keys of all
    its items begin.

    Raises ApiError if `key_map` does not fit the table's keys.
    """
    is_whole = table.sort_name is None or table.sort_name in key_map
    if not is_whole:
        assert table.sort_name is not None
        key_map = {**key_map, table.sort_name: SOME_VALUES[table.keys.sort_types[0]]}
    key = table.lookup_key(check_item(key_map)[0])
    return key if is_whole else partition_prefix(key)
