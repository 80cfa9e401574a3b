"""A refused request leaves nothing to the garbage collector, which passes over what survives its runs.

Neither the error stays nor the frames that it was raised in, which hold the request.
"""

import json
import types
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from hashrange.testing import server
from tests.support.bodies import BODIES, TABLE
from tests.support.garbage import garbage_made

pytestmark = pytest.mark.usefixtures("only_new_garbage")

WRONG: tuple[Any, ...] = ([], {"B": "1"}, {"": {"ComparisonOperator": "x" * 300}}, "x" * 300, -1)
"""What takes the place of a member."""
DENIED = b"SignatureException"


def ask(endpoint: str, operation: str, body: Any) -> bytes:
    """The reply to a request, whether it is refused or not."""
    service = "DynamoDBStreams" if operation in STREAMS else "DynamoDB"
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    credential = f"key/{now[:8]}/us-east-1/dynamodb/aws4_request"
    headers = {
        "X-Amz-Target": f"{service}_20120810.{operation}",
        "X-Amz-Date": now,
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=00",
    }
    request = urllib.request.Request(endpoint, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as reply:
            return bytes(reply.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.read()


STREAMS = {"DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"}


def spoiled() -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests in which one member is wrong."""
    for operation, bodies in BODIES.items():
        for body in bodies:
            for member in body:
                for wrong in WRONG:
                    yield operation, body | {member: wrong}


def test_no_refusal_leaves_an_error_or_a_frame() -> None:
    with server() as database:
        endpoint = database.endpoint
        create = {
            "TableName": TABLE,
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            "AttributeDefinitions": [
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "N"},
            ],
            "BillingMode": "PAY_PER_REQUEST",
        }
        assert DENIED not in ask(endpoint, "CreateTable", create)
        with garbage_made() as garbage:
            for operation, body in spoiled():
                ask(endpoint, operation, body)
            kinds = BaseException | types.TracebackType
            kept = [f"{type(one).__name__}: {one}"[:120] for one in garbage() if isinstance(one, kinds)]
        assert kept == []
