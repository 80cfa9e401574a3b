"""A request of Lambda's API that is longer than any may be is refused in that API's form, before it has arrived."""

import json
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import boto3
import msgspec
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.errors import HashrangeError
from hashrange.functions.api.registry import OPERATIONS
from hashrange.functions.api.tags import check_function_tags
from hashrange.functions.variables import find_variables_fault
from hashrange.limits import (
    BODY_BYTES_MAX,
    INVOCATION_PAYLOAD_BYTES_MAX,
    LAMBDA_JSON_BYTES_MAX,
    LAMBDA_REQUEST_BYTES_MAX,
)
from hashrange.server.protocols.rest_json.members import RequestReader
from hashrange.settings import Settings
from hashrange.testing.database import server
from tests.support.working import lines_between_looks

ROLE = "arn:aws:iam::000000000000:role/handler"


def announce(endpoint: str, method: str, path: str, length_bytes: int) -> tuple[HTTPResponse, bytes]:
    """The reply to the head of a request with such a body."""
    connection = HTTPConnection(urlsplit(endpoint).netloc)
    connection.putrequest(method, path)
    connection.putheader("Content-Length", str(length_bytes))
    connection.endheaders()
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


@pytest.mark.parametrize(
    ("method", "path", "length_bytes", "name", "most_bytes"),
    [
        ("POST", "/2015-03-31/functions", LAMBDA_REQUEST_BYTES_MAX + 1, "CreateFunction", LAMBDA_REQUEST_BYTES_MAX),
        ("POST", "/2015-03-31/functions/", 10**12, "CreateFunction", LAMBDA_REQUEST_BYTES_MAX),
        ("PUT", "/2015-03-31/functions/f/code", 10**9, "UpdateFunctionCode", LAMBDA_REQUEST_BYTES_MAX),
        (
            "POST",
            "/2015-03-31/functions/f/invocations?Qualifier=a",
            10**9,
            "InvokeFunction",
            INVOCATION_PAYLOAD_BYTES_MAX,
        ),
        ("POST", "/2015-03-31/functions/f/policy", 10**9, "AddPermission", LAMBDA_JSON_BYTES_MAX),
        (
            "POST",
            "/2015-03-31/event-source-mappings",
            BODY_BYTES_MAX + 1,
            "CreateEventSourceMapping",
            LAMBDA_JSON_BYTES_MAX,
        ),
        ("POST", "/2017-03-31/tags/arn", 10**9, "TagResource", LAMBDA_JSON_BYTES_MAX),
    ],
)
def test_the_refusal_has_lambdas_form(method: str, path: str, length_bytes: int, name: str, most_bytes: int) -> None:
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        response, body = announce(database.endpoint, method, path, length_bytes)
    assert response.status == 413
    assert response.headers["x-amzn-ErrorType"] == "RequestEntityTooLargeException"
    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(body) == {
        "Type": "User",
        "message": f"Request must be smaller than {most_bytes} bytes for the {name} operation",
    }


@pytest.mark.parametrize("path", ["/", "/2015-03-31/functions/f/g/h"])
def test_other_requests_are_refused_in_json_too(path: str) -> None:
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        response, _ = announce(database.endpoint, "POST", path, 10**9)
    assert (response.status, response.headers["Content-Type"]) == (413, "application/json")


def test_an_sdk_reads_it() -> None:
    with server(Settings(data_dir=None, port=0, functions=True)) as database:
        client = boto3.client(
            "lambda",
            endpoint_url=database.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
            config=Config(retries={"total_max_attempts": 1}),
        )
        with pytest.raises(ClientError, match=r"RequestEntityTooLargeException.*smaller than 70167211 bytes"):
            client.create_function(
                FunctionName="f",
                Runtime="python3.12",
                Role=ROLE,
                Handler="app.handle",
                Code={"ZipFile": bytes(LAMBDA_REQUEST_BYTES_MAX * 3 // 4)},
            )
        client.close()


def test_very_many_variables_and_tags_are_checked_in_pieces() -> None:
    """115,000 were one step of up to 43 ms."""
    many = {f"k{number}": "v" for number in range(50_000)}
    assert lines_between_looks(partial(find_variables_fault, many)) < 10_000
    assert lines_between_looks(partial(check_function_tags, many)) < 10_000


def test_very_many_unknown_members_are_passed_over_in_pieces() -> None:
    body = msgspec.json.encode({f"k{number}": 1 for number in range(50_000)} | {"FunctionName": "f"})
    operation = next(one for one in OPERATIONS if one.name == "CreateFunction")
    request: Any = SimpleNamespace(
        url=b"/2015-03-31/functions", body=body, layout=SimpleNamespace(content_encoding=-1), header=lambda _: None
    )

    def read() -> None:
        with suppress(HashrangeError):
            RequestReader(operation).read(request, {})

    assert lines_between_looks(read) < 10_000
