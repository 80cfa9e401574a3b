"""`hashrange mcp`, as clients of the Model Context Protocol use it over standard input and output."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import FAILED, UNREAD, WRONG_USE
from hashrange.messages.installing import how_to_install
from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import Database

READING = {
    "list_tables",
    "describe_table",
    "get_item",
    "query",
    "scan",
    "search_vectors",
    "run_partiql",
    "advise_schema",
}
WRITING = {"create_table", "put_item", "update_item", "delete_item", "delete_table"}
USERS = {
    "TableName": "Users",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}, {"AttributeName": "moment", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "moment", "AttributeType": "N"},
        {"AttributeName": "city", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-city",
            "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ENVIRONMENT = {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with server(Settings(data_dir=None, port=0)) as database:
        client = database.client()
        client.create_table(**USERS)
        for number in range(40):
            item = {
                "id": {"S": "u"},
                "moment": {"N": str(number)},
                "city": {"S": f"c{number % 2}"},
                "text": {"S": "x" * 5_000},
            }
            client.put_item(TableName="Users", Item=item)
        yield database


class Tools:
    """A client of `hashrange mcp …` that is used from outside of its event loop."""

    def __init__(self, portal: Any, client: Any) -> None:
        self._portal, self._client = portal, client

    def names(self) -> set[str]:
        """The tools that there are."""
        return {tool.name for tool in self._portal.call(self._client.list_tools).tools}

    def call(self, name: str, members: dict[str, Any]) -> Any:
        """What a call hears: the reply, or the text of an error."""
        return _heard(self._portal.call(self._client.call_tool, name, members))

    def call_all(self, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        """What each call hears."""
        return [self.call(name, members) for name, members in calls]


@contextmanager
def tools_of(endpoint: str, *words: str) -> Iterator[Tools]:
    """Start `hashrange mcp`, and end it with the block."""
    from anyio.from_thread import start_blocking_portal  # imported here: that takes each test process half a second
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters

    command = ["-m", "hashrange", "mcp", "--endpoint", endpoint, *words]
    client = Client(StdioServerParameters(command=sys.executable, args=command, env=ENVIRONMENT))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as entered:
        yield Tools(portal, entered)


@pytest.fixture(scope="module")
def reading(database: Database) -> Iterator[Tools]:
    with tools_of(database.endpoint) as tools:
        yield tools


@pytest.fixture(scope="module")
def writing(database: Database) -> Iterator[Tools]:
    with tools_of(database.endpoint, "--allow-writes") as tools:
        yield tools


def _heard(result: Any) -> Any:
    return str(result.content[0].text) if result.is_error else result.structured_content


def test_tools_read(reading: Tools) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("list_tables", {}),
        ("describe_table", {"table": "Users"}),
        ("get_item", {"table": "Users", "key": {"id": "u", "moment": 3}}),
        ("get_item", {"table": "Users", "key": {"id": "nobody", "moment": 3}}),
        ("run_partiql", {"statement": "SELECT id FROM Users WHERE id = ? AND moment = ?", "parameters": ["u", 5]}),
        ("advise_schema", {"table": "Users"}),
    ]
    tables, described, item, none, selected, advised = reading.call_all(calls)
    assert reading.names() == READING
    assert tables["tables"] == ["Users"]
    assert (described["TableName"], described["TimeToLiveDescription"]) == ("Users", {"TimeToLiveStatus": "DISABLED"})
    assert (item["item"]["moment"], item["item"]["city"], none) == (3, "c1", {"item": None})
    assert selected == {"items": [{"id": "u"}]}
    assert {one["subject"] for one in advised["advice"]} >= {"partition key", "index by-city"}


def test_tools_create_and_search_vector_indexes(writing: Tools) -> None:
    index = {
        "IndexName": "by-meaning",
        "VectorAttribute": {"AttributeName": "meaning"},
        "SearchSchema": [{"AttributeName": "kind", "SearchSchemaElementType": "INLINE_FILTER"}],
        "Dimensions": 2,
        "DistanceFunction": "EUCLIDEAN",
        "Projection": {"ProjectionType": "ALL"},
    }
    definition = {
        "TableName": "Notes",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "kind")],
        "BillingMode": "PAY_PER_REQUEST",
        "VectorIndexes": [index],
    }
    near, far, other = [
        {"id": name, "kind": kind, "meaning": meaning, "text": "x" * 60_000}
        for name, kind, meaning in (("near", "note", [1, 0.5]), ("far", "note", [3, 0.5]), ("other", "task", [1, 1]))
    ]
    calls = [("put_item", {"table": "Notes", "item": item}) for item in (near, far, other)]
    writing.call_all([("create_table", {"definition": definition}), *calls])
    try:
        place = {"table": "Notes", "index": "by-meaning", "vector": [1, 0.5]}
        condition = {"condition": "#k = :k", "names": {"#k": "kind"}, "values": {":k": "note"}}
        described, found, shown, wrong = writing.call_all(
            [
                ("describe_table", {"table": "Notes"}),
                ("search_vectors", place),
                ("search_vectors", place | condition | {"projection": "id", "limit": 5}),
                ("search_vectors", place | {"vector": [1]}),
            ]
        )
        assert described["VectorIndexes"][0]["ItemCount"] == 3
        assert [(one["item"]["id"], one["score"]) for one in found["items"]] == [("near", 0.0)]
        assert found["found_items"] == 3
        assert found["read_bytes"] > 180_000
        assert shown["items"] == [{"item": {"id": "near"}, "score": 0.0}, {"item": {"id": "far"}, "score": 2.0}]
        assert "Input search vector dimension 1 does not match vector index dimension 2" in wrong
    finally:
        writing.call("delete_table", {"table": "Notes"})


def test_pages_are_short_and_go_on_where_they_ended(reading: Tools) -> None:
    reads: list[tuple[str, dict[str, Any], range]] = [
        ("query", {"key_condition": "id = :id", "values": {":id": "u"}}, range(40)),
        ("query", {"key_condition": "city = :c", "values": {":c": "c1"}, "index": "by-city"}, range(1, 40, 2)),
        ("scan", {"limit": 100}, range(40)),
        ("scan", {"limit": 7}, range(40)),
        ("scan", {"index": "by-city"}, range(40)),
    ]

    def pages_of(tool: str, members: dict[str, Any]) -> list[list[Any]]:
        pages: list[list[Any]] = []
        after = None
        while not pages or after is not None:
            page = reading.call(tool, {"table": "Users", **members} | ({} if after is None else {"start_after": after}))
            assert len(json.dumps(page)) < 120_000
            pages.append([item["moment"] for item in page["items"]])
            after = page.get("start_after")
            assert page["there_may_be_more"] == (after is not None)
        return pages

    for tool, members, expected in reads:
        pages = pages_of(tool, members)
        assert sorted(at for page in pages for at in page) == list(expected), (tool, members)
        assert len(pages) > 1, (tool, members)


def test_long_pages_of_statements_are_asked_for_again_and_go_on(reading: Tools) -> None:
    told: dict[str, Any] = {"statement": "SELECT * FROM Users", "limit": 100}
    seen: list[int] = []
    token = None
    while not seen or token is not None:
        page = reading.call("run_partiql", told if token is None else told | {"next_token": token})
        assert len(json.dumps(page)) < 120_000
        seen += [item["moment"] for item in page["items"]]
        token = page.get("next_token")
    assert sorted(seen) == list(range(40))


def test_a_hot_key_is_found(database: Database, reading: Tools) -> None:
    client = database.client()
    client.create_table(**USERS | {"TableName": "Hot"})
    client.update_contributor_insights(TableName="Hot", ContributorInsightsAction="ENABLE")
    for number in range(120):
        name = "busy" if number % 3 else f"u{number}"
        client.put_item(TableName="Hot", Item={"id": {"S": name}, "moment": {"N": str(number)}})
    advised = reading.call("advise_schema", {"table": "Hot"})
    client.delete_table(TableName="Hot")
    (hot,) = [one for one in advised["advice"] if one["subject"] == "hot key"]
    assert "240 of 360 units of less than a minute are those of busy" in hot["evidence"]


def test_nothing_is_written_unless_allowed(database: Database, reading: Tools) -> None:
    statements = [
        "DELETE FROM Users WHERE id = 'u' AND moment = 1",
        "delete from Users where id = 'u' and moment = 1",
        "  \n INSERT INTO Users VALUE {'id': 'SELECT', 'moment': 1}",
        "UPDATE Users SET x = 'SELECT * FROM Users' WHERE id = 'u' AND moment = 1",
        "EXISTS(SELECT * FROM Users WHERE id = 'u' AND moment = 1)",
        "SELECT * FROM Users; DELETE FROM Users WHERE id = 'u' AND moment = 1",
        "SELECT",
        "",
    ]
    calls: list[tuple[str, dict[str, Any]]] = [("run_partiql", {"statement": one}) for one in statements]
    calls += [(name, {"table": "Users", "key": {"id": "u", "moment": 1}}) for name in ("delete_item", "delete_table")]
    told = reading.call_all(calls)
    assert all(isinstance(one, str) for one in told), told
    assert all("only reads" in one for one in told[:5])
    assert database.client().scan(TableName="Users", Select="COUNT")["Count"] == 40


def test_tools_write_if_allowed(writing: Tools) -> None:
    key = {"id": "new", "moment": 1}
    update = {"table": "Users", "key": key, "update": "SET visits = visits + :one", "values": {":one": 1}}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("put_item", {"table": "Users", "item": key | {"visits": 1, "tags": {"$set": ["a"]}}}),
        ("update_item", update),
        ("update_item", update | {"condition": "visits > :one"}),
        ("update_item", update | {"condition": "visits < :one"}),
        ("run_partiql", {"statement": "UPDATE Users SET visits = 9 WHERE id = 'new' AND moment = 1"}),
        ("delete_item", {"table": "Users", "key": key}),
        ("create_table", {"definition": USERS | {"TableName": "Others"}}),
        ("delete_table", {"table": "Others"}),
        ("create_table", {"definition": {"TableName": "x"}}),
        ("put_item", {"table": "Users", "item": {"id": {"$set": []}}}),
    ]
    told = writing.call_all(calls)
    assert writing.names() == READING | WRITING
    assert told[0] == {"done": True, "item_before": None}
    assert told[2]["item"] == key | {"visits": 3, "tags": {"$set": ["a"]}}
    assert "ConditionalCheckFailedException" in told[3]
    assert told[5]["item_before"]["visits"] == 9
    assert (told[6]["TableName"], told[7]["TableStatus"]) == ("Others", "DELETING")
    assert "ValidationException" in told[8]
    assert "$set" in told[9]


def test_arguments_that_no_tool_has_are_refused(database: Database, writing: Tools) -> None:
    item = {"id": "misspelled", "moment": 1}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("put_item", {"table": "Users", "item": item, "condition_expression": "attribute_not_exists(id)"}),
        ("scan", {"table": "Users", "filter": "moment > :m", "values": {":m": 1}}),
    ]
    told = writing.call_all(calls)
    assert "condition_expression" in told[0]
    assert "filter" in told[1]
    assert database.client().scan(TableName="Users", Select="COUNT")["Count"] == 40


def test_members_of_a_definition_are_sent_whatever_their_names(database: Database, writing: Tools) -> None:
    names = ["operation", "service", "self"]
    definitions = [USERS | {"TableName": f"With-{name}", name: "streams"} for name in names]
    calls = [("create_table", {"definition": definition}) for definition in definitions]
    made = writing.call_all(calls)
    assert [one["TableName"] for one in made] == [f"With-{name}" for name in names]
    for one in made:
        database.client().delete_table(TableName=one["TableName"])


def test_errors_are_told_in_the_words_of_the_database(reading: Tools) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("describe_table", {"table": "Missing"}),
        ("query", {"table": "Users", "key_condition": "nonsense", "values": None}),
        ("scan", {"table": "Users", "limit": 1_000}),
        ("get_item", {"table": "Users"}),
    ]
    told = reading.call_all(calls)
    assert "ResourceNotFoundException" in told[0]
    assert "The tool list_tables lists all tables." in told[0]
    assert "Invalid KeyConditionExpression" in told[1]
    assert told[2] == "scan: limit is 1000; it must be a number of at most 100."
    assert told[3] == "get_item needs the argument key."


def test_misspelt_names_are_told_with_those_that_were_meant(reading: Tools) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("describe_table", {"table": "Userz"}),
        ("get_item", {"tabel": "Users", "table": "Users", "key": {"id": "1"}}),
        ("get_item", {"table": "Users", "key": 5}),
        ("scan", {"table": "Users", "names": {"#n": 5}}),
    ]
    told = reading.call_all(calls)
    assert "Did you mean Users?" in told[0]
    assert told[1:] == [
        "get_item has no argument tabel. Did you mean table?",
        "get_item: key is 5; it must be an object.",
        "scan: #n of names is 5; it must be text.",
    ]


def test_a_server_that_is_not_there() -> None:
    with tools_of("http://127.0.0.1:1") as tools:
        assert "no server answers at http://127.0.0.1:1" in tools.call("list_tables", {})


def test_lines_that_are_no_messages(database: Database) -> None:
    command = [sys.executable, "-m", "hashrange", "mcp", "--endpoint", database.endpoint]
    environment = {**os.environ, **ENVIRONMENT}
    text = "nonsense\n{}\n[]\n" + "{" * 100_000 + "\n"
    told = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0
    assert "Traceback" not in told.stdout


@pytest.mark.skipif(os.name == "nt", reason="there, a signal cannot be sent to one process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_its_client_is_there(database: Database, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "hashrange", "mcp", "--endpoint", database.endpoint]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, text=True, **pipes) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
        running.stdin.flush()
        assert running.stdout.readline()
        running.send_signal(number)
        try:
            assert running.wait(timeout=30) == -number
        finally:
            running.kill()
        assert "Traceback" not in running.stderr.read()


def test_a_client_that_is_gone_leaves_no_trace() -> None:
    """The reply to its last message finds a closed pipe."""
    command = [sys.executable, "-m", "hashrange", "mcp", "--endpoint", "http://127.0.0.1:1"]
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, text=True, **pipes) as running:
        assert running.stdout is not None
        running.stdout.close()
        _, told = running.communicate(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n")
    assert running.returncode == UNREAD
    assert told == ""


def test_the_extra_may_be_missing() -> None:
    program = "import sys; sys.modules['mcp'] = None; from hashrange.cli.main import main; sys.exit(main(['mcp']))"
    environment = {**os.environ, **ENVIRONMENT}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == FAILED
    assert how_to_install("mcp") in told.stderr


def test_another_version_of_the_sdk_is_told(tmp_path: Path) -> None:
    """Other programs need other versions, so that one may be installed without the extra."""
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").write_text("", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])}
    command = [sys.executable, "-m", "hashrange", "mcp"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == FAILED
    assert told.stderr.startswith(
        "hashrange: the Python SDK of the Model Context Protocol that is installed has another version"
    )
    assert how_to_install("mcp") in told.stderr


def test_a_weak_token_of_the_environment_is_refused() -> None:
    environment = {**os.environ, **ENVIRONMENT, "HASHRANGE_MCP_TOKEN": "short"}
    command = [sys.executable, "-m", "hashrange", "mcp", "--http", "0"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == WRONG_USE
    assert "HASHRANGE_MCP_TOKEN must hold a token of at least 16" in told.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--http", "web"], '--http is "web"; it must be a port'),
        (["--token-file", "missing"], "missing cannot be read: No such file or directory. Mend --token-file."),
        (["--token-file", "short"], "short must hold a token of at least 16"),
        (["--endpoint", "nowhere"], '--endpoint is "nowhere"; it must be a URL'),
    ],
)
def test_wrong_use(tmp_path: Path, words: list[str], sentence: str) -> None:
    (tmp_path / "short").write_text("abc", encoding="utf-8")
    command = [sys.executable, "-m", "hashrange", "mcp", *words]
    told = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    assert told.returncode == WRONG_USE
    assert sentence in told.stderr
