"""NoSQL Workbench's calls are answered as it needs them: what it asks of a local connection,
through the SDK that it uses.

The tool itself has a window and cannot run here. It is an Electron program on the AWS SDK for JavaScript,
signs for the Region `localhost` (https://github.com/localstack/localstack/pull/6834), and takes credentials
with or without a session token.
"""

from typing import Any

import boto3
import pytest

from tests.clients.conftest import Lend
from tests.clients.programs import heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE
from tests.support.raw_client import RawClient, Reply

FOLDER = HERE / "javascript"
TOKENS = {"with a session token": "FwoGZXIvYXdzEBYaDH+/=token", "without a session token": ""}
"""As the Security Token Service makes them: base64, with characters that must not be changed on their way."""
WORKBENCH_REGION = "localhost"

pytestmark = pytest.mark.packaging


def make_tables(server: ServerProcess, region: str) -> Any:
    """Two tables, one with seven songs."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=server.endpoint,
        region_name=region,
        aws_access_key_id="application",
        aws_secret_access_key="secret",
    )
    for name in ("Empty", "Songs"):
        client.create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": "artist", "KeyType": "HASH"},
                {"AttributeName": "title", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "artist", "AttributeType": "S"},
                {"AttributeName": "title", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
    for number in range(1, 8):
        client.put_item(TableName="Songs", Item={"artist": {"S": "The Loops"}, "title": {"S": f"Song {number}"}})
    return client


@pytest.fixture
def shared(lend: Lend) -> ServerProcess:
    """A server with one set of tables, which is how a tool sees the tables of an application in another Region."""
    return lend("--shared-db")


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_the_calls_of_a_connection(shared: ServerProcess, token: str) -> None:
    client = make_tables(shared, "eu-central-1")
    said = heard([node(FOLDER), "--no-warnings", "workbench.mjs", shared.endpoint, WORKBENCH_REGION, token], FOLDER)
    songs = [f"Song {number}" for number in range(1, 8)]
    assert said["tables"] == ["Empty", "Songs"]
    keys = ["artist", "title"]
    assert said["described"] == [["Empty", "ACTIVE", 0, keys], ["Songs", "ACTIVE", 7, keys]]
    assert said["pages"] == [[3, 0.5], [3, 0.5], [1, 0.5]]
    assert said["queried"] == songs[-1:]
    assert said["selected"] == songs
    assert said["batch"] == [None, "ValidationError"]
    assert [name for name, _ in said["refusals"]] == [
        "ResourceNotFoundException",
        "ValidationException",
        "ValidationException",
    ]
    assert said["refusals"][0][1] == "Requested resource not found: Table: Missing not found"
    title = "with a token" if token else "without a token"
    added = {"artist": {"S": "Added"}, "title": {"S": title}}
    assert client.get_item(TableName="Songs", Key=added, ConsistentRead=True)["Item"] == added


def test_without_a_shared_database_its_region_has_its_own_tables(server: ServerProcess) -> None:
    make_tables(server, "eu-central-1")
    assert workbench(server)("ListTables", {}).json() == {"TableNames": []}
    make_tables(server, WORKBENCH_REGION)
    assert workbench(server)("ListTables", {}).json() == {"TableNames": ["Empty", "Songs"]}


def workbench(server: ServerProcess) -> RawClient:
    """A client that signs as the tool does."""
    return RawClient("127.0.0.1", server.port, region=WORKBENCH_REGION, access_key="application")


ORIGIN = {"Origin": "http://localhost:3000"}
SDK_HEADERS = ("amz-sdk-invocation-id,amz-sdk-request,authorization,content-type,x-amz-date,"
               "x-amz-security-token,x-amz-target,x-amz-user-agent")  # fmt: skip


def test_a_window_of_electron_may_call(server: ServerProcess) -> None:
    """A page of another origin first asks whether it may send its headers, and then whether it may read the reply."""
    make_tables(server, WORKBENCH_REGION)
    client = workbench(server)
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": SDK_HEADERS}
    granted = client(None, b"", ORIGIN | asked, method="OPTIONS", is_signed=False)
    assert granted.status == 200
    assert granted.headers["access-control-allow-headers"] == SDK_HEADERS
    assert "POST" in granted.headers["access-control-allow-methods"]
    for token in TOKENS.values():
        reply = client("Scan", {"TableName": "Songs", "Limit": 2}, ORIGIN | security(token))
        assert is_readable(reply)
        assert reply.json()["Count"] == 2
    refused = client("DescribeTable", {"TableName": "Missing"}, ORIGIN)
    assert refused.status == 400
    assert is_readable(refused)


def security(token: str) -> dict[str, str]:
    return {"X-Amz-Security-Token": token} if token else {}


def is_readable(reply: Reply) -> bool:
    return reply.headers["access-control-allow-origin"] == "*"
