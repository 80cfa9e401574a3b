"""How is a package's quick start run? As a process of its own, with the server's address in the environment.

A program prints what it saw as one line of JSON; a test compares it with what the package promises.
"""

import json
import os
import subprocess
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3

from tests.clients.serving import ServerProcess

HERE = Path(__file__).parent
REGION = "us-east-1"
CREDENTIALS = ("key", "secret")
TIMEOUT_SECONDS = 100
HOUR_SECONDS = 3_600
DAY_SECONDS = 24 * HOUR_SECONDS


def environment(server: ServerProcess) -> dict[str, str]:
    """The variables that every AWS SDK reads, and none that another test may have set."""
    return {
        **os.environ,
        "AWS_ENDPOINT_URL_DYNAMODB": server.endpoint,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": CREDENTIALS[0],
        "AWS_SECRET_ACCESS_KEY": CREDENTIALS[1],
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


def output(server: ServerProcess, folder: Path, command: list[str], **variables: str) -> str:
    """What a program prints; fails unless it succeeds and reports nothing on standard error."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(server) | variables,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def outcome(server: ServerProcess, folder: Path, command: list[str], **variables: str) -> Any:
    """The JSON that a program prints."""
    return json.loads(output(server, folder, command, **variables))


def connect(server: ServerProcess) -> Any:
    """A boto3 client with the programs' Region and access key, for what a quick start does with other tools."""
    return boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS[0],
        aws_secret_access_key=CREDENTIALS[1],
    )


def create_table(
    server: ServerProcess, table: str, *keys: str, index: tuple[str, tuple[str, str]] | None = None
) -> None:
    """Create the table that a quick start creates with CloudFormation, Terraform or the console;
    all keys are strings.
    """
    name, index_keys = index or ("", ())
    indexes = [{"IndexName": name, "KeySchema": key_schema(index_keys), "Projection": {"ProjectionType": "ALL"}}]
    connect(server).create_table(
        TableName=table,
        KeySchema=key_schema(keys),
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in (*keys, *index_keys)],
        BillingMode="PAY_PER_REQUEST",
        **({"GlobalSecondaryIndexes": indexes} if index else {}),
    )
    connect(server).get_waiter("table_exists").wait(TableName=table, WaiterConfig={"Delay": 1})


def key_schema(keys: tuple[str, ...]) -> list[dict[str, str]]:
    """The KeySchema of a partition key and, if there is one, a sort key."""
    return [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]


def enable_expiry(server: ServerProcess, table: str, attribute: str) -> None:
    """Let the server delete items whose time in `attribute` has come."""
    setting = {"Enabled": True, "AttributeName": attribute}
    connect(server).update_time_to_live(TableName=table, TimeToLiveSpecification=setting)


def expiry(server: ServerProcess, table: str) -> tuple[str, str | None]:
    """Status and attribute of a table's time to live."""
    described = connect(server).describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    return described["TimeToLiveStatus"], described.get("AttributeName")


def reports_of_repeats(server: ServerProcess, table: str, run: Callable[[], Any]) -> tuple[Any, Any, Any]:
    """What a program reports that handles each event once for an hour:
    at first, after the server's restart, and two hours later.
    """
    create_table(server, table, "id")
    enable_expiry(server, table, "expiration")
    first = run()
    server.restart()
    again = run()
    advance(server, 2 * HOUR_SECONDS)
    assert items(server, table) == []
    return first, again, run()


def items(server: ServerProcess, table: str) -> list[dict[str, Any]]:
    """The items of a small table, in DynamoDB's JSON."""
    found: list[dict[str, Any]] = connect(server).scan(TableName=table, ConsistentRead=True)["Items"]
    return found


def advance(server: ServerProcess, seconds: int) -> None:
    """Advance the server's clock; returns once the server has deleted what has expired by then."""
    body = json.dumps({"seconds": seconds}).encode()
    with urllib.request.urlopen(f"{server.endpoint}/_hashrange/v1/clock/advance", body, timeout=60) as reply:
        assert reply.status == 200
