"""Dispatch of requests: the order of checks, the commit barrier, and replies to internal failures."""

import asyncio
import gzip
import logging
from typing import Any

import msgspec
import pytest

from hashrange.aws_services.operation import Operation
from hashrange.errors import (
    RECORDS_TRIES_MAX,
    Malformed,
    RecordsChanged,
    RequestFault,
    StorageError,
    ValidationException,
)
from hashrange.limits import MESSAGE_CHARACTERS_MAX
from hashrange.operations.operation import JSON, JsonWire, Scope
from hashrange.operations.reply import Reply
from hashrange.server.protocols import first_fault
from hashrange.server.protocols.dynamodb_json import call, pieces, protocol
from hashrange.server.protocols.dynamodb_json.call import SURELY_QUICK_BYTES
from hashrange.server.protocols.dynamodb_json.writing import error_body
from hashrange.store.pause import PAUSE
from hashrange.wire.faults import decode_object
from tests.support.waiting import until
from tests.unit.server.harness import EchoRequest, FrontEnd, Parsed, as_bytes, echo, reply

CORAL = "com.amazon.coral.service#"
NO_JSON = b"{"
BAD_TYPE = b'{"TableName":5}'
BAD_ITEM = b'{"TableName":"invalid"}'


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd()


def unsigned(body: bytes, target: str | None = "DynamoDB_20120810.GetItem", **headers: str) -> bytes:
    complete = {"Host": "x", "Content-Type": "application/x-amz-json-1.0", "Content-Length": str(len(body))}
    if target is not None:
        complete["X-Amz-Target"] = target
    return as_bytes({**complete, **{name.replace("_", "-"): value for name, value in headers.items()}}, body)


@pytest.mark.parametrize(("data", "status", "body"), [
    (unsigned(NO_JSON, "nonsense", Content_Type="text/plain"), 404, "<UnknownOperationException/>\n"),
    (unsigned(NO_JSON, "nonsense"), 400, CORAL + 'SerializationException"}'),
    (unsigned(BAD_TYPE, "nonsense"), 400, CORAL + 'UnknownOperationException"}'),
    (unsigned(BAD_TYPE, None), 400, CORAL + 'UnknownOperationException"}'),
    (unsigned(BAD_TYPE), 400, CORAL + "MissingAuthenticationTokenException"),
    (unsigned(b""), 400, CORAL + 'SerializationException"}'),
])  # fmt: skip
def test_of_two_faults_the_earlier_check_answers(front: FrontEnd, data: bytes, status: int, body: str) -> None:
    answer = reply(front.ask(data))
    assert answer.status == status
    assert body in answer.body.decode()


def test_a_wrong_type_is_told_before_what_the_operation_refuses(front: FrontEnd) -> None:
    assert b"SerializationException" in reply(front.ask(front.request(BAD_TYPE))).body
    assert (
        reply(front.ask(front.request(BAD_ITEM))).body
        == b'{"__type":"com.amazon.coral.validate#ValidationException","message":"no good"}'
    )
    both = b'{"TableName":"invalid","ConsistentRead":"maybe"}'
    assert b"SerializationException" in reply(front.ask(front.request(both))).body


def test_lenient_types_run_the_operation_after_all(front: FrontEnd) -> None:
    answer = reply(front.ask(front.request(b'{"TableName":"music","ConsistentRead":"true","Unknown":1}')))
    assert answer.status == 200


@pytest.mark.parametrize("unread", [b'"zz":"\xff"', b'"\xff":1', b'"zz":{"a":["\xc3"]}', b'"zz":"\xed\xa0\x80"'])
def test_what_is_not_utf_8_is_no_json_even_where_it_is_not_read(front: FrontEnd, unread: bytes) -> None:
    body = b'{"TableName":"music",' + unread + b"}"
    for headers, data in (({}, body), ({"Content-Encoding": "gzip"}, gzip.compress(body))):
        answer = reply(front.ask(front.request(data, headers=headers)))
        assert (answer.status, answer.body) == (400, b'{"__type":"com.amazon.coral.service#SerializationException"}')
    good = '{"TableName":"müsic","Ünread":"你\U0001f600"}'.encode()
    assert reply(front.ask(front.request(good))).status == 200


@pytest.mark.parametrize("name", ["bare", "future"])
def test_an_operation_that_suspends_is_driven_to_its_end(name: str) -> None:
    async def run() -> Parsed:
        front = FrontEnd()
        connection, transport = front.connect()
        connection.data_received(front.request(f'{{"TableName":"{name}"}}'.encode()))
        assert transport.written == b""
        await until(lambda: transport.written)
        return reply(transport.take())

    assert asyncio.run(run()).status == 200


@pytest.mark.parametrize("name", ["music", "bare", "future", "bug"])
def test_no_task_is_made_for_a_request(name: str) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a task was made")

    async def run() -> None:
        front = FrontEnd()
        connection, transport = front.connect()
        asyncio.get_running_loop().set_task_factory(refuse)  # type: ignore[arg-type]
        connection.data_received(front.request(f'{{"TableName":"{name}"}}'.encode()))
        await until(lambda: transport.written)
        assert reply(transport.take()).status == (500 if name == "bug" else 200)
        asyncio.get_running_loop().set_task_factory(None)

    asyncio.run(run())


def test_many_suspended_operations_do_not_mix_up_their_replies() -> None:
    async def run() -> None:
        front = FrontEnd()
        clients = [front.connect() for _ in range(20)]
        for number, (connection, _) in enumerate(clients):
            name = "future" if number % 2 else "bare"
            connection.data_received(front.request(f'{{"TableName":"{name}"}}'.encode(), region=f"r-{number}"))
        await until(lambda: all(transport.written for _, transport in clients))
        for number, (_, transport) in enumerate(clients):
            assert f'"r-{number}"'.encode() in transport.take()

    asyncio.run(run())


# --- the commit barrier -------------------------------------------------------------------------


def test_a_write_is_answered_once_it_is_durable(front: FrontEnd) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    assert transport.take() == b""
    front.store.sync()
    assert reply(transport.take()).status == 200


@pytest.mark.parametrize(("operation", "body", "waits"), [
    ("GetItem", b'{"TableName":"music"}', False),
    ("GetItem", b'{"TableName":"music","ConsistentRead":true}', True),
    ("GetItem", b'{"TableName":"missing"}', False),
    ("GetItem", b'{"TableName":"missing","ConsistentRead":true}', True),
    ("PutItem", b'{"TableName":"missing"}', True),
])  # fmt: skip
def test_only_eventually_consistent_reads_pass_the_barrier(
    front: FrontEnd, operation: str, body: bytes, waits: bool
) -> None:
    other, _ = front.connect()
    other.data_received(front.request(operation="PutItem"))
    connection, transport = front.connect()
    connection.data_received(front.request(body, operation))
    assert (transport.take() == b"") is waits
    front.store.sync()
    assert (transport.take() == b"") is not waits


def test_a_read_that_is_not_eventual_and_names_no_table_waits() -> None:
    """Without a table name, the dispatcher cannot know which commits the reply depends on, so it waits for all."""
    silent = Operation("GetItem", EchoRequest, echo, JSON, is_eventual=lambda _request: False)
    front = FrontEnd(operations={"GetItem": silent})
    front.store.committed += 1
    connection, transport = front.connect()
    connection.data_received(front.request())
    assert transport.take() == b""
    front.store.sync()
    assert reply(transport.take()).status == 200


def test_a_request_with_a_fault_before_its_operation_does_not_wait(front: FrontEnd) -> None:
    front.store.committed += 1
    assert reply(front.ask(front.request(BAD_TYPE, "PutItem"))).status == 400


def test_a_failed_sync_acknowledges_nothing(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    connection, transport = front.connect()
    connection.data_received(front.request(operation="PutItem"))
    front.store.sync(StorageError("the disk is full; free some space"))
    answer = reply(transport.take())
    assert answer.status == 500
    assert b"InternalServerError" in answer.body
    assert b"disk" not in answer.body
    assert "the disk is full; free some space" in caplog.text


# --- internal failures ---------------------------------------------------------------------------


def test_a_bug_is_a_500_with_a_trace_under_the_requests_id(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    answer = reply(front.ask(front.request(b'{"TableName":"bug"}')))
    assert answer.status == 500
    assert answer.body == (
        b'{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError",'
        b'"message":"The server encountered an internal error trying to fulfill the request."}'
    )
    assert answer.headers["x-amzn-requestid"] in caplog.text
    assert "a bug of ours" in caplog.text


def test_a_bug_that_cannot_be_counted_is_answered_and_holds_no_other_request(
    front: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    class Recording:
        def __getattr__(self, name: str) -> object:
            return self.fail if name == "failed" else lambda *_: None

        def fail(self, *_: object) -> None:
            raise ValueError("and the request cannot be read")

    recording: Any = Recording()
    front.service.recording = recording
    bad, other = front.connect(), front.connect()
    for (connection, _), body in ((bad, b'{"TableName":"bug"}'), (other, b'{"TableName":"t"}')):
        connection.data_received(front.request(body))
    assert [reply(transport.take()).status for _, transport in (bad, other)] == [500, 200]
    assert "and the request cannot be read" in caplog.text


def test_a_storage_error_is_a_500_and_a_line_for_the_operator(
    front: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    assert reply(front.ask(front.request(b'{"TableName":"storage"}'))).status == 500
    assert "the disk is gone" in caplog.text


def test_of_an_unknown_outcome_the_client_hears_an_error_and_the_operator_what_is_unknown(
    front: FrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    answer = reply(front.ask(front.request(b'{"TableName":"unknown"}')))
    assert answer.status == 500
    assert b"#InternalServerError" in answer.body
    assert b"unknown" not in answer.body
    assert "OutcomeUnknown: It is not known whether a write to the table unknown took place." in caplog.text


def test_a_table_that_exists_elsewhere_is_hinted_at_once(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        assert reply(front.ask(front.request(b'{"TableName":"elsewhere"}'))).status == 400
    assert caplog.text.count("table elsewhere does not exist") == 1
    assert "eu-west-1" in caplog.text
    assert reply(front.ask(front.request(b'{"TableName":"missing"}'))).status == 400
    assert "table missing" not in caplog.text


def test_a_request_for_another_service_is_hinted_at_once(front: FrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded", "X-Amz-Target": ""}
    for _ in range(3):
        assert reply(front.ask(front.request(b"Action=ListQueues", headers=form, service="sqs"))).status == 501
    assert reply(front.ask(front.request(service="kinesis"))).status == 400
    assert caplog.text.count("signed for the service sqs was refused") == 1
    assert caplog.text.count("signed for the service kinesis was refused") == 1
    assert reply(front.ask(front.request(b'{"TableName":"missing"}'))).status == 400
    assert reply(front.ask(front.request(b"{"))).status == 400
    assert "service dynamodb" not in caplog.text


@pytest.mark.parametrize(
    ("wording", "message"), [("bare", "m"), ("enveloped", "1 validation error detected: m"), ("older", "o")]
)
def test_request_faults_are_worded_as_the_operation_does(wording: str, message: str) -> None:
    async def refuse(scope: Scope, request: EchoRequest) -> Any:
        raise RequestFault("m", "o")

    front = FrontEnd(
        operations={"GetItem": Operation("GetItem", EchoRequest, refuse, JsonWire(wording=wording))}  # type: ignore[arg-type]
    )
    answer = reply(front.ask(front.request()))
    assert answer.body == f'{{"__type":"com.amazon.coral.validate#ValidationException","message":"{message}"}}'.encode()


def test_malformed_without_a_fault_that_the_slow_path_can_word_is_a_serialization_exception() -> None:
    async def malformed(scope: Scope, request: EchoRequest) -> Any:
        raise Malformed

    front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, malformed, JSON)})
    assert reply(front.ask(front.request())).body == b'{"__type":"com.amazon.coral.service#SerializationException"}'


def test_an_operation_runs_again_if_what_it_has_read_was_changed() -> None:
    begun: list[int] = []

    async def overtaken(scope: Scope, request: EchoRequest) -> Any:
        begun.append(1)
        if len(begun) < 3:
            raise RecordsChanged
        return {"begun": len(begun)}

    front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, overtaken, JSON)})
    assert reply(front.ask(front.request())).body == b'{"begun":3}'


def test_an_operation_that_others_always_overtake_is_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    begun: list[int] = []

    async def overtaken(scope: Scope, request: EchoRequest) -> Any:
        begun.append(1)
        raise RecordsChanged

    front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, overtaken, JSON)})
    with caplog.at_level(logging.ERROR):
        answer = reply(front.ask(front.request()))
    assert (answer.status, len(begun)) == (500, RECORDS_TRIES_MAX)
    assert len(caplog.records) == 1


# --- requests that are not calls of the API ------------------------------------------------------


def test_health(front: FrontEnd) -> None:
    answer = reply(front.ask(as_bytes({"Host": "x"}, b"", "GET / HTTP/1.1")))
    assert (answer.status, answer.body) == (200, b"healthy: dynamodb.us-east-1.amazonaws.com ")


@pytest.mark.parametrize("line", ["GET /other HTTP/1.1", "PUT / HTTP/1.1", "DELETE / HTTP/1.1", "OPTIONS / HTTP/1.1"])
def test_other_methods_are_not_found(front: FrontEnd, line: str) -> None:
    answer = reply(front.ask(as_bytes({"Host": "x"}, b"", line)))
    assert (answer.status, answer.body) == (404, b"<UnknownOperationException/>\n")
    assert answer.headers["x-amz-crc32"] == "3552371480"


def test_preflight(front: FrontEnd) -> None:
    headers = {
        "Host": "x", "Origin": "http://localhost", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,x-amz-target",
    }  # fmt: skip
    answer = reply(front.ask(as_bytes(headers, b"", "OPTIONS / HTTP/1.1")))
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-methods"] == "POST"
    assert answer.headers["access-control-allow-headers"] == "authorization,x-amz-target"
    assert answer.headers["access-control-max-age"] == "172800"


def test_a_message_has_a_longest_size() -> None:
    for length, told in ((MESSAGE_CHARACTERS_MAX, 0), (MESSAGE_CHARACTERS_MAX + 1, 3), (10_000_000, 3)):
        body = msgspec.json.decode(error_body(ValidationException("x" * length)))
        assert body["message"] == "x" * MESSAGE_CHARACTERS_MAX + "." * told


def test_a_request_that_is_looked_at_again_is_decoded_once_more_only(
    front: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[bytes] = []

    def count(body: bytes) -> dict[str, Any]:
        decoded.append(body)
        return decode_object(body)

    monkeypatch.setattr(protocol, "decode_object", count)
    monkeypatch.setattr(first_fault, "decode_object", count)
    monkeypatch.setattr("hashrange.wire.faults.decode_object", count)
    front.ask(front.request(b'{"TableName":5}'))
    assert decoded == [b'{"TableName":5}']


def test_what_no_signature_vouches_for_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scanning a body shows whether it is JSON, which is checked before the signature; decoding it costs a hundred
    times as much."""
    front = FrontEnd()
    decoded: list[int] = []

    def note(body: bytes) -> dict[str, Any]:
        decoded.append(len(body))
        return decode_object(body)

    monkeypatch.setattr(protocol, "decode_object", note)
    monkeypatch.setattr(first_fault, "decode_object", note)
    monkeypatch.setattr("hashrange.wire.faults.decode_object", note)
    body = b'{"TableName":"music","Filler":[' + b"11," * (SURELY_QUICK_BYTES // 2) + b"1]}"
    answer = reply(front.ask(unsigned(body)))
    assert b"MissingAuthenticationTokenException" in answer.body
    assert b"SerializationException" in reply(front.ask(unsigned(body[:-1]))).body
    assert b"SerializationException" in reply(front.ask(unsigned(b"[" + body + b"]"))).body
    assert b"UnknownOperationException" in reply(front.ask(unsigned(body, "nonsense"))).body
    assert decoded == []
    lenient = body.replace(b'"music"', b'"music","ConsistentRead":"true"')
    assert reply(front.ask(front.request(lenient))).status == 200
    assert decoded == [len(lenient)]


def test_only_large_bodies_are_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    class Piece(msgspec.Struct):
        Number: int

    class Pieces(msgspec.Struct):
        TableName: str
        Pieces: list[Piece]

    async def count(scope: Scope, request: Pieces) -> Reply:
        return {"sum": sum(one.Number for one in request.Pieces)}

    decoded: list[bytes] = []

    def note(text: bytes, decoder: Any) -> Any:
        decoded.append(text)
        return decoder.decode(text)

    monkeypatch.setattr(pieces, "decode_large", note)
    front = FrontEnd(operations={"GetItem": Operation("GetItem", Pieces, count, JsonWire(element_type=Piece))})
    small = b'{"TableName":"music","Pieces":[{"Number":1}, {"Number":2}]}'
    large = small.replace(b"}]", b"}" + b" " * SURELY_QUICK_BYTES + b"]")
    assert b'"sum":3' in reply(front.ask(front.request(small))).body
    assert decoded == []
    assert b'"sum":3' in reply(front.ask(front.request(large))).body
    assert decoded == [b'{"Number":1}', b'{"Number":2}']


@pytest.mark.parametrize("suspends", [False, True])
@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("writes", [False, True])  # a read whose client has left is abandoned
@pytest.mark.parametrize("is_compressed", [False, True])
def test_what_is_large_is_let_go_in_pieces(
    *, suspends: bool, refuses: bool, writes: bool, is_compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(scope: Scope, request: EchoRequest) -> Any:
        if suspends:
            await PAUSE
        if refuses:
            raise ValidationException("no")
        return await echo(scope, request)

    freed: list[Any] = []
    monkeypatch.setattr(call, "free_request", freed.append)
    front = FrontEnd(operations={"GetItem": Operation("GetItem", EchoRequest, run, JSON, writes=writes)})
    small, large = b'{"TableName":"small"}', b'{"TableName":"large"' + b" " * SURELY_QUICK_BYTES + b"}"

    async def ask() -> None:
        for body in (small, large):
            if is_compressed:
                front.ask(front.request(gzip.compress(body), headers={"Content-Encoding": "gzip"}))
            else:
                front.ask(front.request(body))
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(ask())
    assert [request.TableName for request in freed] == ["large"]
