"""Spoiled requests for every operation of Lambda's API on a server that runs functions:
the answer is a success or an error of Lambda's, never anything else.

`HASHRANGE_FUZZ_REQUESTS` sets the number of requests per operation, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import base64
import copy
import http.client
import json
import logging
import os
import random
import sys
import time
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import pytest

from hashrange.aws_services.operation import Operation
from hashrange.functions.api.operation import RestWire
from hashrange.functions.api.registry import OPERATIONS as FUNCTION_OPERATIONS
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.triggers.api.registry import OPERATIONS as MAPPING_OPERATIONS
from tests.fuzz.mutations import spoiled
from tests.support.bodies import NEW_TABLE
from tests.support.function_servers import PYTHON, ROLE, STREAM, zip_of
from tests.support.servers import ThreadServer
from tests.support.signing import sign
from tests.support.stores import make_store

REQUESTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "250")) // 5
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
OPERATIONS = {one.name: one for one in (*FUNCTION_OPERATIONS, *MAPPING_OPERATIONS)}
KNOWN_STATUS = {200, 201, 202, 204, 400, 403, 404, 409, 412, 413, 429}
FUNCTION_ARN = "arn:aws:lambda:us-east-1:000000000000:function:orders"
ZIP = base64.b64encode(zip_of(app_py="def handler(event, context): return event")).decode()
CONFIGURATION = {
    "Runtime": PYTHON,
    "Handler": "app.handler",
    "Description": "a",
    "Timeout": 3,
    "MemorySize": 256,
    "Environment": {"Variables": {"AB": "c"}},
    "VpcConfig": {"SubnetIds": ["a"]},
    "TracingConfig": {"Mode": "Active"},
    "EphemeralStorage": {"Size": 512},
    "SnapStart": {"ApplyOn": "None"},
    "LoggingConfig": {"LogFormat": "Text", "LogGroup": "a"},
    "KMSKeyArn": "arn:aws:kms:a",
    "Layers": [],
    "FileSystemConfigs": [],
}
MAPPING = {
    "FunctionName": "orders",
    "Enabled": False,
    "BatchSize": 5,
    "FilterCriteria": {"Filters": [{"Pattern": '{"eventName":["INSERT"]}'}]},
    "MaximumBatchingWindowInSeconds": 1,
    "ParallelizationFactor": 1,
    "DestinationConfig": {"OnFailure": {"Destination": "arn:aws:s3:::bucket"}},
    "MaximumRecordAgeInSeconds": 60,
    "BisectBatchOnFunctionError": True,
    "MaximumRetryAttempts": 1,
    "TumblingWindowInSeconds": 1,
    "FunctionResponseTypes": ["ReportBatchItemFailures"],
    "MetricsConfig": {"Metrics": ["EventCount"]},
    "Topics": [],
    "Queues": [],
}
MEMBERS: dict[str, dict[str, Any]] = {
    "AddPermission": {
        "FunctionName": "orders",
        "StatementId": "a",
        "Action": "lambda:InvokeFunction",
        "Principal": "s3.amazonaws.com",
        "SourceArn": "arn:aws:s3:::a",
        "SourceAccount": "000000000000",
        "EventSourceToken": "a",
        "Qualifier": "$LATEST",
    },
    "CreateFunction": {
        "FunctionName": "orders",
        "Role": ROLE,
        "Code": {"ZipFile": ZIP},
        "Tags": {"a": "b"},
        "Architectures": ["arm64"],
    }
    | CONFIGURATION,
    "DeleteFunction": {"FunctionName": "none", "Qualifier": "1"},
    "DeleteFunctionConcurrency": {"FunctionName": "orders"},
    "GetAccountSettings": {},
    "GetAlias": {"FunctionName": "orders", "Name": "live"},
    "GetFunction": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "GetFunctionCodeSigningConfig": {"FunctionName": "orders"},
    "GetFunctionConcurrency": {"FunctionName": "orders"},
    "GetFunctionConfiguration": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "GetFunctionRecursionConfig": {"FunctionName": "orders"},
    "GetPolicy": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "GetRuntimeManagementConfig": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "Invoke": {
        "FunctionName": "orders",
        "InvocationType": "RequestResponse",
        "LogType": "Tail",
        "ClientContext": "e30=",
        "Qualifier": "$LATEST",
    },
    "ListFunctions": {"Marker": "a", "MaxItems": 5, "FunctionVersion": "ALL", "MasterRegion": "ALL"},
    "GetFunctionEventInvokeConfig": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "GetFunctionUrlConfig": {"FunctionName": "orders", "Qualifier": "$LATEST"},
    "GetProvisionedConcurrencyConfig": {"FunctionName": "orders", "Qualifier": "1"},
    "ListAliases": {"FunctionName": "orders", "FunctionVersion": "1", "Marker": "a", "MaxItems": 5},
    "ListCodeSigningConfigs": {"Marker": "a", "MaxItems": 5},
    "ListFunctionEventInvokeConfigs": {"FunctionName": "orders", "Marker": "a", "MaxItems": 5},
    "ListFunctionUrlConfigs": {"FunctionName": "orders", "Marker": "a", "MaxItems": 5},
    "ListLayerVersions": {"LayerName": "tools", "CompatibleRuntime": PYTHON, "Marker": "a", "MaxItems": 5},
    "ListLayers": {"CompatibleRuntime": PYTHON, "Marker": "a", "MaxItems": 5},
    "ListProvisionedConcurrencyConfigs": {"FunctionName": "orders", "Marker": "a", "MaxItems": 5},
    "ListTags": {"Resource": FUNCTION_ARN},
    "ListVersionsByFunction": {"FunctionName": "orders", "Marker": "a", "MaxItems": 5},
    "PutFunctionConcurrency": {"FunctionName": "orders", "ReservedConcurrentExecutions": 5},
    "RemovePermission": {"FunctionName": "orders", "StatementId": "a", "Qualifier": "$LATEST", "RevisionId": "a"},
    "TagResource": {"Resource": FUNCTION_ARN, "Tags": {"a": "b"}},
    "UntagResource": {"Resource": FUNCTION_ARN, "TagKeys": ["a", "b"]},
    "UpdateFunctionCode": {
        "FunctionName": "orders",
        "ZipFile": ZIP,
        "DryRun": True,
        "Architectures": ["arm64"],
        "RevisionId": "a",
    },
    "UpdateFunctionConfiguration": {"FunctionName": "orders", "Role": ROLE, "RevisionId": "a"} | CONFIGURATION,
    "CreateEventSourceMapping": {"EventSourceArn": "STREAM", "StartingPosition": "LATEST", "Tags": {"a": "b"}}
    | MAPPING,
    "DeleteEventSourceMapping": {"UUID": "00000000-0000-4000-8000-000000000000"},
    "GetEventSourceMapping": {"UUID": "MAPPING"},
    "ListEventSourceMappings": {"EventSourceArn": "STREAM", "FunctionName": "orders", "Marker": "a", "MaxItems": 5},
    "UpdateEventSourceMapping": {"UUID": "MAPPING"} | MAPPING,
}
"""Operation → members of a request that it takes; RevisionId apart.
STREAM and MAPPING stand for those of the server."""
PAYLOADS = [
    b"",
    b"{}",
    b'"a"',
    b"[1]",
    b"{",
    b"\xff",
    b"null",
    b"[" * 2000 + b"]" * 2000,
    b'{"a":1,"a":2}',
    b"1e999",
    b"\xef\xbb\xbf{}",
]
ODD_TEXTS = [
    "", "a", " ", "\u00e9", "\u0000", "x" * 300, "$LATEST", "orders:$LATEST", FUNCTION_ARN, FUNCTION_ARN + ":1",
    "arn:aws:lambda", ":", "::::::", "../..",
    "/", "%2F", "?", "#", "-1", "0", "1.5", "99999999999999999999", "null", "true", "Event", "DryRun", "e30=", "{}",
    "a,b",
]  # fmt: skip


class Spoiled(NamedTuple):
    """A request, taken apart."""

    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class FuzzClient:
    """A keep-alive connection with a server, which is opened again when it has been closed."""

    def __init__(self, server: ThreadServer) -> None:
        self.netloc = urlsplit(server.endpoint).netloc
        self.connection = http.client.HTTPConnection(self.netloc, timeout=120)
        self.texts = {"STREAM": "", "MAPPING": ""}

    def __call__(self, method: str, request: Spoiled, service: str = "lambda") -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the reply."""
        headers = {"Host": self.netloc, **request.headers}
        signed = sign(headers, request.body, seconds=time.time(), service=service, method=method, path=request.path)
        url = f"{request.path}?{request.query}" if request.query else request.path
        self.connection.request(method, url, request.body, signed)
        reply = self.connection.getresponse()
        return reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read()

    def dynamodb(self, operation: str, body: dict[str, Any]) -> Any:
        """The reply to a request of DynamoDB's API."""
        headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        status, _, reply = self("POST", Spoiled("/", "", headers, json.dumps(body).encode()), "dynamodb")
        assert status == 200, reply
        return json.loads(reply)

    def members(self, name: str) -> dict[str, Any]:
        """The members of a request."""
        encoded = json.dumps(MEMBERS[name])
        for text, stands_for in self.texts.items():
            encoded = encoded.replace(f'"{text}"', json.dumps(stands_for))
        members: dict[str, Any] = json.loads(encoded)
        return members


@pytest.fixture(scope="module")
def send(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzClient]:
    """A client of a server with a function and a mapping."""
    folder = tmp_path_factory.mktemp("triggers")
    triggers = folder / "triggers.toml"
    triggers.write_text(f"[destinations]\n'arn:aws:s3:::bucket' = {{ folder = '{folder / 'failed'}' }}\n")
    settings = Settings(port=0, data_dir=None, functions=True, triggers=str(triggers))
    server = ThreadServer(make_store, ALL_OPERATIONS, settings=settings)
    client = FuzzClient(server)
    try:
        prepare(client)
        yield client
    finally:
        client.connection.close()
        server.stop()


def prepare(client: FuzzClient) -> None:
    """Create a table with a stream, a function and a mapping."""
    table = NEW_TABLE | {"StreamSpecification": STREAM}
    client.texts["STREAM"] = client.dynamodb("CreateTable", table)["TableDescription"]["LatestStreamArn"]
    for name in ("CreateFunction", "CreateEventSourceMapping"):
        status, _, reply = client(OPERATIONS[name].wire.method, as_request(OPERATIONS[name], client.members(name)))
        assert status in (201, 202), reply
    client.texts["MAPPING"] = json.loads(reply)["UUID"]


def as_request(operation: Operation[RestWire], members: dict[str, Any], payload: bytes | None = None) -> Spoiled:
    """The HTTP request with these members."""
    members = dict(members)
    path, _, own_query = operation.wire.path.partition("?")
    for part in [one[1:-1] for one in path.split("/") if one.startswith("{")]:
        path = path.replace(f"{{{part}}}", quote(str(members.pop(part, "")), safe=""))
    query = [(name, members.pop(member)) for name, member in operation.wire.query.items() if member in members]
    headers = {name: str(members.pop(member)) for name, member in operation.wire.headers.items() if member in members}
    body = payload if payload is not None else json.dumps(members).encode() if members else b""
    return Spoiled(path, "&".join(filter(None, (own_query, urlencode(query, doseq=True)))), headers, body)


def spoil(operation: Operation[RestWire], members: dict[str, Any], generator: random.Random) -> Spoiled:
    """A request with changes in its body or in what else holds members."""
    located = {part[1:-1] for part in operation.wire.path.split("/") if part.startswith("{")}
    located |= set(operation.wire.query.values()) | set(operation.wire.headers.values())
    members = copy.deepcopy(members)
    if generator.random() < 0.8:
        members.pop("RevisionId", None)
    if operation.wire.raw_body is not None or generator.random() < 0.3:
        for name in located:
            if generator.random() < 0.3:
                members[name] = generator.choice(ODD_TEXTS)
    payload = generator.choice(PAYLOADS) if operation.wire.raw_body is not None else None
    request = as_request(operation, members, payload)
    headers = {
        name: value.encode("ascii", "ignore").decode().replace("\0", "").strip()
        for name, value in request.headers.items()
    }
    request = request._replace(headers=headers)
    if payload is None and generator.random() < 0.8:
        in_body = {name: value for name, value in members.items() if name not in located}
        request = request._replace(body=spoiled(in_body, generator))
    if generator.random() < 0.1:
        extra = generator.choice(
            ("&", "=", "a", "tagKeys=%FF", "MaxItems=%2D1", "Marker=" + "x" * 2000, "Qualifier=1&Qualifier=2")
        )
        request = request._replace(query=f"{request.query}&{extra}")
    return request


def check(reply: tuple[int, dict[str, str], bytes], told: object) -> None:
    """Fail for a reply that is neither a success nor an error in Lambda's form."""
    status, headers, body = reply
    assert status in KNOWN_STATUS, (status, body, told)
    if status < 400:
        assert status != 204 or body == b"", told
        return
    assert headers["content-type"] == "application/json", (reply, told)
    assert headers["x-amzn-errortype"].endswith("Exception"), (reply, told)
    answer = json.loads(body)
    assert isinstance(answer.get("message", answer.get("Message")), str), (reply, told)


def test_every_operation_is_fuzzed() -> None:
    assert MEMBERS.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_the_request_that_is_spoiled_is_taken(send: FuzzClient, name: str) -> None:
    members = send.members(name)
    members.pop("RevisionId", None)
    status, _, reply = send(OPERATIONS[name].wire.method, as_request(OPERATIONS[name], members))
    refused = json.loads(reply) if status >= 400 else {}
    assert status < 400 or status in (404, 409), refused


@pytest.mark.skipif(sys.platform == "win32", reason="starts many processes")
@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_a_spoiled_request_is_answered(send: FuzzClient, name: str, caplog: pytest.LogCaptureFixture) -> None:
    operation = OPERATIONS[name]
    generator = random.Random(SEED * 2**32 + zlib.crc32(name.encode()))
    statuses = set()
    with caplog.at_level(logging.ERROR):
        for _ in range(REQUESTS):
            request = spoil(operation, send.members(name), generator)
            reply = send(operation.wire.method, request)
            check(reply, request)
            statuses.add(reply[0])
    assert not caplog.records
    assert "TableNames" in send.dynamodb("ListTables", {})
    assert name == "GetAccountSettings" or any(status >= 400 for status in statuses), "no request was spoiled"
