"""What Kinesis answers becomes a result, a refusal or the lack of an answer; nothing else, whatever comes."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from hashrange.clock import SystemClock
from hashrange.functions.http_client import RemoteReply, UrlUnusable
from hashrange.limits import KINESIS_REPLY_BYTES_MAX, KINESIS_TIMEOUT_SECONDS
from hashrange.triggers.kinesis import client as client_module
from hashrange.triggers.kinesis.client import KinesisClient, KinesisRefusal, NoAnswer, put_results
from tests.support.clocks import VirtualClock
from tests.support.working import give_way_always
from tests.unit.functions.answering import Answer, Received, answering, reply

STREAM = "arn:aws:kinesis:eu-west-1:123456789012:stream/a"
ACCEPTED = {"SequenceNumber": "1", "ShardId": "shardId-000000000000"}
Ask = Callable[[KinesisClient], Awaitable[Any]]


def ask(answer: Answer, request: Ask) -> tuple[Any, Received]:
    """What the client makes of an answer, and the request that it sent."""

    async def main() -> tuple[Any, Received]:
        async with answering(answer) as server:
            try:
                result = await request(KinesisClient(server.url, SystemClock()))
            except (NoAnswer, KinesisRefusal) as error:
                result = error
            return result, server.requests[0]

    return asyncio.run(main())


def put(answer: Answer, count: int = 1) -> Any:
    async def put_one(client: KinesisClient) -> Any:
        return put_results(await client.put_records(STREAM, b"{}"), count)

    return ask(answer, put_one)[0]


def describe(answer: Answer) -> Any:
    return ask(answer, lambda client: client.describe_stream(STREAM))[0]


def answer_of(body: Any, status: str = "200 OK") -> bytes:
    return reply(json.dumps(body).encode(), status=status)


def test_requests_are_those_of_kinesis_and_signed() -> None:
    answer = answer_of({"StreamDescriptionSummary": {"StreamStatus": "ACTIVE"}})
    status, request = ask(answer, lambda client: client.describe_stream(STREAM))
    assert status == "ACTIVE"
    assert request.line == "POST / HTTP/1.1"
    assert json.loads(request.body) == {"StreamName": "a", "StreamARN": STREAM}
    assert request.headers["x-amz-target"] == "Kinesis_20131202.DescribeStreamSummary"
    assert request.headers["content-type"] == "application/x-amz-json-1.1"
    signed = "content-type;host;x-amz-date;x-amz-target"
    date = request.headers["x-amz-date"]
    start = (
        f"AWS4-HMAC-SHA256 Credential=123456789012/{date[:8]}/eu-west-1/kinesis/aws4_request, SignedHeaders={signed}, "
    )
    assert request.headers["authorization"].startswith(start)
    expected = signature(request, date)
    assert request.headers["authorization"] == f"{start}Signature={expected}"


def signature(request: Received, date: str) -> str:
    """What botocore's signer makes of the request."""
    names = ("content-type", "host", "x-amz-target")
    headers = {name: request.headers[name] for name in names}
    sent = AWSRequest("POST", f"http://{request.headers['host']}/", headers, request.body)
    sent.context["timestamp"] = date
    signer = SigV4Auth(Credentials("123456789012", client_module._SECRET_KEY), "kinesis", "eu-west-1")
    sent.headers["X-Amz-Date"] = date
    return str(signer.signature(signer.string_to_sign(sent, signer.canonical_request(sent)), sent))


def test_each_record_has_a_result() -> None:
    records = [
        ACCEPTED,
        {"ErrorCode": "ProvisionedThroughputExceededException", "ErrorMessage": "slowly"},
        {"ErrorCode": "InternalFailure"},
        {"ErrorCode": "InvalidArgumentException", "ErrorMessage": "too long"},
        {},
        ACCEPTED | {"ErrorCode": "SomethingNew"},
        ACCEPTED | {"unknown": [1]},
    ]
    assert put(answer_of({"FailedRecordCount": 0, "Records": records}), len(records)) == [
        "accepted", "throttled", "failed", "unfit", "failed", "failed", "accepted",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        reply(b"<html></html>"),
        reply(b"\xff\xfe"),
        reply(b""),
        answer_of([]),
        answer_of({}),
        answer_of({"Records": [ACCEPTED, ACCEPTED]}),
        answer_of({"Records": []}),
        answer_of({"Records": [5]}),
        answer_of({"Records": [{"SequenceNumber": 5}]}),
        answer_of({"Records": [ACCEPTED]})[:-1],
        b"",
        b"HTTP/1.1 ",
        b"no HTTP\r\n\r\n",
        reply(b"x" * 2_000_000),
        reply(b"[" * 100_000),
        reply(b'{"Records":' * 100_000),
    ],
)
def test_what_kinesis_does_not_send_is_no_answer(answer: bytes) -> None:
    assert isinstance(put(answer), NoAnswer)
    assert isinstance(describe(answer), NoAnswer)


def test_whoever_decodes_a_long_reply_gives_way_before() -> None:
    """Replies to eight requests may come in the same moment, each with as many empty results as fit."""
    reply = RemoteReply(200, {}, b'{"Records":[%b]}' % b",".join([b"{}"] * 80_000))
    assert len(reply.body) < KINESIS_REPLY_BYTES_MAX

    async def conclude() -> None:
        with pytest.raises(NoAnswer):
            put_results(reply, 1)

    assert give_way_always(conclude())[0] >= 1


@pytest.mark.parametrize(
    ("status", "body", "code", "is_unfit"),
    [
        ("400 X", {"__type": "InvalidArgumentException", "message": "m"}, "InvalidArgumentException", True),
        ("400 X", {"__type": "com.amazonaws#ValidationException", "Message": "m"}, "ValidationException", True),
        ("400 X", {"__type": "SerializationException"}, "SerializationException", True),
        ("413 X", "too large", "413", True),
        ("500 X", {"__type": "ValidationException"}, "ValidationException", False),
        ("400 X", {"__type": "ResourceNotFoundException", "message": "m"}, "ResourceNotFoundException", False),
        (
            "400 X",
            {"__type": "ProvisionedThroughputExceededException"},
            "ProvisionedThroughputExceededException",
            False,
        ),
        ("400 X", {"__type": 5}, "400", False),
        ("403 X", [], "403", False),
        ("302 X", {}, "302", False),
        ("503 X", "down", "503", False),
    ],
)
def test_other_statuses_are_refusals(status: str, body: Any, code: str, *, is_unfit: bool) -> None:
    refusal = put(answer_of(body, status))
    assert isinstance(refusal, KinesisRefusal)
    assert (refusal.code, refusal.is_unfit) == (code, is_unfit)
    assert str(refusal).partition(": ")[0] == code


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"__type":"InternalFailure"}', "InternalFailure"),
        (b'{"__type":"InternalFailure","message":""}', "InternalFailure"),
        (b'{"__type":"a#InternalFailure","Message":"too \xc3\xbc"}', "InternalFailure: too \xfc"),
        (b"down \xff\n", "500: down \ufffd"),
        (b"[]", "500: []"),
        (b"", "500"),
    ],
)
def test_a_refusal_says_what_the_reply_says(body: bytes, text: str) -> None:
    assert str(put(reply(body, status="500 X"))) == text


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "AccessDeniedException", "InvalidArgumentException"])
def test_a_data_stream_that_is_not_there_has_no_status(code: str) -> None:
    assert describe(answer_of({"__type": code}, "400 X")) is None


def test_a_request_takes_ten_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KINESIS_TIMEOUT_SECONDS == 10.0
    monkeypatch.setattr(client_module, "KINESIS_TIMEOUT_SECONDS", 0.02)
    assert str(put(None)) == "no reply within 0.02 seconds"


def test_an_endpoint_that_does_not_answer_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until as much real time has passed again; an answer ends that at once."""
    monkeypatch.setattr(client_module, "KINESIS_TIMEOUT_SECONDS", 0.02)
    clock, found = VirtualClock(), []

    async def main() -> int:
        async with answering(None) as server:
            client = KinesisClient(server.url, clock)
            for ahead_seconds in (0.0, 0.01, 0.02, 0.0):
                clock.advance_all(ahead_seconds)
                with pytest.raises(NoAnswer) as raised:
                    await client.describe_stream(STREAM)
                found.append(str(raised.value))
            client.forget()
            with pytest.raises(NoAnswer):
                await client.put_records(STREAM, b"{}")
            return len(server.requests)

    assert asyncio.run(main()) == 3
    silent = "no reply for {} seconds"
    assert found == [
        "no reply within 0.02 seconds",
        silent.format("0.03"),
        "no reply within 0.02 seconds",
        silent.format("0.02"),
    ]


@pytest.mark.parametrize("url", ["", "kinesis", "ftp://127.0.0.1/", "http://", "http://a b/"])
def test_the_endpoint_is_a_url(url: str) -> None:
    with pytest.raises(UrlUnusable):
        KinesisClient(url, SystemClock())
