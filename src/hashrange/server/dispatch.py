"""Which operation does a request mean, and what is its answer? The only place that turns exceptions into replies.

Fast path: target → access → typed decode → operation → commit barrier. On any fault before the operation has begun, the slow
path (`_answer_slowly`) reads the request again and finds the *first* fault in the service's order of checks: HTTP shape, JSON,
target, signature, JSON types, constraints. So does an operation's `Malformed`, and a ValidationException of an operation is
answered only when the slow path finds nothing before it. Source: errors.md section 2.

The commit barrier: whatever depends on commits that a power cut would still undo is held until they are durable. That is every
reply of an operation, refusals too (a failed condition may rest on an unsynced write), but for eventually consistent reads.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from hashrange.clock import Clock
from hashrange.errors import (
    CORAL_SERVICE,
    ApiError,
    Malformed,
    RequestFault,
    ResourceNotFoundException,
    SerializationException,
    StorageError,
    UnknownOperationException,
    UnsupportedOperationException,
    ValidationException,
)
from hashrange.messages import http as sentences
from hashrange.operations.meter import Meter, with_capacity
from hashrange.operations.operation import Operation, Run, Scope
from hashrange.server.access import SERVICE, Access
from hashrange.server.drive import Driver
from hashrange.server.hints import Hints
from hashrange.server.incoming import Respond
from hashrange.server.outgoing import HELD_SECONDS_MAX
from hashrange.server.plain import answer_plainly
from hashrange.server.protocols.dynamodb_json.writing import reply_json
from hashrange.server.replies import INTERNAL_ERROR_BODY, error_body
from hashrange.server.second_look import with_second_look
from hashrange.server.workers import Workers
from hashrange.steps import spend_decoding
from hashrange.store.interface import Catalog, Durability
from hashrange.wire.body_members import check_member_count, decode_large, is_surely_unusual
from hashrange.wire.chunked_payload import MARKERS, ChunksError, join_chunks
from hashrange.wire.fallback import holds_unread_values
from hashrange.wire.faults import check_object, decode_object, explain_object, find_fault
from hashrange.wire.http import (
    CONTENT_TYPES,
    HASH_LENGTH,
    BodyTooLargeError,
    ContentEncodingError,
    Request,
    decode_body,
    is_json_content_type,
)
from hashrange.wire.identifiers import request_id_of
from hashrange.wire.piecewise import let_go
from hashrange.wire.utf8 import require_utf8

_log = logging.getLogger("hashrange.server")
_OWN_SERVICE = SERVICE.encode()
_BAD_ENCODING_BODY = b'{"__type":"%b#InternalServerError"}' % CORAL_SERVICE.encode()

Entry = tuple[Operation, Callable[[bytes], Any], Run, Callable[[Any], bool] | None, Callable[[bytes], Any]]
"""What the fast path needs of an operation: its record, decoder, function, whether its reply may skip the barrier, and the decoder of large bodies."""

SURELY_QUICK_BYTES = 8_192
"""A body of this length is decoded, and its signature checked, in well under a millisecond."""

Prepared = tuple[Request, Respond, Entry, Scope, Any]
"""A request that was let in and decoded: the last two are its sender's scope and the operation's struct."""
Answer = tuple[Request, Respond, bytes]
"""A request whose operation has succeeded, and the body of its reply."""


class Group:
    """Requests that go through the stages together, as far as no worker has taken them yet, and what has become of them."""

    __slots__ = ("calls", "eventual", "prepared", "replies")

    def __init__(self, calls: Iterable[tuple[Request, Respond]]) -> None:
        self.calls = deque(calls)
        self.prepared: deque[Prepared] = deque()
        self.eventual: list[Answer] = []
        """Those whose replies skip the commit barrier."""
        self.replies: list[Answer] = []


class Call:
    """One request whose operation has begun and did not simply succeed at once."""

    __slots__ = ("body", "operation", "parsed", "request", "respond", "scope")

    def __init__(
        self, request: Request, respond: Respond, operation: Operation, scope: Scope, parsed: Any, body: bytes | None
    ) -> None:
        self.request = request
        self.respond = respond
        self.operation = operation
        self.scope = scope
        self.parsed = parsed
        self.body = body
        """What the slow path would have to read; None when it already has."""


class Dispatcher:
    """Answers requests with the operations it was given."""

    def __init__(
        self,
        operations: Mapping[str, Operation],
        catalog: Catalog,
        durability: Durability,
        clock: Clock,
        access: Access,
    ) -> None:
        self.durability = durability
        self.clock = clock
        self.hints = Hints(catalog)
        self.authorize = access.authorize
        self.workers = Workers(clock)
        self.position = durability.position
        self.durable_position = durability.durable_position
        self.entries: dict[bytes | None, Entry] = {
            f"{operation.service}.{operation.name}".encode(): _entry(operation)
            for operation in with_second_look(operations, catalog).values()
        }

    def handle(self, calls: Sequence[tuple[Request, Respond]]) -> None:
        """Answer these requests, stage by stage: calls each one's `respond` once, now or later.

        A request that takes long gives way where it stands, and the others go on without it.
        """
        if calls:
            self.workers.begin_turn()
            self._share_out(Group(calls))

    def _share_out(self, group: "Group") -> None:
        """To as many workers as it takes: nobody waits for one that has given way."""
        while not self.workers.run(self._go_on, group):
            self._send(group)
            if not group.calls and not group.prepared:
                return

    def _go_on(self, group: "Group") -> None:
        """The stages, for whatever of the group no other worker has taken."""
        calls = group.calls
        while calls:
            self._prepare(*calls.popleft(), group.prepared)
        self._run(group)
        self._send(group)

    def _prepare(self, request: Request, respond: Respond, prepared: deque[Prepared]) -> None:
        """Let a request in and decode it; one with any fault is answered at once."""
        layout = request.layout
        values = request.values
        entry = self.entries.get(values[layout.target])
        if (
            entry is None
            or not (layout.is_plain or (layout.is_hashed and len(values[layout.content_sha256] or b"") == HASH_LENGTH))
            or request.method != b"POST"
            or values[layout.content_type] not in CONTENT_TYPES
        ):
            self._answer_slowly(request, respond)
            return
        try:
            body = request.body
            if len(body) > SURELY_QUICK_BYTES:
                spend_decoding(len(body))
            require_utf8(body)
            scope = self.authorize(request)
            decode = entry[1]
            if len(body) > SURELY_QUICK_BYTES:
                decode = entry[4]
                if entry[0].decode_large is None and is_surely_unusual(body, carries_items=entry[0].reads is None):
                    self._answer_slowly(request, respond)  # so it is decoded once
                    return
            prepared.append((request, respond, entry, scope, decode(body)))
        except Exception:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._answer_slowly(request, respond)

    def _run(self, group: "Group") -> None:
        """Run operations; those that end at once are answered together."""
        monotonic = self.clock.monotonic
        prepared = group.prepared
        held_until_seconds = monotonic() + HELD_SECONDS_MAX
        while prepared:
            request, respond, (operation, _, run, is_eventual, _), scope, parsed = prepared.popleft()
            coroutine = run(scope, parsed)
            try:
                waits_for = coroutine.send(None)
            except StopIteration as stop:
                if is_eventual is not None and (is_eventual(parsed) or self._is_durable(operation, scope, parsed)):
                    group.eventual.append((request, respond, stop.value))
                else:
                    group.replies.append((request, respond, stop.value))
                _let_go(request, parsed)
            except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
                self._refuse(Call(request, respond, operation, scope, parsed, request.body), error)
                _let_go(request, parsed)
            else:
                self._drive(Call(request, respond, operation, scope, parsed, request.body), coroutine, waits_for)
            now_seconds = monotonic()
            if now_seconds >= held_until_seconds:
                self._send(group)
                held_until_seconds = now_seconds + HELD_SECONDS_MAX
                if prepared and self.workers.is_over(now_seconds):
                    self.workers.run_next(partial(self._share_out, group))
                    return

    def _send(self, group: "Group") -> None:
        """Answer what has succeeded so far."""
        eventual, replies = group.eventual, group.replies
        group.eventual, group.replies = [], []
        _answer(eventual)
        self._answer_behind_barrier(replies)

    def _answer_behind_barrier(self, answers: list[Answer]) -> None:
        """All of them once what any of them tells is durable: they share a sync."""
        position = self.position()
        if not answers or self.durable_position() >= position:
            _answer(answers)
            return

        def durable(error: StorageError | None) -> None:
            if error is None:
                self.workers.run(_answer, answers)
                return
            for request, respond, _ in answers:
                self._fail(request, respond, error)

        self.durability.when_durable(position, durable)

    # --- the end of an operation ----------------------------------------------------------------

    def _drive(self, call: Call, coroutine: Any, waits_for: object) -> None:
        """The operation has suspended: answer when it ends."""

        def ended(body: bytes | None, error: BaseException | None) -> None:
            if body is not None:
                self._succeed(call, body)
            else:
                assert error is not None
                self._refuse(call, error)
            _let_go(call.request, call.parsed)

        Driver(coroutine, waits_for, ended, self.workers)

    def _succeed(self, call: Call, body: bytes) -> None:
        self._respond_behind_barrier(call, 200, body)

    def _refuse(self, call: Call, error: BaseException) -> None:
        """The operation raised."""
        if isinstance(error, Malformed):
            if call.body is not None:
                self._answer_slowly(call.request, call.respond)
                return
            # The slow path found nothing that it can word, so all that is known is that the types are wrong.
            error = SerializationException()
        if not isinstance(error, ApiError):
            self._fail(call.request, call.respond, error)
            return
        if isinstance(error, ValidationException) and call.body is not None:
            try:
                find_fault(call.operation.request, call.operation.name, call.body)
            except ApiError as first_fault:
                error = first_fault
            except Exception as failure:  # noqa: BLE001 - the one place that turns exceptions into replies
                self._fail(call.request, call.respond, failure)
                return
        if isinstance(error, ResourceNotFoundException):
            self.hints.table_not_found(call.scope, call.parsed)
        elif isinstance(error, UnsupportedOperationException):
            self.hints.not_supported(call.operation.name)
        wording = call.operation.wording
        if isinstance(error, RequestFault) and holds_unread_values(call.operation.name, call.parsed):
            wording = "older"
        self._respond_behind_barrier(call, error.http_status, error_body(error, wording))

    def _respond_behind_barrier(self, call: Call, status: int, body: bytes) -> None:
        is_eventual = call.operation.is_eventual
        position = self.position()
        if self.durable_position() >= position or (
            is_eventual is not None
            and (is_eventual(call.parsed) or self._is_durable(call.operation, call.scope, call.parsed))
        ):
            call.respond(status, body)
            return

        def durable(error: StorageError | None) -> None:
            if error is None:
                self.workers.run(call.respond, status, body)
            else:
                self._fail(call.request, call.respond, error)

        self.durability.when_durable(position, durable)

    def _is_durable(self, operation: Operation, scope: Scope, parsed: Any) -> bool:
        """Has everything been synced that a reply can tell, whatever else has not? Others' large writes then hold up nobody."""
        if operation.reads is None:
            return False
        durable_position = self.durable_position()
        for name in operation.reads(parsed):
            table = scope.tables.get(name)
            if table is None or self.durability.position_of(table) > durable_position:
                return False
        return True

    def _fail(self, request: Request, respond: Respond, error: BaseException) -> None:
        """Our side failed: the operator hears why, the client gets the id under which the log has it."""
        request_id = request_id_of(request.number).decode()
        if isinstance(error, StorageError):
            _log.error("request %s failed in storage: %s: %s", request_id, type(error).__name__, error)
        else:
            _log.error("request %s met an error of ours; please report it", request_id, exc_info=error)
        respond(500, INTERNAL_ERROR_BODY)

    # --- the slow path --------------------------------------------------------------------------

    def _answer_slowly(self, request: Request, respond: Respond) -> None:
        """Find the first fault in the service's order; if there is none, run the operation after all."""
        if request.method != b"POST" or not is_json_content_type(request.header(b"content-type")):
            self.hints.other_service(request, _OWN_SERVICE)
            answer_plainly(request, respond)
            return
        operation: Operation | None = None
        try:
            body = plain_body(request)
            is_large = len(body) > SURELY_QUICK_BYTES
            if is_large:
                check_object(body)
            else:
                decoded = decode_object(body)
            entry = self.entries.get(request.header(b"x-amz-target"))
            if entry is None:
                raise UnknownOperationException
            operation = entry[0]
            scope = self.authorize(request)
            if is_large:
                check_member_count(body)
                decoded = decode_object(body)
            parsed: Any = explain_object(operation.request, operation.name, decoded)
        except ApiError as error:
            self.hints.other_service(request, _OWN_SERVICE)
            respond(error.http_status, error_body(error, operation.wording if operation is not None else "bare"))
        except ContentEncodingError:
            respond(500, _BAD_ENCODING_BODY)
        except BodyTooLargeError:
            respond(413, sentences.BODY_TOO_LARGE, b"text/plain")
        except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._fail(request, respond, error)
        else:
            self._run_explained(Call(request, respond, operation, scope, parsed, None))

    def _run_explained(self, call: Call) -> None:
        """Run an operation on what the slow path found acceptable."""
        coroutine = call.operation.run(call.scope, call.parsed)
        try:
            waits_for = coroutine.send(None)
        except StopIteration as stop:
            self._succeed(call, stop.value)
        except Exception as error:  # noqa: BLE001 - the one place that turns exceptions into replies
            self._refuse(call, error)
        else:
            self._drive(call, coroutine, waits_for)


def _as_json(operation: Operation) -> Run:
    """`operation.run`, with the reply as JSON."""

    async def run(scope: Scope, parsed: Any) -> bytes:
        if operation.capacity is None:
            reply = await operation.run(scope, parsed)
            return reply if isinstance(reply, bytes) else reply_json(reply)
        meter = Meter()
        reply = await operation.run(scope, parsed, meter)
        return reply_json(with_capacity(reply, operation.capacity, parsed, meter))

    return run


def _entry(operation: Operation) -> Entry:
    operation = msgspec.structs.replace(operation, run=_as_json(operation))
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(operation.request)
    in_pieces = operation.decode_large or partial(decode_large, decoder=decoder)
    return operation, decoder.decode, operation.run, operation.is_eventual, in_pieces


def _answer(answers: list[Answer]) -> None:
    for _, respond, body in answers:
        respond(200, body)


def plain_body(request: Request) -> bytes:
    """The body without content codings and chunks.

    Raises ContentEncodingError, BodyTooLargeError, and SerializationException for chunks that are none.
    """
    body = request.body
    encoding = request.header(b"content-encoding") or b""
    if b"aws-chunked" in encoding or request.header(b"x-amz-content-sha256") in MARKERS:
        try:
            body = join_chunks(body)
        except ChunksError:
            raise SerializationException from None
    return decode_body(body, encoding) if encoding else body


def _let_go(request: Request, parsed: Any) -> None:
    """The operation has ended; what was decoded of a large body is freed in pieces."""
    if len(request.body) > SURELY_QUICK_BYTES:
        let_go(parsed)
