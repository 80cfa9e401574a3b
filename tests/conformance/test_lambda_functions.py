"""Functions through boto3's Lambda client: created, waited for, invoked, changed, fetched and deleted;
their handlers use DynamoDB.
"""

import base64
import io
import json
import os
import sys
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from tests.conformance.lambda_server import function_arn, refusal_of
from tests.conformance.tables import fresh_name
from tests.support.servers import ThreadServer
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.support.stores import STORES
from tests.support.waiting import PATIENCE_SECONDS, wait_until

PYTHON = f"python3.{sys.version_info.minor}"
ROLE = "arn:aws:iam::000000000000:role/handlers"
ECHO = "def handler(event, context):\n    print('seen')\n    return event\n"
PUTS = """
import boto3
table = boto3.client("dynamodb")
def handler(event, context):
    table.put_item(TableName=event["table"], Item={"pk": {"S": event["key"]}, "request": {"S": context.aws_request_id}})
    return context.invoked_function_arn
"""
INVALID = "InvalidParameterValueException"


def make_zip(code: str) -> bytes:
    """A zip with this app.py."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("app.py"), code)
    return buffer.getvalue()


class Server:
    """A running server that runs functions, and clients of it."""

    def __init__(self, store: str) -> None:
        self._server = ThreadServer(
            STORES[store], ALL_OPERATIONS, settings=Settings(port=0, data_dir=None, functions=True)
        )
        self.functions = self.client("lambda")
        self.tables = self.client("dynamodb")

    def client(self, service: str, region: str = REGION) -> Any:
        """A boto3 client without retries, so that each error is seen."""
        return boto3.client(
            service,
            endpoint_url=self._server.endpoint,
            region_name=region,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(retries={"total_max_attempts": 1}, read_timeout=2 * PATIENCE_SECONDS),
        )

    def stop(self) -> None:
        """End the server."""
        self.functions.close()
        self.tables.close()
        self._server.stop()

    def create(self, code: str = ECHO, **members: Any) -> str:
        """The name of a new function, which is Active."""
        name = fresh_name("function")
        request: dict[str, Any] = {
            "FunctionName": name, "Runtime": PYTHON, "Role": ROLE, "Handler": "app.handler",
            "Code": {"ZipFile": make_zip(code)}, "Timeout": 60,
        }  # fmt: skip
        self.functions.create_function(**request | members)
        self.functions.get_waiter("function_active_v2").wait(FunctionName=name)
        return name

    def invoke(self, name: str, event: Any = None, **members: Any) -> Any:
        """The reply to Invoke, with its payload read."""
        reply = self.functions.invoke(FunctionName=name, Payload=json.dumps(event).encode(), **members)
        with reply["Payload"] as stream:
            return {**reply, "Payload": stream.read()}

    def make_table(self) -> str:
        """The name of a new table with the partition key `pk`."""
        name = fresh_name("written")
        self.tables.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        )
        return name

    def items(self, table: str) -> list[Any]:
        """All items of a table."""
        found: list[Any] = self.tables.scan(TableName=table, ConsistentRead=True)["Items"]
        return found


@pytest.fixture(scope="module", params=list(STORES))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patch:
        # The Python of the tests runs the handlers, so that they find boto3.
        patch.setenv("PATH", os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
        made = Server(request.param)
        try:
            yield made
        finally:
            made.stop()


def refused(call: Callable[..., Any], **members: Any) -> tuple[int, str, str]:
    """Status, code and message of a call that is refused."""
    with pytest.raises(ClientError) as caught:
        call(**members)
    return refusal_of(caught.value)


def test_the_life_of_a_function(server: Server) -> None:
    functions = server.functions
    name = server.create(Description="first", Tags={"team": "orders"})
    shown = functions.get_function(FunctionName=name)
    assert shown["Configuration"]["FunctionArn"] == function_arn(name)
    assert shown["Tags"] == {"team": "orders"}
    reply = server.invoke(name, {"a": [1, "é"]}, LogType="Tail")
    assert (reply["StatusCode"], json.loads(reply["Payload"]), reply["ExecutedVersion"]) == (
        200,
        {"a": [1, "é"]},
        "$LATEST",
    )
    assert b"\nseen\n" in base64.b64decode(reply["LogResult"])
    functions.update_function_code(FunctionName=name, ZipFile=make_zip("def handler(event, context):\n    return 2\n"))
    functions.get_waiter("function_updated_v2").wait(FunctionName=name)
    assert server.invoke(name)["Payload"] == b"2"
    functions.update_function_configuration(FunctionName=name, Description="second", MemorySize=256)
    functions.get_waiter("function_updated").wait(FunctionName=name)
    configuration = functions.get_function_configuration(FunctionName=name)
    assert (configuration["Description"], configuration["MemorySize"]) == ("second", 256)
    assert functions.delete_function(FunctionName=name)["ResponseMetadata"]["HTTPStatusCode"] == 204
    assert refused(functions.get_function, FunctionName=name) == (
        404, "ResourceNotFoundException", f"Function not found: {function_arn(name)}",
    )  # fmt: skip


def test_a_handler_writes_to_the_server_that_runs_it(server: Server) -> None:
    table, name = server.make_table(), server.create(PUTS)
    reply = server.invoke(function_arn(name), {"table": table, "key": "a"})
    assert json.loads(reply["Payload"]) == function_arn(name)
    assert [item["pk"] for item in server.items(table)] == [{"S": "a"}]


def test_an_asynchronous_invocation_runs_later(server: Server) -> None:
    table, name = server.make_table(), server.create(PUTS)
    for key in ("a", "b"):
        reply = server.invoke(name, {"table": table, "key": key}, InvocationType="Event")
        assert (reply["StatusCode"], reply["Payload"]) == (202, b"")
    wait_until(lambda: len(server.items(table)) == 2)


def test_a_dry_run(server: Server) -> None:
    reply = server.invoke(server.create(), InvocationType="DryRun")
    assert (reply["StatusCode"], reply["Payload"]) == (204, b"")


def test_an_error_of_a_handler(server: Server) -> None:
    name = server.create("def handler(event, context):\n    raise LookupError('no order')\n")
    reply = server.invoke(name)
    assert (reply["StatusCode"], reply["FunctionError"]) == (200, "Unhandled")
    error = json.loads(reply["Payload"])
    assert (error["errorType"], error["errorMessage"]) == ("LookupError", "no order")


def test_a_handler_that_cannot_be_loaded(server: Server) -> None:
    with pytest.raises(ClientError) as caught:
        server.create("import not_there")
    status, code, message = refusal_of(caught.value)
    assert (status, code) == (400, INVALID)
    assert "Unable to import module 'app': No module named 'not_there'" in message


def test_the_zip_can_be_fetched(server: Server) -> None:
    location = server.functions.get_function(FunctionName=server.create())["Code"]["Location"]
    with urllib.request.urlopen(location) as reply:
        assert reply.read() == make_zip(ECHO)


def test_refusals(server: Server) -> None:
    functions, name = server.functions, server.create()
    create = {
        "FunctionName": name,
        "Runtime": PYTHON,
        "Role": ROLE,
        "Handler": "app.handler",
        "Code": {"ZipFile": make_zip(ECHO)},
    }
    assert refused(functions.create_function, **create) == (
        409, "ResourceConflictException", f"Function already exist: {name}",
    )  # fmt: skip
    assert refused(functions.create_function, **create | {"Role": "handlers"})[1:] == (
        "ValidationException",
        (
            "1 validation error detected: Value 'handlers' at 'role' failed to satisfy constraint: "
            "Member must satisfy regular "
            r"expression pattern: arn:(aws[a-zA-Z-]*)?:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+"
        ),
    )
    assert refused(functions.create_function, **create | {"FunctionName": "others", "Code": {"ZipFile": b"x"}})[1:] == (
        INVALID, "Could not unzip uploaded file. Please check your file, then try to upload again.",
    )  # fmt: skip
    assert refused(functions.update_function_code, FunctionName=name, S3Bucket="bucket", S3Key="key")[1] == INVALID
    assert refused(functions.update_function_configuration, FunctionName=name, Description="d", RevisionId="other")[
        :2
    ] == (412, "PreconditionFailedException")
    assert refused(functions.invoke, FunctionName=name, Payload=b"{")[:2] == (400, "InvalidRequestContentException")
    assert refused(functions.invoke, FunctionName=name + ":live")[0] == 404
    assert refused(server.client("lambda", "eu-west-1").get_function, FunctionName=function_arn(name)) == (
        404, "ResourceNotFoundException", "Functions from 'us-east-1' are not reachable in this region ('eu-west-1')",
    )  # fmt: skip
    other_account = function_arn(name, account="111122223333")
    assert refused(functions.get_function, FunctionName=other_account)[:2] == (403, "AccessDeniedException")


def test_a_stopped_function(server: Server) -> None:
    functions, name = server.functions, server.create()
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    with pytest.raises(functions.exceptions.TooManyRequestsException) as caught:
        server.invoke(name)
    assert caught.value.response["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert functions.get_function_concurrency(FunctionName=name)["ReservedConcurrentExecutions"] == 0
    functions.delete_function_concurrency(FunctionName=name)
    assert server.invoke(name, 1)["Payload"] == b"1"


def test_lists(server: Server) -> None:
    names = {server.create() for _ in range(3)}
    pages = server.functions.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 1})
    assert names <= {one["FunctionName"] for page in pages for one in page["Functions"]}
    name = names.pop()
    (version,) = server.functions.list_versions_by_function(FunctionName=name)["Versions"]
    assert (version["Version"], version["FunctionArn"]) == ("$LATEST", f"{function_arn(name)}:$LATEST")


def test_tags_and_policy(server: Server) -> None:
    functions, name = server.functions, server.create()
    arn = function_arn(name)
    functions.tag_resource(Resource=arn, Tags={"a": "1", "b/c d": "é"})
    functions.untag_resource(Resource=arn, TagKeys=["a", "x"])
    assert functions.list_tags(Resource=arn)["Tags"] == {"b/c d": "é"}
    added = functions.add_permission(
        FunctionName=name, StatementId="s", Action="lambda:InvokeFunction", Principal="events.amazonaws.com"
    )
    statement = json.loads(added["Statement"])
    assert json.loads(functions.get_policy(FunctionName=name)["Policy"])["Statement"] == [statement]
    functions.remove_permission(FunctionName=name, StatementId="s")
    assert refused(functions.get_policy, FunctionName=name)[:2] == (404, "ResourceNotFoundException")
    allowed = {"FunctionName": name, "Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com"}
    functions.add_permission(StatementId="s" * 100, **allowed)
    assert refused(functions.add_permission, StatementId="s" * 101, **allowed)[:2] == (400, "ValidationException")


def test_what_tools_ask_for(server: Server) -> None:
    functions, name = server.functions, server.create()
    assert "CodeSigningConfigArn" not in functions.get_function_code_signing_config(FunctionName=name)
    assert functions.get_function_recursion_config(FunctionName=name)["RecursiveLoop"] == "Allow"
    assert functions.get_runtime_management_config(FunctionName=name)["UpdateRuntimeOn"] == "Auto"
    assert functions.get_account_settings()["AccountUsage"]["FunctionCount"] > 0
