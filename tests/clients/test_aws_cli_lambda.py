"""The AWS CLI's commands for functions and event source mappings, as people deploy with them."""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.command_line import REFUSED, CommandLine
from tests.clients.serving import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.packaging

ACCOUNT_ARN = "arn:aws:lambda:eu-west-1:000000000000"
FUNCTION_ARN = f"{ACCOUNT_ARN}:function:notes"
ROLE = "arn:aws:iam::000000000000:role/notes"
RUNTIME = f"python3.{sys.version_info.minor}"
FIRST = """
def handler(event, context):
    return {"hello": event["name"]}
"""
SECOND = """
import os

def handler(event, context):
    with open(os.environ["NOTES"], "a") as notes:
        for record in event["Records"]:
            notes.write(record["eventName"] + " " + record["dynamodb"]["Keys"]["Song"]["S"] + "\\n")
"""


class Commands(CommandLine):
    """The command line, with results as tests compare them."""

    def __call__(self, *words: str) -> Any:
        """What a command prints, which must succeed: decoded JSON; None if nothing."""
        output = self.said(*words)
        return json.loads(output) if output.strip() else None

    def refusal(self, *words: str) -> str:
        """The error of a command that must fail, without the words that every error has."""
        status, _, errors = self.run(*words)
        assert status == REFUSED
        return errors.strip().removeprefix("An error occurred ").replace(" when calling the ", " ")


@pytest.fixture(scope="module")
def command_line() -> Iterator[Commands]:
    """The command line, with a server in memory that runs functions."""
    server = ServerProcess(None, "--functions")
    try:
        with Commands(server.endpoint) as commands:
            yield commands
    finally:
        server.stop()


@pytest.fixture
def aws(command_line: Commands) -> Iterator[Commands]:
    """The command line, with a server that has no function, neither before the test nor after it."""
    yield command_line
    command_line.run("lambda", "delete-function", "--function-name", "notes")


def zip_of(text: str, path: Path) -> str:
    """Write a zip with this handler; returns how the command line names its bytes."""
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("app.py", text)
    return f"fileb://{path}"


def create(aws: Commands, folder: Path, text: str, *words: str) -> Any:
    """Create the function `notes`, and wait until it is active."""
    zipped = zip_of(text, folder / "notes.zip")
    made = aws(
        *("lambda", "create-function", "--function-name", "notes", "--runtime", RUNTIME, "--role", ROLE),
        *("--handler", "app.handler", "--zip-file", zipped, *words),
    )
    assert aws("lambda", "wait", "function-active-v2", "--function-name", "notes") is None
    return made


def test_a_function(aws: Commands, tmp_path: Path) -> None:
    made = create(aws, tmp_path, FIRST, "--tags", "team=music", "--timeout", "30")
    assert (made["FunctionArn"], made["State"], made["Timeout"]) == (FUNCTION_ARN, "Pending", 30)
    out = tmp_path / "out.json"
    invoked = aws("lambda", "invoke", "--function-name", "notes", "--payload", '{"name": "Anna"}', str(out))
    assert invoked == {"StatusCode": 200, "ExecutedVersion": "$LATEST"}
    assert json.loads(out.read_text()) == {"hello": "Anna"}

    zipped = zip_of(FIRST.replace("hello", "goodbye"), tmp_path / "second.zip")
    updated = aws("lambda", "update-function-code", "--function-name", "notes", "--zip-file", zipped)
    assert updated["LastUpdateStatus"] == "InProgress"
    assert updated["CodeSha256"] != made["CodeSha256"]
    assert aws("lambda", "wait", "function-updated-v2", "--function-name", "notes") is None
    aws("lambda", "invoke", "--function-name", "notes", "--payload", '{"name": "Anna"}', str(out))
    assert json.loads(out.read_text()) == {"goodbye": "Anna"}

    configured = aws(
        *("lambda", "update-function-configuration", "--function-name", "notes", "--memory-size", "256"),
        *("--environment", "Variables={STAGE=test}"),
    )
    assert configured["Environment"] == {"Variables": {"STAGE": "test"}}
    got = aws("lambda", "get-function", "--function-name", FUNCTION_ARN)
    assert set(got) == {"Configuration", "Code", "Tags"}
    assert got["Tags"] == {"team": "music"}
    assert got["Configuration"]["CodeSha256"] == updated["CodeSha256"]
    assert got["Configuration"]["MemorySize"] == 256
    names = ("--query", "Functions[].FunctionName")
    assert aws("lambda", "list-functions", *names) == ["notes"]
    versions = aws("lambda", "list-versions-by-function", "--function-name", "notes", "--query", "Versions[].Version")
    assert versions == ["$LATEST"]

    assert aws("lambda", "delete-function", "--function-name", "notes") == {"StatusCode": 204}
    assert aws("lambda", "list-functions", *names) == []
    assert aws.refusal("lambda", "get-function", "--function-name", "notes") == (
        f"(ResourceNotFoundException) GetFunction operation: Function not found: {FUNCTION_ARN}"
    )


def test_what_belongs_to_a_function(aws: Commands, tmp_path: Path) -> None:
    create(aws, tmp_path, FIRST)
    named = ("--function-name", "notes")
    no_policy = "(ResourceNotFoundException) GetPolicy operation: The resource you requested does not exist."
    assert aws.refusal("lambda", "get-policy", *named) == no_policy
    added = aws(
        *("lambda", "add-permission", *named, "--statement-id", "bucket", "--action", "lambda:InvokeFunction"),
        *("--principal", "s3.amazonaws.com", "--source-arn", "arn:aws:s3:::songs", "--source-account", "000000000000"),
    )
    statement = {
        "Sid": "bucket",
        "Effect": "Allow",
        "Principal": {"Service": "s3.amazonaws.com"},
        "Action": "lambda:InvokeFunction",
        "Resource": FUNCTION_ARN,
        "Condition": {
            "StringEquals": {"AWS:SourceAccount": "000000000000"},
            "ArnLike": {"AWS:SourceArn": "arn:aws:s3:::songs"},
        },
    }
    assert json.loads(added["Statement"]) == statement
    assert json.loads(aws("lambda", "get-policy", *named)["Policy"]) == {
        "Version": "2012-10-17",
        "Id": "default",
        "Statement": [statement],
    }
    assert aws("lambda", "remove-permission", *named, "--statement-id", "bucket") is None
    assert aws.refusal("lambda", "get-policy", *named) == no_policy

    assert aws("lambda", "tag-resource", "--resource", FUNCTION_ARN, "--tags", "team=music,stage=test") is None
    assert aws("lambda", "untag-resource", "--resource", FUNCTION_ARN, "--tag-keys", "stage", "absent") is None
    assert aws("lambda", "list-tags", "--resource", FUNCTION_ARN) == {"Tags": {"team": "music"}}

    reserved = {"ReservedConcurrentExecutions": 5}
    assert aws("lambda", "put-function-concurrency", *named, "--reserved-concurrent-executions", "5") == reserved
    assert aws("lambda", "get-function-concurrency", *named) == reserved
    assert aws("lambda", "delete-function-concurrency", *named) is None
    assert aws("lambda", "get-function-concurrency", *named) is None


def test_an_event_source_mapping(aws: Commands, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    create(aws, tmp_path, SECOND, "--environment", json.dumps({"Variables": {"NOTES": str(notes)}}))
    stream = aws(
        *("dynamodb", "create-table", "--table-name", "Music", "--billing-mode", "PAY_PER_REQUEST"),
        *("--attribute-definitions", "AttributeName=Song,AttributeType=S"),
        *("--key-schema", "AttributeName=Song,KeyType=HASH"),
        *("--stream-specification", "StreamEnabled=true,StreamViewType=KEYS_ONLY"),
        *("--query", "TableDescription.LatestStreamArn"),
    )
    made = aws(
        *("lambda", "create-event-source-mapping", "--function-name", "notes", "--event-source-arn", stream),
        *("--starting-position", "TRIM_HORIZON", "--batch-size", "10", "--maximum-retry-attempts", "2"),
        *("--filter-criteria", json.dumps({"Filters": [{"Pattern": '{"eventName": ["INSERT", "REMOVE"]}'}]})),
    )
    assert (made["State"], made["BatchSize"]) == ("Creating", 10)
    uuid = ("--uuid", made["UUID"])
    wait_until(lambda: aws("lambda", "get-event-source-mapping", *uuid, "--query", "State") == "Enabled")
    for words in (["put-item", "--item"], ["delete-item", "--key"]):
        aws("dynamodb", *words[:1], "--table-name", "Music", *words[1:], '{"Song": {"S": "One"}}')
    wait_until(lambda: notes.exists() and notes.read_text() == "INSERT One\nREMOVE One\n")

    found = aws("lambda", "list-event-source-mappings", "--function-name", "notes")["EventSourceMappings"]
    assert [one["EventSourceMappingArn"] for one in found] == [f"{ACCOUNT_ARN}:event-source-mapping:{made['UUID']}"]
    assert aws("lambda", "update-event-source-mapping", *uuid, "--no-enabled", "--query", "State") == "Disabling"
    wait_until(lambda: aws("lambda", "get-event-source-mapping", *uuid, "--query", "State") == "Disabled")
    assert aws("lambda", "delete-event-source-mapping", *uuid, "--query", "State") == "Deleting"
    missing = "(ResourceNotFoundException) GetEventSourceMapping operation: The resource you requested does not exist."
    assert aws.refusal("lambda", "get-event-source-mapping", *uuid) == missing
