"""Messages reach queues, topics, buckets and URLs as boto3's own requests do;
whatever else a server answers is one kind of error.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import parse_qsl

import boto3
import botocore.session
import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from hashrange.triggers.destinations import DeliveryFailed, Destination, read_destinations
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.functions.answering import Answer, Answering, Received, answering, reply
from tests.unit.triggers.discarded import DOCUMENT, DOCUMENT_WITH_EVENT, KEY, MESSAGE

SQS_ARN = "arn:aws:sqs:eu-west-1:000000000000:failed"
SNS_ARN = "arn:aws:sns:eu-west-1:000000000000:failed"
S3_ARN = "arn:aws:s3:::failed"
KINDS = {
    "sqs": (SQS_ARN, "/000000000000/failed"),
    "sns": (SNS_ARN, ""),
    "s3": (S3_ARN, "/bucket"),
    "http": (SQS_ARN, "/hook?token=1"),
}
"""Member of the table → an ARN for it, and the path of its URL."""
PUBLISHED = (
    b"<PublishResponse"
    b' xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>1</MessageId></'
    b"PublishResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></PublishResponse>"
)
ANSWERS = {"sqs": reply(b'{"MessageId": "1"}'), "sns": reply(PUBLISHED), "s3": reply(), "http": reply()}


def run(main: Coroutine[Any, Any, None]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await main

    asyncio.run(in_time())


def destination(kind: str, server: Answering, arn: str | None = None, **members: str) -> Destination:
    usual, path = KINDS[kind]
    (found,) = read_destinations({arn or usual: {kind: server.url + path, **members}}).values()
    return found


def delivered(kind: str, arn: str | None = None, **members: str) -> Received:
    """The request by which MESSAGE is delivered."""
    requests: list[Received] = []

    async def main() -> None:
        async with answering(ANSWERS[kind]) as server:
            await destination(kind, server, arn, **members)(MESSAGE)
            requests.extend(server.requests)

    run(main())
    (request,) = requests
    return request


# --- boto3 sends the same -----------------------------------------------------------------------


def boto3_client(kind: str, server: Answering, region: str) -> Any:
    config = Config(
        retries={"total_max_attempts": 1},
        request_checksum_calculation="when_required",
        s3={"addressing_style": "path"},
    )
    return boto3.client(
        kind,
        endpoint_url=server.url,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=config,
    )


def send_message(server: Answering) -> None:
    boto3_client("sqs", server, "eu-west-1").send_message(
        QueueUrl=f"{server.url}/000000000000/failed", MessageBody=json.dumps(DOCUMENT, separators=(",", ":"))
    )


def publish(server: Answering) -> None:
    boto3_client("sns", server, "eu-west-1").publish(
        TopicArn=SNS_ARN, Message=json.dumps(DOCUMENT, separators=(",", ":"))
    )


def put_object(server: Answering) -> None:
    body = json.dumps(DOCUMENT_WITH_EVENT, separators=(",", ":"), ensure_ascii=False).encode()
    boto3_client("s3", server, "us-east-2").put_object(
        Bucket="bucket", Key=KEY, Body=body, ContentType="application/json"
    )


def parsed(kind: str, request: Received) -> Any:
    """The body as a server reads it."""
    return dict(parse_qsl(request.body.decode(), strict_parsing=True)) if kind == "sns" else json.loads(request.body)


def signed_again(kind: str, request: Received) -> str:
    """The Authorization that botocore's signer gives a request for the headers that it says are signed."""
    headers = request.headers
    _, _, region, service, _ = headers["authorization"].split("Credential=")[1].split(",")[0].split("/")
    names = headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    signed = {name: headers[name] for name in names}
    again = AWSRequest(method=request.line.split()[0], url=f"http://{headers['host']}{request.path}", headers=signed)
    again.data = request.body
    again.context |= {"timestamp": headers["x-amz-date"], "signing": {}}
    signer = (S3SigV4Auth if kind == "s3" else SigV4Auth)(Credentials("test", "test"), service, region)
    signature = signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again)
    return headers["authorization"].rpartition("=")[0] + "=" + str(signature)


@pytest.mark.parametrize(("kind", "send"), [("sqs", send_message), ("sns", publish), ("s3", put_object)])
def test_the_request_is_that_of_boto3(kind: str, send: Callable[[Answering], None]) -> None:
    requests: list[Received] = []

    async def main() -> None:
        async with answering(ANSWERS[kind]) as server:
            await asyncio.to_thread(send, server)
            await destination(kind, server)(MESSAGE)
            requests.extend(server.requests)

    run(main())
    theirs, ours = requests
    assert ours.line == theirs.line
    assert parsed(kind, ours) == parsed(kind, theirs)
    for name in ("host", "content-type", "x-amz-target", "x-amz-content-sha256"):
        assert ours.headers.get(name) == theirs.headers.get(name), name
    theirs_scope, ours_scope = (
        request.headers["authorization"].split("Credential=")[1].split(",")[0].split("/") for request in (theirs, ours)
    )
    assert (ours_scope[0], ours_scope[2:]) == (theirs_scope[0], theirs_scope[2:])
    assert [request.headers["authorization"] for request in requests] == [signed_again(kind, one) for one in requests]


@pytest.mark.parametrize(("kind", "operation"), [("sqs", "SendMessage"), ("sns", "Publish")])
def test_the_body_fits_the_service_model(kind: str, operation: str) -> None:
    model = botocore.session.get_session().get_service_model(kind)
    shape: Any = model.operation_model(operation).input_shape
    members = set(parsed(kind, delivered(kind))) - {"Action", "Version"}
    assert set(shape.required_members) <= members <= set(shape.members)


# --- what each gets -----------------------------------------------------------------------------


def test_a_queue_gets_the_document_without_the_event() -> None:
    request = delivered("sqs")
    assert json.loads(json.loads(request.body)["MessageBody"]) == DOCUMENT


def test_a_topic_gets_the_document_without_the_event() -> None:
    members = parsed("sns", delivered("sns"))
    assert json.loads(members["Message"]) == DOCUMENT
    assert members["TopicArn"] == SNS_ARN


def test_a_bucket_gets_an_object_with_the_event_by_its_name() -> None:
    request = delivered("s3")
    assert request.line == f"PUT /bucket/{KEY} HTTP/1.1"
    assert json.loads(request.body) == DOCUMENT_WITH_EVENT


@pytest.mark.parametrize(("arn", "document"), [(SQS_ARN, DOCUMENT), (SNS_ARN, DOCUMENT), (S3_ARN, DOCUMENT_WITH_EVENT)])
def test_a_url_gets_what_the_arn_would_get_unsigned(arn: str, document: Any) -> None:
    request = delivered("http", arn)
    assert request.line == "POST /hook?token=1 HTTP/1.1"
    assert json.loads(request.body) == document
    assert set(request.headers) == {"host", "content-length", "connection", "content-type"}
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("kind", "region"), [("sqs", "eu-west-1"), ("sns", "eu-west-1"), ("s3", "us-east-2")])
def test_the_region_is_that_of_the_arn_or_of_the_stream_and_the_key_that_of_the_table(kind: str, region: str) -> None:
    authorization = delivered(kind, access_key="AKID", secret_key="hidden").headers["authorization"]
    key, _, signed_for, service, _ = authorization.split("Credential=")[1].split(",")[0].split("/")
    assert (key, signed_for, service) == ("AKID", region, kind)
    assert delivered(kind).headers["authorization"].split("Credential=")[1].startswith("test/")


def test_another_try_puts_the_same_object() -> None:
    paths: list[str] = []

    async def main() -> None:
        async with answering(b"", reply()) as server:
            bucket = destination("s3", server)
            with pytest.raises(DeliveryFailed):
                await bucket(MESSAGE)
            await bucket(MESSAGE)
            paths.extend(request.path for request in server.requests)

    run(main())
    assert paths == [f"/bucket/{KEY}"] * 2


def test_an_event_of_the_largest_size_arrives() -> None:
    event = json.dumps({"Records": ["x" * 6_000_000]}).encode()

    async def main() -> None:
        async with answering(reply()) as server:
            await destination("s3", server)(MESSAGE._replace(event=event))
            assert json.loads(server.requests[0].body)["payload"] == event.decode()

    run(main())


# --- what they answer ---------------------------------------------------------------------------


async def try_delivery(kind: str, answer: Answer) -> None:
    async with answering(answer) as server:
        await destination(kind, server)(MESSAGE)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answer",
    [
        reply(),
        reply(b"garbage", status="201 Created"),
        b"HTTP/1.1 204 No Content\r\n\r\n",
        reply(b"x" * 1_000_000),
        b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1_000_000,
    ],
)
def test_the_status_alone_says_that_a_message_was_taken(kind: str, answer: bytes) -> None:
    run(try_delivery(kind, answer))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply(b"no such\r\nqueue", status="400 Bad Request"), r"answered with status 400: 'no such\\r\\nqueue'$"),
        (reply(b"", status="503 Busy"), r"answered with status 503$"),
        (reply(b"x" * 1_000, status="500 Oops"), r"answered with status 500: 'x{200}'$"),
        (reply(b"x" * 1_000_000, status="500 Oops"), r"answered with status 500$"),
        (reply(b"\xff\x1b[31m", status="403 Forbidden"), r"answered with status 403: '\ufffd\\x1b\[31m'$"),
        (reply(b"", "Location: http://127.0.0.1:1/", status="307 Temporary Redirect"), r"answered with status 307$"),
        (b"", r"did not answer: the connection was closed early$"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", r"did not answer: the connection was closed early$"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000, r"did not answer: the reply is too large$"),
        (b"SSH-2.0\r\n\r\n", r"did not answer: ."),
    ],
)
def test_anything_else_is_a_failed_delivery_with_its_reason_on_one_line(kind: str, answer: bytes, reason: str) -> None:
    with pytest.raises(DeliveryFailed, match=rf"^http://127\.0\.0\.1:[^ ]+ {reason}") as caught:
        run(try_delivery(kind, answer))
    assert str(caught.value).isprintable()
    assert "token" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_nobody_listens(kind: str) -> None:
    arn, path = KINDS[kind]
    (found,) = read_destinations({arn: {kind: f"http://127.0.0.1:1{path}"}}).values()
    with pytest.raises(DeliveryFailed, match=r"^http://127\.0\.0\.1:1/.* did not answer: "):
        run(found(MESSAGE))


@pytest.mark.parametrize("kind", KINDS)
def test_the_caller_limits_the_time(kind: str) -> None:
    async def main() -> None:
        async with answering(None) as server:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await destination(kind, server)(MESSAGE)

    run(main())
