"""Lambda's protocol: which operation is called with which members, what is refused before it,
how replies and errors look, and who waits.
"""

import asyncio
import base64
import json
import logging
import time
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from hashrange.aws_services.operation import Caller
from hashrange.errors import Abandoned, StorageError, ValidationException
from hashrange.faults.drawing import Drawing
from hashrange.faults.fault import Fault, Faults
from hashrange.functions.api.operation import LambdaReply
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, LAMBDA_JSON_BYTES_MAX
from hashrange.server.credentials import Credential
from hashrange.server.protocols.rest_json import protocol as rest_json_protocol
from hashrange.server.protocols.rest_json.members import RequestReader
from hashrange.server.protocols.rest_json.protocol import LambdaProtocol
from tests.support.signing import ACCESS_KEY, SECRET_KEY
from tests.support.waiting import until
from tests.unit.server.harness import Parsed, reply
from tests.unit.server.lambda_front import (
    CreateRequest,
    GetRequest,
    InvokeRequest,
    LambdaFrontEnd,
    ListRequest,
    UntagRequest,
    refusal,
)

ARN = "arn:aws:lambda:us-east-1:123456789012:function:resize"
ROLE = "arn:aws:iam::123456789012:role/r"


@pytest.fixture
def front() -> LambdaFrontEnd:
    return LambdaFrontEnd()


def called(front: LambdaFrontEnd) -> Any:
    """The members of the only call."""
    ((_, members),) = front.works.calls
    return members


def error(answer: Parsed) -> tuple[int, str, str]:
    """Status, code and message of an error reply."""
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-amzn-requestid"]
    body = json.loads(answer.body)
    return answer.status, answer.headers["x-amzn-errortype"], body.get("message") or body.get("Message")


# --- method and path ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("segment", "name"),
    [
        ("resize", "resize"),
        ("123456789012:function:resize", "123456789012:function:resize"),
        (ARN, ARN),
        (f"{ARN}:$LATEST", f"{ARN}:$LATEST"),
        (ARN.replace(":", "%3A"), ARN),
        ("resize%3A%24LATEST", "resize:$LATEST"),
        ("a%2Fb", "a/b"),
        ("%C3%A9", "é"),
        ("a+b", "a+b"),
        ("resize/", "resize"),
        ("%", "%"),
    ],
)
def test_a_segment_of_the_path_is_a_member(front: LambdaFrontEnd, segment: str, name: str) -> None:
    assert front.call("GET", f"/2015-03-31/functions/{segment}").status == 200
    assert called(front) == GetRequest(FunctionName=name)


def test_the_caller_has_the_account_and_region_of_the_signature(front: LambdaFrontEnd) -> None:
    data = front.signed("GET", "/2015-03-31/functions", access_key="123456789012", region="eu-west-1")
    assert front.answer(data).status == 200
    assert front.works.calls == [(Caller("123456789012", "eu-west-1"), ListRequest())]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/2015-03-31/functions"),
        ("PATCH", "/2015-03-31/functions"),
        ("GET", "/2015-03-31/functions//invocations"),
        ("GET", "/2015-03-31/functions/a/b/c/d"),
        ("GET", "/2015-03-31/functions/a/nothing?x=y"),
        ("POST", "/2017-03-31/tags"),
    ],
)
def test_an_unknown_operation_is_refused_as_lambda_does(front: LambdaFrontEnd, method: str, path: str) -> None:
    message = f"Lambda has no operation {method} {path.partition('?')[0]}."
    assert error(front.call(method, path)) == (404, "UnknownOperationException", message)
    assert not front.works.calls


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/2018-10-31/layers", "ListLayers"),
        ("GET", "/2018-10-31/layers?find=LayerVersion&Arn=x", "GetLayerVersionByArn"),
        ("GET", "/2019-09-30/functions/a/provisioned-concurrency?List=ALL", "ListProvisionedConcurrencyConfigs"),
        ("GET", "/2019-09-30/functions/a/provisioned-concurrency?Qualifier=b", "GetProvisionedConcurrencyConfig"),
        ("POST", "/2014-11-13/functions/a/invoke-async/", "InvokeAsync"),
        ("POST", "/2025-12-01/durable-executions/a/pause", "PauseDurableExecution"),
        ("POST", "/2025-12-01/durable-executions/a/resume", "ResumeDurableExecution"),
        ("DELETE", "/2025-12-01/durable-executions/a", "DeleteDurableExecution"),
    ],
)
def test_an_operation_that_is_not_served_is_named_and_logged_once(
    front: LambdaFrontEnd, caplog: pytest.LogCaptureFixture, method: str, path: str, name: str
) -> None:
    for _ in range(2):
        told = error(front.call(method, path))
        assert told == (400, "UnsupportedOperationException", f"Hashrange does not support {name} yet.")
    assert [record.getMessage().split()[0] for record in caplog.records] == [name]


@pytest.mark.parametrize(
    ("method", "url", "is_claimed"),
    [
        (b"GET", b"/2015-03-31/functions", True),
        (b"GET", b"/2015-03-31/functions?x", True),
        (b"PATCH", b"/2015-03-31/event-source-mappings/", True),
        (b"GET", b"/2026-07-09/resource-policy/x", True),
        (b"OPTIONS", b"/2015-03-31/functions", True),
        (b"GET", b"/2015-03-31", False),
        (b"GET", b"/2015-03-31/functionsx", False),
        (b"GET", b"/2013-04-01/hostedzone", False),
        (b"POST", b"/", False),
        (b"GET", b"*", False),
        (b"GET", b"/20\xff", False),
    ],
)
def test_paths_of_lambda_are_claimed(front: LambdaFrontEnd, method: bytes, url: bytes, *, is_claimed: bool) -> None:
    class Request:
        pass

    request: Any = Request()
    request.method, request.url = method, url
    assert front.protocol.claims(request) is is_claimed


def test_dynamodb_is_served_on_the_same_port(front: LambdaFrontEnd) -> None:
    assert json.loads(front.answer(front.request()).body)["name"] == "music"
    assert front.answer(front.signed("GET", "/2015-03-31/nothing")).headers["content-type"] == "application/xml"


# --- query, headers, body -------------------------------------------------------------------------


def test_query_parameters_are_members(front: LambdaFrontEnd) -> None:
    front.call("GET", "/2015-03-31/functions?MaxItems=7&Marker=a%20b%2Bc+d&other=1&MaxItems=8")
    assert called(front) == ListRequest(Marker="a b+c+d", MaxItems=8)


def test_a_list_takes_all_values_of_its_parameter(front: LambdaFrontEnd) -> None:
    front.works.outcome = None
    front.call("DELETE", f"/2017-03-31/tags/{ARN.replace(':', '%3A')}?tagKeys=a&tagKeys=b%26c&tagKeys=")
    assert called(front) == UntagRequest(Resource=ARN, TagKeys=["a", "b&c", ""])


@pytest.mark.parametrize("text", ["seven", "", "1.5", "9" * 30])
def test_a_parameter_that_is_no_number_is_refused(front: LambdaFrontEnd, text: str) -> None:
    told = error(front.call("GET", f"/2015-03-31/functions?MaxItems={text}"))
    assert told == (400, "SerializationException", "STRING_VALUE cannot be converted to Long")


def test_the_body_of_an_invocation_is_a_member(front: LambdaFrontEnd) -> None:
    payload = b'\x00\xff{"no json": '
    path = "/2015-03-31/functions/resize/invocations?Qualifier=live"
    front.call("POST", path, payload, {"X-Amz-Invocation-Type": "Event", "Content-Type": "application/json"})
    assert called(front) == InvokeRequest(
        FunctionName="resize", InvocationType="Event", Qualifier="live", Payload=payload
    )


def test_members_of_the_body_are_read_leniently(front: LambdaFrontEnd) -> None:
    body = {"FunctionName": "f", "MemorySize": 128.9, "Publish": "true", "Code": None, "Unknown": {"x": 1}}
    body |= {"Environment": {"Variables": {"A": "1"}, "Other": 2}}
    assert front.call("POST", "/2015-03-31/functions/", json.dumps(body).encode()).status == 201
    members = called(front)
    assert (members.FunctionName, members.MemorySize, members.Publish) == ("f", 128, True)
    assert (members.Code, members.Environment.Variables) == (None, {"A": "1"})


def test_only_the_path_and_the_query_give_their_members(front: LambdaFrontEnd) -> None:
    """A body of a request without members in the body is not read."""
    front.call("GET", "/2015-03-31/functions/a?FunctionName=b", b'{"FunctionName":"c","Qualifier":"d"')
    assert called(front) == GetRequest(FunctionName="a")


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", "SerializationException", "Could not parse request body into json: Input data was truncated"),
        (b"[]", "SerializationException", "Could not parse request body into json: it is no JSON object"),
        (
            b'{"a":"\xff"}',
            "SerializationException",
            "Could not parse request body into json: it is not encoded in UTF-8",
        ),
        (b"[" * 100_000, "SerializationException", None),
        (b'{"FunctionName":5}', "SerializationException", "NUMBER_VALUE cannot be converted to String"),
        (b'{"FunctionName":"f","Code":5}', "SerializationException", "Unexpected field type"),
        (
            b'{"FunctionName":"f","Tags":{"a":1}}',
            "SerializationException",
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            b"",
            "ValidationException",
            (
                "1 validation error detected: Value null at 'functionName' failed to satisfy constraint:"
                " Member must not be null"
            ),
        ),
        (
            b"{}",
            "ValidationException",
            (
                "1 validation error detected: Value null at 'functionName' failed to satisfy constraint:"
                " Member must not be null"
            ),
        ),
    ],
)
def test_a_faulty_body_is_refused(front: LambdaFrontEnd, body: bytes, code: str, message: str | None) -> None:
    told = error(front.call("POST", "/2015-03-31/functions", body))
    assert told[:2] == (400, code)
    assert message is None or told[2] == message
    assert not front.works.calls


def test_requests_that_are_too_long_are_refused(front: LambdaFrontEnd) -> None:
    path = "/2015-03-31/functions/f/invocations"
    assert front.call("POST", path, b"x" * INVOCATION_PAYLOAD_BYTES_MAX).status == 200
    told = error(front.call("POST", path, b"x" * (INVOCATION_PAYLOAD_BYTES_MAX + 1)))
    message = "Request must be smaller than 6291456 bytes for the InvokeFunction operation"
    assert told == (413, "RequestEntityTooLargeException", message)
    body = b'{"FunctionName":"%b"}' % (b"x" * LAMBDA_JSON_BYTES_MAX)
    assert error(front.call("POST", "/2015-03-31/functions", body))[:2] == (413, "RequestEntityTooLargeException")


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Content-Encoding": "gzip"}, 400), ({"X-Amz-Content-SHA256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}, 400)],
)
def test_a_body_that_does_not_match_its_encoding_is_refused(
    front: LambdaFrontEnd, headers: dict[str, str], status: int
) -> None:
    assert front.call("POST", "/2015-03-31/functions", b'{"FunctionName":"f"}', headers).status == status


# --- replies --------------------------------------------------------------------------------------


def test_members_become_json_and_none_an_empty_body(front: LambdaFrontEnd) -> None:
    answer = front.call("POST", "/2015-03-31/functions", b'{"FunctionName":"f"}')
    assert (answer.status, answer.headers["content-type"], answer.body) == (201, "application/json", b'{"Answer":1}')
    front.works.outcome = None
    answer = front.call("DELETE", "/2017-03-31/tags/x?tagKeys=a")
    assert (answer.status, answer.body) == (204, b"")
    assert "content-length" not in answer.headers


def test_a_reply_may_have_its_own_status_headers_and_body(front: LambdaFrontEnd) -> None:
    front.works.outcome = LambdaReply(200, b"\x00", {"X-Amz-Function-Error": "Unhandled"})
    answer = front.call("POST", "/2015-03-31/functions/f/invocations")
    assert (answer.headers["x-amz-function-error"], answer.headers["content-type"]) == (
        "Unhandled",
        "application/json",
    )
    assert answer.body == b"\x00"


@pytest.mark.parametrize(
    ("raised", "status", "code", "body"),
    [
        (
            refusal(404, "ResourceNotFoundException", "no"),
            404,
            "ResourceNotFoundException",
            {"Type": "User", "Message": "no"},
        ),
        (
            refusal(409, "ResourceConflictException", "no"),
            409,
            "ResourceConflictException",
            {"Type": "User", "message": "no"},
        ),
        (
            refusal(429, "TooManyRequestsException", "Rate Exceeded.", Reason="CallerRateLimitExceeded"),
            429,
            "TooManyRequestsException",
            {"Type": "User", "message": "Rate Exceeded.", "Reason": "CallerRateLimitExceeded"},
        ),
        (
            refusal(500, "ServiceException", "no"),
            500,
            "ServiceException",
            {"Type": "Service", "Message": "no"},
        ),
        (ValidationException("bad"), 400, "ValidationException", {"message": "bad"}),
    ],
)
def test_errors_have_their_status_code_and_members(
    front: LambdaFrontEnd, raised: Exception, status: int, code: str, body: dict[str, str]
) -> None:
    front.works.error = raised
    answer = front.call("GET", "/2015-03-31/functions")
    assert (answer.status, answer.headers["x-amzn-errortype"], json.loads(answer.body)) == (status, code, body)


@pytest.mark.parametrize("raised", [AssertionError("a bug"), StorageError("disk full"), KeyError("a")])
def test_an_internal_error_is_logged_under_its_request_id(
    front: LambdaFrontEnd, caplog: pytest.LogCaptureFixture, raised: Exception
) -> None:
    front.works.error = raised
    answer = front.call("GET", "/2015-03-31/functions")
    assert error(answer)[:2] == (500, "ServiceException")
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert answer.headers["x-amzn-requestid"] in record.getMessage()


def test_a_reply_that_cannot_be_written_is_an_internal_error(
    front: LambdaFrontEnd, caplog: pytest.LogCaptureFixture
) -> None:
    front.works.outcome = {"a": object()}
    assert error(front.call("GET", "/2015-03-31/functions"))[:2] == (500, "ServiceException")
    front.works.outcome = LambdaReply(200, headers={"X": "a\r\nSet-Cookie: b"})
    answer = front.call("GET", "/2015-03-31/functions")
    assert answer.status == 500
    assert "set-cookie" not in answer.headers
    assert len(caplog.records) == 2


def test_the_access_log_names_the_error(caplog: pytest.LogCaptureFixture) -> None:
    from hashrange.settings import Settings

    front = LambdaFrontEnd(settings=Settings(access_log=True))
    with caplog.at_level(logging.INFO, "hashrange.access"):
        front.call("GET", "/2015-03-31/functions/f")
        front.works.error = refusal(404, "ResourceNotFoundException", "no")
        front.call("GET", "/2015-03-31/functions/f")
    first, second = (record.getMessage() for record in caplog.records if record.name == "hashrange.access")
    assert first.startswith("- GET /2015-03-31/functions/f - 200 ")
    assert first.endswith(" - - -")
    assert second.endswith(" - - - ResourceNotFoundException")


# --- signatures -----------------------------------------------------------------------------------


def test_an_unsigned_request_is_refused(front: LambdaFrontEnd) -> None:
    answer = front.answer(b"GET /2015-03-31/functions HTTP/1.1\r\nHost: x\r\n\r\n")
    assert error(answer)[:2] == (403, "MissingAuthenticationTokenException")
    assert not front.works.calls


def test_a_signature_for_another_service_is_refused(front: LambdaFrontEnd) -> None:
    answer = front.answer(front.signed("GET", "/2015-03-31/functions", service="dynamodb"))
    message = "Credential should be scoped to correct service: 'lambda'."
    assert error(answer) == (403, "InvalidSignatureException", message)


def test_an_unknown_operation_comes_before_the_signature(front: LambdaFrontEnd) -> None:
    answer = front.answer(b"GET /2015-03-31/functions/a/b HTTP/1.1\r\nHost: x\r\n\r\n")
    assert error(answer)[:2] == (404, "UnknownOperationException")


def test_the_signature_comes_before_the_body(front: LambdaFrontEnd) -> None:
    answer = front.answer(front.signed("POST", "/2015-03-31/functions", b"{", service="dynamodb"))
    assert error(answer)[:2] == (403, "InvalidSignatureException")


@pytest.fixture
def strict() -> LambdaFrontEnd:
    """A front end with a credentials file, at the time that botocore signs with."""
    credential = Credential(ACCESS_KEY, SECRET_KEY, account="123456789012")
    return LambdaFrontEnd(credentials={ACCESS_KEY: credential}, start_seconds=time.time())


@pytest.mark.parametrize(
    ("operation", "members", "expected"),
    [
        (
            "get_function",
            {"FunctionName": ARN, "Qualifier": "$LATEST"},
            GetRequest(FunctionName=ARN, Qualifier="$LATEST"),
        ),
        ("get_function", {"FunctionName": "a b/é~%"}, GetRequest(FunctionName="a b/é~%")),
        ("list_functions", {"Marker": "a+b/c=&é", "MaxItems": 5}, ListRequest(Marker="a+b/c=&é", MaxItems=5)),
        (
            "untag_resource",
            {"Resource": ARN, "TagKeys": ["b", "a", "b", "ä c"]},
            UntagRequest(Resource=ARN, TagKeys=["b", "a", "b", "ä c"]),
        ),
        (
            "create_function",
            {"FunctionName": "f", "Tags": {"k": "é"}},
            CreateRequest(FunctionName="f", Tags={"k": "é"}),
        ),
        (
            "invoke",
            {"FunctionName": f"{ARN}:live", "Payload": b"\x00\xff", "InvocationType": "Event"},
            InvokeRequest(FunctionName=f"{ARN}:live", Payload=b"\x00\xff", InvocationType="Event"),
        ),
        (
            "invoke",
            {"FunctionName": "f", "Payload": b"ab" * 2_000_001},
            InvokeRequest(FunctionName="f", Payload=b"ab" * 2_000_001),
        ),
    ],
)
def test_botocores_signatures_are_verified(
    strict: LambdaFrontEnd, operation: str, members: dict[str, Any], expected: object
) -> None:
    strict.works.outcome = None if operation == "untag_resource" else {}
    getattr(strict.client(), operation)(**members)
    assert strict.works.calls == [(Caller("123456789012", "us-east-1"), expected)]


def test_one_access_key_signs_for_dynamodb_and_for_lambda_by_turns(strict: LambdaFrontEnd) -> None:
    """The key that signs is another one for each service."""
    strict.works.outcome = {}
    for _ in range(2):
        assert reply(strict.ask(strict.request())).status == 200
        strict.client().get_function(FunctionName=ARN)
    assert len(strict.works.calls) == 2


@pytest.mark.parametrize(
    ("key", "secret", "code"),
    [(ACCESS_KEY, "wrong", "InvalidSignatureException"), ("AKIDOTHER", "wrong", "UnrecognizedClientException")],
)
def test_a_wrong_key_or_signature_is_refused(strict: LambdaFrontEnd, key: str, secret: str, code: str) -> None:
    with pytest.raises(ClientError) as caught:
        strict.client(access_key=key, secret_key=secret).get_function(FunctionName=ARN)
    assert caught.value.response["Error"]["Code"] == code
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert not strict.works.calls


def test_botocore_reads_errors_as_its_exceptions(strict: LambdaFrontEnd) -> None:
    client, works = strict.client(), strict.works
    works.error = refusal(404, "ResourceNotFoundException", "Function not found: f")
    with pytest.raises(client.exceptions.ResourceNotFoundException) as caught:
        client.get_function(FunctionName="f")
    assert caught.value.response["Error"] == {"Message": "Function not found: f", "Code": "ResourceNotFoundException"}
    assert caught.value.response["Type"] == "User"
    works.error = refusal(429, "TooManyRequestsException", "Rate Exceeded.", Reason="CallerRateLimitExceeded")
    with pytest.raises(client.exceptions.TooManyRequestsException) as caught:
        client.get_function(FunctionName="f")
    assert caught.value.response["Reason"] == "CallerRateLimitExceeded"
    assert caught.value.response["Error"]["Message"] == "Rate Exceeded."


def test_botocore_reads_payload_and_headers_of_an_invocation(strict: LambdaFrontEnd) -> None:
    log = base64.b64encode(b"log").decode()
    headers = {"X-Amz-Function-Error": "Unhandled", "X-Amz-Executed-Version": "$LATEST", "X-Amz-Log-Result": log}
    strict.works.outcome = LambdaReply(200, b'{"errorMessage":"x"}', headers)
    reply = strict.client().invoke(FunctionName="f", Payload=b"{}")
    assert (reply["StatusCode"], reply["FunctionError"], reply["ExecutedVersion"]) == (200, "Unhandled", "$LATEST")
    assert (reply["LogResult"], reply["Payload"].read()) == (log, b'{"errorMessage":"x"}')


# --- waiting --------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_reply_waits_until_its_commits_are_durable(front: LambdaFrontEnd, *, is_refused: bool) -> None:
    front.works.error = refusal(404, "ResourceNotFoundException", "no") if is_refused else None

    async def run() -> None:
        connection, transport = front.connect()
        front.store.committed += 1
        connection.data_received(front.signed("GET", "/2015-03-31/functions"))
        await until(lambda: front.store.waiting)
        assert front.works.ended == 1
        assert not transport.written
        front.store.sync()
        await asyncio.sleep(0)
        assert transport.written.startswith(b"HTTP/1.1 404" if is_refused else b"HTTP/1.1 200")

    asyncio.run(run())


def test_a_failed_sync_is_an_internal_error(front: LambdaFrontEnd, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        connection, transport = front.connect()
        front.store.committed += 1
        connection.data_received(front.signed("GET", "/2015-03-31/functions"))
        await until(lambda: front.store.waiting)
        front.store.sync(StorageError("disk full"))
        await asyncio.sleep(0)
        assert transport.written.startswith(b"HTTP/1.1 500")

    asyncio.run(run())
    assert "disk full" in caplog.text


class Recorded:
    """A recording that is told of no call."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@pytest.mark.parametrize("is_refused", [False, True])
def test_faults_and_metrics_of_dynamodb_do_not_concern_it(front: LambdaFrontEnd, *, is_refused: bool) -> None:
    faults = Faults((Fault("error", operation="UntagResource"), Fault("drop", when="after")))
    front.service.requests.drawing, front.service.recording = Drawing(faults, front.clock), cast("Any", Recorded())
    front.works.error = refusal(404, "ResourceNotFoundException", "no") if is_refused else None
    front.works.outcome = None
    answer = front.call("DELETE", "/2017-03-31/tags/arn?tagKeys=a")
    assert answer.status == (404 if is_refused else 204)
    assert front.service.requests.drawing.met == 0
    assert front.service.faulted.replies == {}


def test_an_operation_goes_on_after_its_client_has_left(front: LambdaFrontEnd) -> None:
    async def run() -> None:
        front.works.gate = asyncio.Event()
        connection, transport = front.connect()
        connection.data_received(front.signed("GET", "/2015-03-31/functions"))
        await until(lambda: front.works.calls)
        transport.close()
        connection.connection_lost(None)
        front.works.gate.set()
        await until(lambda: front.works.ended)
        await asyncio.sleep(0)
        assert not transport.written
        assert not front.connections.open

    asyncio.run(run())


def test_a_client_that_leaves_while_its_body_is_read_is_no_error(
    front: LambdaFrontEnd, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def leave(*_: object) -> None:
        raise Abandoned

    monkeypatch.setattr(RequestReader, "read", leave)
    assert front.call("POST", "/2015-03-31/functions", b"{}").status == 500
    assert not caplog.records
    assert not front.works.calls


def test_others_are_answered_while_an_operation_waits(front: LambdaFrontEnd) -> None:
    async def run() -> None:
        front.works.gate = asyncio.Event()
        connection, transport = front.connect()
        connection.data_received(front.signed("GET", "/2015-03-31/functions"))
        await until(lambda: front.works.calls)
        assert b'"music"' in await front.until_answered(front.request())
        assert not transport.written
        front.works.gate.set()
        await until(lambda: transport.written)

    asyncio.run(run())


def test_the_protocol_names_no_target(front: LambdaFrontEnd) -> None:
    """Requests with an X-Amz-Target are DynamoDB's, whatever their path."""
    assert not LambdaProtocol.targets
    answer = front.answer(front.request().replace(b"POST / ", b"POST /2015-03-31/functions "))
    assert json.loads(answer.body)["name"] == "music"


def test_bodies_of_handlers_that_take_their_time_hold_up_nobody(
    front: LambdaFrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their memory is not that of others' large bodies, and bounded of its own."""
    payload = b'"' + 70_000 * b"x" + b'"'
    monkeypatch.setattr(rest_json_protocol, "LAMBDA_BODIES_BYTES_MAX", 2 * len(payload))
    invocation = front.signed("POST", "/2015-03-31/functions/f/invocations", payload)

    async def run() -> None:
        front.works.gate = asyncio.Event()
        running = []
        for _ in range(2):
            connection, transport = front.connect()
            connection.data_received(invocation)
            running.append((connection, transport))
        await until(lambda: len(front.works.calls) == 2)
        assert [connection.share.answering_bytes for connection, _ in running] == [0, 0]
        third = reply(await front.until_answered(invocation))
        assert (third.status, third.headers["x-amzn-errortype"]) == (429, "TooManyRequestsException")
        front.works.gate.set()
        await until(lambda: all(transport.written for _, transport in running))
        front.works.gate = None
        assert reply(await front.until_answered(invocation)).status == 200

    asyncio.run(run())
