"""Throttling with the retries of SDKs, CloudWatch and Application Auto Scaling, in JavaScript, Java,
Go and on the command line: all hear the same.

JavaScript, Java and Go ask CloudWatch in CBOR, the AWS CLI in JSON; boto3 in JSON and, an older one,
in the Query form: `test_cloudwatch.py`.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.clients.command_line import CommandLine
from tests.clients.conftest import Lend
from tests.clients.programs import go, heard, java, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.clients.test_aws_cli import Service

pytestmark = pytest.mark.packaging

THROTTLED = ["ProvisionedThroughputExceededException", "TableWriteProvisionedThroughputExceeded"]
EXPECTED: dict[str, Any] = {
    "filled": [11, 10],
    "refused": THROTTLED,
    "retried": 200,
    "measured": {
        "point": [10.0, 4.0, "Count"],
        "listed": [["Orders", "Ulm & Neu-Ulm"]],
        "throttled": 1,
        "refused": ["InvalidParameterValueException"],
    },
    "scaled": {"target": ["table/hot", 5, 9], "units": 5, "refused": ["ValidationException"]},
}
"""The burst of 300 units takes ten single items and eleven batches, and fifteen items of the twelfth."""


@pytest.fixture
def enforcing(lend: Lend) -> ServerProcess:
    """A server that throttles, whose clock can be moved."""
    return lend("--throughput", "enforced")


def test_javascript(enforcing: ServerProcess) -> None:
    folder = HERE / "javascript"
    assert heard([node(folder), "--no-warnings", "capacity.mjs", enforcing.endpoint], folder) == EXPECTED


def test_java(enforcing: ServerProcess) -> None:
    folder = HERE / "java"
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    command = [java(folder), "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.Capacity", enforcing.endpoint]
    assert heard(command, folder) == EXPECTED


def test_go(enforcing: ServerProcess) -> None:
    folder = HERE / "go"
    found = heard([go(folder), enforcing.endpoint, "capacity"], folder)
    measured = EXPECTED["measured"] | {
        "throttled": 0,
        "refused": ["InvalidParameterValue"],
    }  # the code of the Query form
    assert found == {"measured": measured, "scaled": EXPECTED["scaled"]}


def test_the_command_line(enforcing: ServerProcess) -> None:
    with CommandLine(enforcing.endpoint) as command_line:
        ask_all(*(Service(command_line, name) for name in ("dynamodb", "cloudwatch", "application-autoscaling")))


def ask_all(dynamodb: Service, cloudwatch: Service, scaling: Service) -> None:
    dynamodb(
        *(
            "create-table",
            "--table-name",
            "hot",
            "--provisioned-throughput",
            "ReadCapacityUnits=1,WriteCapacityUnits=1",
        ),
        *("--attribute-definitions", "AttributeName=pk,AttributeType=S"),
        *("--key-schema", "AttributeName=pk,KeyType=HASH"),
    )
    cloudwatch(
        "put-metric-data",
        "--namespace",
        "shop",
        "--metric-name",
        "Orders",
        "--value",
        "2.5",
        "--dimensions",
        "Shop=Ulm",
    )
    listed = json.loads(cloudwatch("list-metrics", "--namespace", "shop", "--output", "json"))
    assert listed["Metrics"] == [
        {"Namespace": "shop", "MetricName": "Orders", "Dimensions": [{"Name": "Shop", "Value": "Ulm"}]}
    ]
    place = ("--service-namespace", "dynamodb", "--resource-id", "table/hot")
    dimension = ("--scalable-dimension", "dynamodb:table:ReadCapacityUnits")
    scaling("register-scalable-target", *place, *dimension, "--min-capacity", "5", "--max-capacity", "9")
    found = dynamodb(
        "describe-table", "--table-name", "hot", "--query", "Table.ProvisionedThroughput.ReadCapacityUnits"
    )
    assert found.strip() == "5"
    refused = cloudwatch.run("put-metric-data", "--namespace", "AWS/Own", "--metric-name", "a", "--value", "1")
    assert "(InvalidParameterValue)" in refused.stderr
