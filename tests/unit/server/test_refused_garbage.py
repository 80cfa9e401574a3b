"""A refused request leaves nothing to the garbage collector: an error whose traceback leads back to it would keep the
request's body, and all that was made of it, for as long as a client is connected.
"""

import http.client
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.garbage import garbage_made

pytestmark = pytest.mark.usefixtures("only_new_garbage")

SIGNED = (
    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/{day}/us-east-1/{service}/aws4_request,"
    " SignedHeaders=host, Signature=" + "0" * 64
)
CLOUDWATCH = "GraniteServiceVersion20100801."
DYNAMODB = "DynamoDB_20120810."
DATUM = {"MetricName": "m", "Value": 1.0}
POLICY = {
    "PolicyName": "p",
    "ServiceNamespace": "dynamodb",
    "ResourceId": "table/orders",
    "ScalableDimension": "dynamodb:table:ReadCapacityUnits",
}
DATA = [DATUM, DATUM | {"StorageResolution": 7}]
QUERY = {"Id": "Q", "Expression": "1 +"}
NO_KEY = {"Get": {"TableName": "orders", "Key": {"no": {"S": "x"}}}}
FUNCTION = {"FunctionName": "f", "Role": "arn:aws:iam::000000000000:role/r", "Code": {"ZipFile": "bm8gemlw"}}
TARGETS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "monitoring",
        CLOUDWATCH + "PutMetricData",
        {"Namespace": "n", "MetricData": [DATUM, DATUM | {"StorageResolution": 7}]},
    ),
    ("monitoring", CLOUDWATCH + "GetMetricData", {"StartTime": 0, "EndTime": 60, "MetricDataQueries": [QUERY]}),
    ("application-autoscaling", "AnyScaleFrontendService.DeleteScalingPolicy", POLICY),
    ("dax", "AmazonDAXV3.DeleteCluster", {"ClusterName": "none"}),
    ("dynamodb", DYNAMODB + "TransactGetItems", {"TransactItems": [NO_KEY, NO_KEY]}),
    ("dynamodb", DYNAMODB + "BatchGetItem", {"RequestItems": {"orders": {"Keys": [{"no": {"S": "x"}}]}}}),
    ("dynamodb", DYNAMODB + "PutItem", {"TableName": "orders", "Item": {}}),
    (
        "dynamodb",
        DYNAMODB + "ExecuteTransaction",
        {"TransactStatements": [{"Statement": "SELECT * FROM orders WHERE pk = 1"}]},
    ),
]
PATHS: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/2015-03-31/functions/none/code", {"ZipFile": "bm8gemlw"}),
    ("POST", "/2015-03-31/functions", FUNCTION | {"Runtime": "python3.11", "Handler": "a.b"}),
    ("POST", "/2015-03-31/functions/none/invocations", {}),
    ("POST", "/_hashrange/v1/faults", {"faults": [{"kind": "error", "operation": "None"}]}),
    ("POST", "/_hashrange/v1/tables/none/split", {}),
]


@pytest.fixture(scope="module")
def connection() -> Iterator[http.client.HTTPConnection]:
    with server(Settings(port=0, data_dir=None, admin=True, functions=True)) as database:
        client = database.client("dynamodb")
        client.create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        connection = http.client.HTTPConnection(database.endpoint.removeprefix("http://"))
        yield connection
        connection.close()


def ask(connection: http.client.HTTPConnection, method: str, path: str, service: str, target: str, body: Any) -> int:
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    headers = {"Authorization": SIGNED.format(service=service, day=now[:8]), "X-Amz-Date": now}
    if target:
        headers |= {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    assert b"Signature" not in answer.read()
    return answer.status


def left_by(connection: http.client.HTTPConnection, *asked: Any) -> set[str]:
    """The kinds of our errors that a refused request leaves to the collector."""
    assert 400 <= ask(connection, *asked) < 500  # loads what is loaded late
    with garbage_made() as garbage:
        assert 400 <= ask(connection, *asked) < 500
        errors = [one for one in garbage() if isinstance(one, BaseException)]
        return {type(one).__qualname__ for one in errors if type(one).__module__.startswith("hashrange")}


@pytest.mark.parametrize(("service", "target", "members"), TARGETS, ids=[target for _, target, _ in TARGETS])
def test_a_refused_request(
    connection: http.client.HTTPConnection, service: str, target: str, members: dict[str, Any]
) -> None:
    assert left_by(connection, "POST", "/", service, target, members) == set()


@pytest.mark.parametrize(("method", "path", "members"), PATHS, ids=[path for _, path, _ in PATHS])
def test_a_refused_request_with_a_path(
    connection: http.client.HTTPConnection, method: str, path: str, members: dict[str, Any]
) -> None:
    assert left_by(connection, method, path, "lambda", "", members) == set()
