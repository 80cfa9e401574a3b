"""How is an init folder applied to a store? File by file, request by request and line by line,
through the operations of the API.

A table that exists with the same definition is left as it is, and so is time to live that is on already. Items are put,
and replace those with the same keys. The caller lets this work on a copy of its store, so that a fault leaves no trace.
"""

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import Operation
from hashrange.clock import Clock
from hashrange.errors import ApiError, Malformed, SerializationException, StorageBusy, ValidationException
from hashrange.init.contents import InitRequest, UnusableInput, is_batch, item_json, requests_in, scanned_items
from hashrange.init.files import InitError, InitFile, hash_of, marks_of, read_body, read_lines
from hashrange.init.template_files import holds_template, template_requests
from hashrange.items.steps import spend_decoding
from hashrange.operations.lookup import find_table
from hashrange.operations.operation import JsonWire, Scope
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.operations.tables.create_table_checks import check_creation
from hashrange.operations.tables.created_table import make_table
from hashrange.operations.tables.requests import CreateTableRequest
from hashrange.settings import SHARED_ACCOUNT, SHARED_REGION, Settings
from hashrange.store.interface import WholeStore
from hashrange.tables.schema import Table
from hashrange.templates.stack import Locality
from hashrange.wire.body_members import has_many_members
from hashrange.wire.faults import find_fault, read_slowly
from hashrange.wire.piecewise import decode_in_pieces
from hashrange.wire.wide_maps import convert_in_pieces
from hashrange.written.names import did_you_mean

ITEMS_TOGETHER = 64
"""Items that are put in one go, before other work has its turn."""

TOGETHER_BYTES = 64 * 1024
"""Length of items that are put in one go, unless a single one is longer."""

TOLD_CHARACTERS_MAX = 1000
"""Length of the part of a service's message that is told; some messages repeat what a request holds."""

LINES_TOGETHER = 5_000
"""Lines that are passed over in one go, if they are empty: a few milliseconds.
A small compressed file may have millions."""

InGo = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]
"""Runs a piece of the work; other work may have its turn before and behind it."""


_log = logging.getLogger("hashrange.init")


class FolderApplication:
    """The application of files to one store."""

    def __init__(self, store: WholeStore, clock: Clock, settings: Settings, in_go: InGo) -> None:
        # Tables must be ACTIVE before items are put into them, so states do not last here, whatever the settings say.
        self._settings = msgspec.structs.replace(settings, table_state_delay_seconds=0.0)
        self._store, self._clock, self._in_go = store, clock, in_go
        self._put = ALL_OPERATIONS["PutItem"]
        self._progress = Progress(clock)
        self.counts: Counter[str] = Counter()
        """Number of tables made, and of items put."""

    async def apply(self, files: Sequence[InitFile]) -> None:
        """Apply the files in order, and mark them as applied. Raises InitError and StorageError."""
        hashes = {}
        for file in files:
            hashes[file.name] = await hash_of(file)
            is_shared = self._settings.shared_db
            place = (SHARED_ACCOUNT, SHARED_REGION) if is_shared else (file.account, file.region)
            scope = Scope(*place, self._store, self._clock, self._settings)
            if file.kind == "lines":
                await self._put_items(file, scope, "line", read_lines(file))
            else:
                await self._apply_whole(file, scope)
        await self._store.documents.write(marks_of(hashes))

    async def _apply_whole(self, file: InitFile, scope: Scope) -> None:
        """Apply a template, or a file of requests, or of what a scan has printed."""
        scanned, requests = (None, None) if file.kind == "template" else await self._in_go(self._read_whole(file))
        if scanned is not None:
            await self._put_items(file, scope, "item", enumerate(scanned, 1))
        elif requests is None:
            requests = await template_requests(file, Locality(scope.account, scope.region))
        for request in requests or []:
            await self._in_go(self._apply_request(file, scope, request))

    async def _read_whole(self, file: InitFile) -> tuple[list[bytes] | None, list[InitRequest] | None]:
        """The items that a scan has printed, None if there are none; and the requests, None if it is a template."""
        body = read_body(file)
        if holds_template(body):
            return None, None
        scanned = None if is_batch(body) else scanned_items(body)
        if scanned is not None:
            return scanned, []
        try:
            return None, requests_in(body, ALL_OPERATIONS)
        except UnusableInput as error:
            raise InitError(file.path, str(error)) from None

    async def _apply_request(self, file: InitFile, scope: Scope, request: InitRequest) -> None:
        operation = ALL_OPERATIONS[request.operation]
        try:
            if await _is_done(scope, operation, request.body):
                return
            await carry_out(scope, operation, request.body)
        except UnusableInput as error:
            raise InitError(file.path, f"{request.place}{error}") from None
        except ApiError as error:
            raise InitError(file.path, f"{request.place}{operation.name}: {_told(error)}") from None
        if request.operation == "CreateTable":
            self.counts["tables"] += 1
        self.counts["items"] += request.items

    async def _put_items(self, file: InitFile, scope: Scope, noun: str, items: Iterator[tuple[int, bytes]]) -> None:
        """Put the items, which are given with their numbers. `noun`: what is numbered."""
        table = table_of_stem(scope, file.stem)
        if table is None:
            raise InitError(
                file.path,
                f"there is no table {file.stem} in {scope.region}.{did_you_mean(file.stem, scope.tables)} Files are"
                " applied in the order of their names, capitals first. Name this one like the table whose items it"
                " holds, so that it comes behind the one that creates the table.",
            )
        self._progress.begin(file)
        is_more = True
        while is_more:
            is_more = await self._in_go(self._put_some(file, scope, table, noun, items))

    async def _put_some(
        self, file: InitFile, scope: Scope, table: Table, noun: str, items: Iterator[tuple[int, bytes]]
    ) -> bool:
        """Read and put the next items. Returns whether there may be more."""
        together, is_more = _together(items)
        start = b'{"TableName":%b,"Item":' % msgspec.json.encode(table.name)
        partition_name = table.keys.partition_names[0]
        for number, item in together:
            try:
                await carry_out(scope, self._put, b"%b%b}" % (start, item_json(item, partition_name)))
            except UnusableInput as error:
                raise InitError(file.path, f"{noun} {number}: {error}") from None
            except ApiError as error:
                raise InitError(file.path, f"{noun} {number}: PutItem: {_told(error)}") from None
        self.counts["items"] += len(together)
        self._progress.put(len(together))
        return is_more


def _together(items: Iterator[tuple[int, bytes]]) -> tuple[list[tuple[int, bytes]], bool]:
    """The next items, without lines of blanks, and whether there may be more: at most ITEMS_TOGETHER, and none behind
    the one with which they have TOGETHER_BYTES.
    """
    found: list[tuple[int, bytes]] = []
    size_bytes = 0
    for passed, (number, line) in enumerate(items, 1):
        size_bytes += len(line)
        if item := line.strip():
            found.append((number, item))
        if len(found) == ITEMS_TOGETHER or size_bytes >= TOGETHER_BYTES or passed == LINES_TOGETHER:
            return found, True
    return found, False


async def _is_done(scope: Scope, operation: Operation[JsonWire], body: bytes) -> bool:
    """True if the table exists as the request asks, or has its time to live.
    Raises UnusableInput if it exists otherwise, and ApiError.
    """
    try:
        request = _decoded(operation, body)
        name = getattr(request, "TableName", None)
        table = None if name is None else await find_table(scope, name)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, Malformed):
        return False  # the operation says what is wrong
    if table is None or table.deleted_at_seconds is not None:
        return False
    if isinstance(request, CreateTableRequest):
        check_creation(request)
        wanted = make_table(request, table.name, 0, scope.account, scope.region, 0.0, 0.0)
        differing = differing_members(table, wanted)
        if differing:
            raise UnusableInput(
                f"the table {table.name} exists already, with another {', '.join(differing)}."
                " Change or delete the table, or let the file describe it as it is."
            )
        return True
    if operation.name == "UpdateTimeToLive":
        wanted_ttl, now = request.TimeToLiveSpecification, table.time_to_live
        is_on = now is not None and now.state != "DISABLED"
        return is_on == wanted_ttl.Enabled and (now is None or now.attribute == wanted_ttl.AttributeName)
    return False


def _told(error: ApiError) -> str:
    """Code and message of an error, as a sentence."""
    words = (error.message or "").split()  # some messages repeat what a request holds, line breaks too
    message = " ".join(words)[:TOLD_CHARACTERS_MAX]
    ending = "" if not message or message.endswith((".", "!", "?")) else "."
    return f"{error.code}: {message}{ending}" if message else f"{error.code}."


# --- tables that exist ----------------------------------------------------------------------------


def differing_members(existing: Table, wanted: Table) -> list[str]:
    """Names of CreateTable's members in which the two tables differ; empty if they are defined alike.

    Not compared: tags, the resource policy and warm throughput, and all that is not defined by a request.
    """
    before, after = _defined(existing), _defined(wanted)
    return [name for name in before if before[name] != after[name]]


def _defined(table: Table) -> dict[str, Any]:
    return {
        "KeySchema": table.keys,
        "AttributeDefinitions": table.attribute_types,
        "BillingMode": table.billing_mode,
        "ProvisionedThroughput": table.throughput,
        "OnDemandThroughput": (table.on_demand_max_read_units, table.on_demand_max_write_units),
        "LocalSecondaryIndexes": _indexes(table, is_global=False),
        "GlobalSecondaryIndexes": _indexes(table, is_global=True),
        "VectorIndexes": {
            index.name: (index.attribute, index.dimensions, index.distance, index.projection, index.search_schema)
            for index in table.vector_indexes
            if index.state != "DELETING"
        },
        "StreamSpecification": table.stream_view_type,
        "SSESpecification": (table.sse_type, table.kms_key_arn),
        "TableClass": table.table_class,
        "DeletionProtectionEnabled": table.is_deletion_protected,
    }


def _indexes(table: Table, *, is_global: bool) -> dict[str, Any]:
    """Name → definition of each local or global index that is not being deleted."""
    return {
        index.name: (
            index.keys,
            index.projection.kind,
            frozenset(index.projection.non_key_names),
            index.throughput,
            index.on_demand_max_read_units,
            index.on_demand_max_write_units,
        )
        for index in table.indexes
        if index.is_global == is_global and index.state != "DELETING"
    }


# --- one request ----------------------------------------------------------------------------------

ATTEMPTS_MAX = 6
"""How often a write is tried, at most, while the store's engine cannot keep up. Each attempt itself waits some 10 s."""


async def carry_out(scope: Scope, operation: Operation[JsonWire], body: bytes) -> None:
    """Run the operation on a request whose members are the JSON `body`, as on one that came over the API, with the same
    checks and errors; returns once it has taken place.

    Raises the ApiError that a client would get, and StorageError. A request of BatchWriteItem whose items could not all
    be written is sent again, as a client would, and so is any that meets a busy store.
    """
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            reply = await _reply_to(scope, operation, body)
        except StorageBusy:
            if attempt == ATTEMPTS_MAX:
                raise
        else:
            if not reply.get("UnprocessedItems"):
                return
    raise StorageBusy(f"{operation.name} could not write all its items, because the store was busy for too long.")


async def _reply_to(scope: Scope, operation: Operation[JsonWire], body: bytes) -> Any:
    """The reply to a request. Of several faults, the one that the service finds first is raised."""
    try:
        request = _decoded(operation, body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return await _reply_to_lenient(scope, operation, body)
    try:
        return await operation.start(scope, request, [])
    except Malformed:
        return await _reply_to_lenient(scope, operation, body)
    except ValidationException:
        find_fault(operation.request, operation.wire.rules, body)
        raise


def _decoded(operation: Operation[JsonWire], body: bytes) -> Any:
    """The request; gives way. Raises MsgspecError, UnicodeDecodeError or RecursionError."""
    if has_many_members(body):
        return convert_in_pieces(decode_in_pieces(body, msgspec.json.decode), operation.request)
    spend_decoding(len(body))
    return msgspec.json.decode(body, type=operation.request)


async def _reply_to_lenient(scope: Scope, operation: Operation[JsonWire], body: bytes) -> Any:
    """The reply to a request that the fast decoder does not take, or whose insides are malformed."""
    request: Any = read_slowly(operation.request, operation.wire.rules, body)
    try:
        return await operation.start(scope, request, [])
    except Malformed:
        raise SerializationException from None


# --- names of files -------------------------------------------------------------------------------

_order_number = re.compile(r"[0-9]+[-_.]")


def table_of_stem(scope: Scope, stem: str) -> Table | None:
    """The table `Users` for `Users`, and for `20-Users`, `20_Users` and `20.Users` unless there
    is a table of that whole name.
    """
    number = _order_number.match(stem)
    for name in (stem, stem[number.end() :] if number else stem):
        table = scope.tables.get(name)
        if table is not None:
            return table.schema
    return None


# --- progress -------------------------------------------------------------------------------------

REPORT_SECONDS = 5.0


class Progress:
    """Reports how many items of the present file have been put: in a line of the log every few seconds, and in none for
    what takes less.
    """

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._due_seconds = self._monotonic() + REPORT_SECONDS
        self._name = ""
        self._items = 0

    def begin(self, file: InitFile) -> None:
        """From now on, items of this file are put."""
        self._name, self._items = file.name, 0

    def put(self, items: int) -> None:
        """Count items that have been put; report, if the last report was long ago."""
        self._items += items
        now_seconds = self._monotonic()
        if now_seconds >= self._due_seconds:
            self._due_seconds = now_seconds + REPORT_SECONDS
            _log.info("%s: %s so far", self._name, counted(self._items, "item"))


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural if needed: `1 table`, `12,000 items`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
