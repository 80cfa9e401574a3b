"""dynamodb-admin lists, reads and edits tables through our server: its own routes on one side, boto3 on the other."""

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import boto3
import pytest

from tests.clients.programs import node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

FOLDER = HERE / "dynamodb_admin"

pytestmark = pytest.mark.packaging


class Reply(NamedTuple):
    """Reply of a route."""

    status: int
    text: str

    def json(self) -> Any:
        """The decoded body of a route that returns JSON."""
        assert self.status == 200, self.text
        return json.loads(self.text)


class Admin:
    """The running tool, and a boto3 client of the same server."""

    def __init__(self, endpoint: str) -> None:
        program = "node_modules/dynamodb-admin/dist/dynamodb-admin.js"
        options = ["--host", "127.0.0.1", "--port", "0", "--dynamo-endpoint", endpoint]
        self.process = subprocess.Popen(
            [node(FOLDER), "--no-warnings", program, *options],
            cwd=FOLDER,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        said = ""
        while "listening on " not in said:
            line = self.process.stdout.readline()
            assert line, said
            said += line
        self.url = said.partition("listening on ")[2].split()[0]
        # The tool's own default; tables belong to a Region.
        self.client = boto3.client(
            "dynamodb",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def __call__(self, method: str, path: str, body: Any = None) -> Reply:
        """Send a request to a route of the tool."""
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, sent, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return Reply(reply.status, reply.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read().decode())

    def end(self) -> None:
        """End the tool; its changes stay on the server."""
        self.client.close()
        self.process.terminate()
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def admin() -> Iterator[Admin]:
    """The tool, connected to a server in memory."""
    server = ServerProcess()
    try:
        running = Admin(server.endpoint)
        yield running
        running.end()
    finally:
        server.stop()


@pytest.fixture
def albums(admin: Admin) -> Iterator[str]:
    """A table of 30 albums."""
    admin.client.create_table(
        TableName="Albums",
        KeySchema=[
            {"AttributeName": "artist", "KeyType": "HASH"},
            {"AttributeName": "year", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "artist", "AttributeType": "S"},
            {"AttributeName": "year", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    for year in range(1970, 2000):
        item = key(year) | {"title": {"S": f"Number {year - 1969}"}, "songs": {"L": [{"S": "First"}]}}
        admin.client.put_item(TableName="Albums", Item=item)
    yield "Albums"
    if "Albums" in admin.client.list_tables()["TableNames"]:
        admin.client.delete_table(TableName="Albums")


def key(year: int) -> dict[str, Any]:
    return {"artist": {"S": "The Loops"}, "year": {"N": str(year)}}


def stored(admin: Admin, year: int) -> Any:
    return admin.client.get_item(TableName="Albums", Key=key(year), ConsistentRead=True).get("Item")


def test_tables_are_listed(admin: Admin, albums: str) -> None:
    page = admin("GET", "/")
    assert page.status == 200
    assert albums in page.text
    (table,) = admin("GET", "/api/tables").json()
    assert (table["TableName"], table["TableStatus"]) == (albums, "ACTIVE")


@pytest.mark.parametrize("page", ["", "/get", "/meta", "/add-item", "/ttl"])
def test_the_pages_of_a_table_open(admin: Admin, albums: str, page: str) -> None:
    reply = admin("GET", f"/tables/{albums}{page}")
    assert reply.status == 200, reply.text
    assert albums in reply.text


def test_items_are_paged(admin: Admin, albums: str) -> None:
    found = []
    path = f"/tables/{albums}/items?pageSize=13"
    reply = admin("GET", path).json()
    found += [item["year"] for item in reply["Items"]]
    while reply["nextKey"] is not None:
        reply = admin("GET", f"{path}&startKey={reply['nextKey']}").json()
        found += [item["year"] for item in reply["Items"]]
    assert found == list(range(1970, 2000))


@pytest.mark.parametrize("operation", ["query", "scan"])
def test_items_are_searched(admin: Admin, albums: str, operation: str) -> None:
    filters = {
        "artist": {"type": "S", "operator": "=", "value": "The Loops"},
        "year": {"type": "N", "operator": ">=", "value": "1990"},
        "title": {"type": "S", "operator": "begins_with", "value": "Number 3"},
    }
    path = f"/tables/{albums}/items?operationType={operation}&filters={quote(json.dumps(filters))}"
    assert [item["year"] for item in admin("GET", path).json()["Items"]] == [1999]


def test_an_item_is_read_and_edited(admin: Admin, albums: str) -> None:
    path = f"/tables/{albums}/items/The%20Loops,1984"
    page = admin("GET", path)
    assert page.status == 200
    assert "Number 15" in page.text
    edited = {
        "artist": "The Loops",
        "year": 1984,
        "title": "Renamed",
        "songs": ["First", {"title": "Ünï", "long": 7.25}],
    }
    assert admin("PUT", path, edited).json() == edited
    song = {"M": {"title": {"S": "Ünï"}, "long": {"N": "7.25"}}}
    assert stored(admin, 1984) == key(1984) | {"title": {"S": "Renamed"}, "songs": {"L": [{"S": "First"}, song]}}


def test_an_item_is_added_and_deleted(admin: Admin, albums: str) -> None:
    added = {"artist": "The Loops", "year": 2001, "is_live": True, "label": None}
    assert admin("PUT", f"/tables/{albums}/add-item", added).json() == {"artist": "The Loops", "year": 2001}
    assert stored(admin, 2001) == key(2001) | {"is_live": {"BOOL": True}, "label": {"NULL": True}}
    assert admin("DELETE", f"/tables/{albums}/items/The%20Loops,2001").status == 204
    assert stored(admin, 2001) is None
    assert admin("GET", f"/tables/{albums}/items/The%20Loops,2001").status == 404


def test_a_refusal_is_shown_in_the_service_s_words(admin: Admin, albums: str) -> None:
    reply = admin("PUT", f"/tables/{albums}/add-item", {"artist": "", "year": 2001})
    assert reply.status == 500
    words = "The AttributeValue for a key attribute cannot contain an empty string value. Key: artist"
    assert words in reply.text


def test_a_table_is_made_and_deleted(admin: Admin) -> None:
    definition = {
        "TableName": "Made",
        "HashAttributeName": "id",
        "HashAttributeType": "N",
        "RangeAttributeName": "at",
        "RangeAttributeType": "S",
        "ReadCapacityUnits": 3,
        "WriteCapacityUnits": 2,
    }
    index = {
        "IndexName": "by-name",
        "IndexType": "global",
        "HashAttributeName": "name",
        "HashAttributeType": "S",
        "ReadCapacityUnits": 1,
        "WriteCapacityUnits": 1,
    }
    made = admin("POST", "/create-table", {"TableDefinition": definition, "SecondaryIndexes": [index]})
    assert made.status == 204, made.text
    table = admin.client.describe_table(TableName="Made")["Table"]
    assert [part["AttributeName"] for part in table["KeySchema"]] == ["id", "at"]
    assert table["ProvisionedThroughput"]["ReadCapacityUnits"] == 3
    assert table["GlobalSecondaryIndexes"][0]["IndexName"] == "by-name"
    assert admin("DELETE", "/tables/Made").status == 204
    assert "Made" not in admin.client.list_tables()["TableNames"]


def test_a_table_is_emptied(admin: Admin, albums: str) -> None:
    reply = admin("DELETE", f"/tables/{albums}/all")
    assert reply.status == 200, reply.text
    assert admin.client.scan(TableName=albums)["Count"] == 0
