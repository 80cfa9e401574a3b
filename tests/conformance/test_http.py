"""HTTP as clients see it: status, headers, order of the first checks."""

import gzip
import json
import re
import socket
import zlib
from email.utils import parsedate_to_datetime

import pytest

from tests.support.raw_client import RawClient

CORAL = "com.amazon.coral.service#"


def test_a_reply_carries_the_services_headers(raw: RawClient) -> None:
    reply = raw("ListTables", {})
    assert reply.status == 200
    assert re.fullmatch("[0-9A-Z]{52}", reply.headers["x-amzn-requestid"])
    assert int(reply.headers["x-amz-crc32"]) == zlib.crc32(reply.body)
    assert reply.headers["content-type"] == "application/x-amz-json-1.0"
    assert reply.headers["server"] == "Server"
    assert parsedate_to_datetime(reply.headers["date"]).year >= 2026
    assert int(reply.headers["content-length"]) == len(reply.body)


@pytest.mark.parametrize("content_type", ["application/json", "application/x-amz-json-1.0"])
def test_the_content_type_is_mirrored(raw: RawClient, content_type: str) -> None:
    reply = raw("ListTables", {}, {"Content-Type": content_type})
    assert (reply.status, reply.headers["content-type"]) == (200, content_type)
    assert raw("ListTables", b"{", {"Content-Type": content_type}).headers["content-type"] == content_type


def test_errors_carry_the_same_headers(raw: RawClient) -> None:
    reply = raw("ListTables", b"{")
    assert reply.status == 400
    assert re.fullmatch("[0-9A-Z]{52}", reply.headers["x-amzn-requestid"])
    assert int(reply.headers["x-amz-crc32"]) == zlib.crc32(reply.body)


@pytest.mark.parametrize(
    ("method", "content_type"),
    [
        ("PUT", "application/json"),
        ("DELETE", "application/json"),
        ("POST", "text/plain"),
        ("POST", "application/x-amz-json-1.1"),
    ],
)
def test_other_methods_and_content_types_are_not_found(raw: RawClient, method: str, content_type: str) -> None:
    reply = raw("ListTables", {}, {"Content-Type": content_type}, method=method)
    assert (reply.status, reply.body) == (404, b"<UnknownOperationException/>\n")
    assert reply.headers["x-amz-crc32"] == "3552371480"


def test_health(raw: RawClient) -> None:
    reply = raw.send("GET", "/", {"Host": "localhost"}, b"")
    assert reply.status == 200
    assert re.fullmatch(rb"healthy: dynamodb\.[a-z0-9-]+\.amazonaws\.com ", reply.body)


@pytest.mark.parametrize(
    "target", [None, "", "ListTables.", "DynamoDB_20111205.ListTables", "DynamoDB_20120810.ListTable", "nonsense.x"]
)
def test_an_unknown_target(raw: RawClient, target: str | None) -> None:
    headers = {} if target is None else {"X-Amz-Target": target}
    reply = raw(None, {}, headers)
    assert (reply.status, reply.body) == (400, b'{"__type":"com.amazon.coral.service#UnknownOperationException"}')


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"a":1,}', b"\xff\xfe", b'{"TableName": NaN}', b'{"zz":"\xff"}']
)
def test_a_body_that_is_no_json(raw: RawClient, body: bytes) -> None:
    reply = raw("DescribeTable", body)
    assert (reply.status, reply.body) == (400, b'{"__type":"com.amazon.coral.service#SerializationException"}')


def test_the_first_checks_stand_in_the_services_order(raw: RawClient) -> None:
    bad_type = b'{"TableName":5}'
    unsigned = {"Host": f"{raw.host}:{raw.port}", "Content-Type": "application/json", "X-Amz-Target": "nonsense"}
    assert raw.send("POST", "/", {**unsigned, "Content-Type": "text/html"}, b"{").status == 404
    assert raw.send("POST", "/", unsigned, b"{").json() == {"__type": CORAL + "SerializationException"}
    assert raw.send("POST", "/", unsigned, bad_type).json() == {"__type": CORAL + "UnknownOperationException"}
    known = {**unsigned, "X-Amz-Target": "DynamoDB_20120810.DescribeTable"}
    assert raw.send("POST", "/", known, bad_type).json()["__type"] == CORAL + "MissingAuthenticationTokenException"
    assert raw("DescribeTable", bad_type).json() == {
        "__type": CORAL + "SerializationException", "Message": "NUMBER_VALUE cannot be converted to String",
    }  # fmt: skip


def test_compressed_requests_and_replies(raw: RawClient) -> None:
    body = gzip.compress(b"{}")
    assert raw("ListTables", body, {"Content-Encoding": "gzip"}).json().keys() == {"TableNames"}
    reply = raw("ListTables", b"no gzip", {"Content-Encoding": "gzip"})
    assert (reply.status, reply.json()) == (400, {"__type": CORAL + "SerializationException"})


def test_members_of_a_compressed_batch_are_counted_by_write(raw: RawClient) -> None:
    item = {"pk": {"S": "a"}, "l": {"L": [{"M": {}}] * 71_000}}
    for count in (1, 3):
        requests = [{"PutRequest": {"Item": item | {"pk": {"S": str(number)}}}} for number in range(count)]
        body = json.dumps({"RequestItems": {"nowhere": requests}}).encode()
        plain = raw("BatchWriteItem", body)
        assert plain.json()["__type"].endswith("ResourceNotFoundException")
        assert raw("BatchWriteItem", gzip.compress(body), {"Content-Encoding": "gzip"}).json() == plain.json()
    larger = {"RequestItems": {"nowhere": [{"PutRequest": {"Item": item | {"m": {"L": [{"M": {}}] * 140_000}}}}]}}
    reply = raw("BatchWriteItem", gzip.compress(json.dumps(larger).encode()), {"Content-Encoding": "gzip"})
    assert reply.json()["message"].startswith("The request holds more than 420000 members")


def test_a_page_in_a_browser_may_call(raw: RawClient) -> None:
    reply = raw("ListTables", {}, {"Origin": "http://localhost"})
    assert reply.headers["access-control-allow-origin"] == "*"
    asked = {"Host": "localhost", "Origin": "http://localhost", "Access-Control-Request-Headers": "x-amz-target"}
    preflight = raw.send("OPTIONS", "/", asked, b"")
    assert preflight.status == 200
    assert preflight.headers["access-control-allow-headers"] == "x-amz-target"
    assert preflight.headers["access-control-max-age"] == "172800"
    assert raw.send("OPTIONS", "/", {"Host": "localhost"}, b"").status == 404


def test_a_body_over_16_mb(raw: RawClient) -> None:
    reply = raw.send("POST", "/", {"Host": "localhost", "Content-Length": str(16 * 1024 * 1024 + 1)}, b"")
    assert reply.status == 413
    headers = {"Host": "x", "Content-Type": "application/json", "Content-Length": str(16 * 1024 * 1024 + 1)}
    assert raw.send("POST", "/", headers, b"").json()["__type"] == CORAL + "RequestEntityTooLargeException"


def test_a_head_over_16_kb(raw: RawClient) -> None:
    assert raw.send("POST", "/", {"Host": "localhost", "X-Filler": "x" * 20_000}, b"").status == 400


def test_one_connection_serves_many_requests_also_in_a_row_without_waiting(raw: RawClient) -> None:
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection((raw.host, raw.port), timeout=10) as client:
        client.sendall(request * 9 + request.replace(b"Host: localhost", b"Host: localhost\r\nConnection: close"))
        received = b""
        while data := client.recv(65_536):
            received += data
    assert received.count(b"HTTP/1.1 200 OK\r\n") == 10
    assert received.count(b"Connection: close") == 1


def test_the_error_envelope_has_type_and_message(raw: RawClient) -> None:
    reply = raw("DescribeTable", {"TableName": "absent-table"})
    assert reply.status == 400
    body = json.loads(reply.body)
    assert body["__type"] == "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"
    assert body.keys() == {"__type", "message"}
