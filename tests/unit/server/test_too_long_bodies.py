"""A body that is too long is refused in the form of the service that it is for, from its head alone."""

import gzip
import json
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

import boto3
import cbor2
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.limits import BODY_BYTES_MAX
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.raw_client import RawClient
from tests.support.signing import sign

SENTENCE = f"The request has a body of more than {BODY_BYTES_MAX} bytes. Send less at once."
CORAL = "com.amazon.coral.service#RequestEntityTooLargeException"
JSON_TYPE = {"Content-Type": "application/x-amz-json-1.0"}
FORM_TYPE = {"Content-Type": "application/x-www-form-urlencoded"}

Decode = Callable[[bytes], object]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0, admin=True)) as running:
        yield running


@pytest.fixture
def raw(database: Database) -> RawClient:
    host, _, port = database.endpoint.removeprefix("http://").partition(":")
    return RawClient(host, int(port))


def error_of(body: bytes) -> tuple[str | None, str | None]:
    """Code and message in an error of XML."""
    root = ET.fromstring(body)
    error = root if root.tag == "Error" else root.find(".//Error")
    assert error is not None
    return error.findtext("Code"), error.findtext("Message")


@pytest.mark.parametrize(
    ("headers", "service", "content_type", "decode", "told"),
    [
        (
            {**JSON_TYPE, "X-Amz-Target": "DynamoDB_20120810.PutItem"},
            "dynamodb",
            "application/x-amz-json-1.0",
            json.loads,
            {"__type": CORAL, "message": SENTENCE},
        ),
        (
            {"Content-Type": "application/json"},
            None,
            "application/json",
            json.loads,
            {"__type": CORAL, "message": SENTENCE},
        ),
        (
            {
                "Content-Type": "application/x-amz-json-1.1",
                "X-Amz-Target": "GraniteServiceVersion20100801.PutMetricData",
            },
            "monitoring",
            "application/x-amz-json-1.1",
            json.loads,
            {"__type": "RequestEntityTooLargeException", "message": SENTENCE},
        ),
        (
            {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"},
            "monitoring",
            "application/cbor",
            cbor2.loads,
            {"__type": "RequestEntityTooLargeException", "message": SENTENCE},
        ),
        (FORM_TYPE, "sts", "text/xml", error_of, ("RequestEntityTooLarge", SENTENCE)),
        (FORM_TYPE, None, "text/xml", error_of, ("RequestEntityTooLarge", SENTENCE)),
        ({}, "s3", "text/xml", error_of, ("EntityTooLarge", SENTENCE)),
        ({}, "lambda", "application/json", json.loads, {"message": SENTENCE}),
    ],
)
def test_the_refusal_has_the_form_of_the_service(
    raw: RawClient, headers: dict[str, str], service: str | None, content_type: str, decode: Decode, told: object
) -> None:
    sent = {"Host": "x", "Content-Length": str(BODY_BYTES_MAX + 1), **headers}
    if service is not None:
        sent = sign(sent, b"", seconds=0, service=service)
    reply = raw.send("POST", "/", sent, b"")
    assert (reply.status, reply.headers["content-type"], reply.headers["connection"]) == (413, content_type, "close")
    assert decode(reply.body) == told
    assert len(reply.headers["x-amzn-requestid"]) == 52


def test_the_admin_api(raw: RawClient) -> None:
    reply = raw.send("POST", "/_hashrange/v1/reset", {"Content-Length": str(10**9)}, b"")
    assert (reply.status, reply.json()) == (413, {"error": SENTENCE})


@pytest.mark.parametrize(("method", "path"), [("POST", "/nothing"), ("GET", "/metrics"), ("PUT", "/")])
def test_what_is_for_no_service_is_refused_in_json(raw: RawClient, method: str, path: str) -> None:
    reply = raw.send(method, path, {"Host": "x", "Content-Length": str(10**9)}, b"")
    assert (reply.status, reply.headers["content-type"]) == (413, "application/json")
    assert reply.json() == {"message": SENTENCE}


@pytest.mark.parametrize("content_type", ["application/x-amz-json-1.1", "application/x-amz-json-1.0"])
@pytest.mark.parametrize("target", ["AnyScaleFrontendService.X", "GraniteServiceVersion20100801.X", "AmazonDAXV3.X"])
def test_a_target_of_another_service_has_its_form(raw: RawClient, target: str, content_type: str) -> None:
    headers = {"Content-Type": content_type, "X-Amz-Target": target, "Content-Length": str(10**9)}
    reply = raw.send("POST", "/", headers, b"")
    assert (reply.status, reply.json()) == (413, {"__type": "RequestEntityTooLargeException", "message": SENTENCE})


def test_a_body_without_a_length(raw: RawClient) -> None:
    headers = {"Host": "x", **JSON_TYPE, "Transfer-Encoding": "chunked"}
    body = b"1000001\r\n" + b" " * 0x1000001 + b"\r\n0\r\n\r\n"
    reply = raw.send("POST", "/", headers, body)
    assert (reply.status, reply.json()["__type"]) == (413, CORAL)


def test_a_body_that_is_too_long_once_it_is_decompressed(raw: RawClient) -> None:
    body = gzip.compress(b" " * (BODY_BYTES_MAX + 1), 1)
    reply = raw("ListTables", body, {"Content-Encoding": "gzip"})
    assert (reply.status, reply.json()) == (413, {"__type": CORAL, "message": SENTENCE})


def test_an_sdk_reads_it(database: Database) -> None:
    client = boto3.client(
        "dynamodb",
        endpoint_url=database.endpoint,
        region_name="eu-west-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}),
    )
    with pytest.raises(ClientError) as refused:
        client.put_item(TableName="music", Item={"pk": {"S": "x" * BODY_BYTES_MAX}})
    error = refused.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("RequestEntityTooLargeException", SENTENCE)
