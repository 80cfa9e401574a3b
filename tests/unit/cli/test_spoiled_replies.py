"""What do commands make of replies that are well-formed JSON, but not what they asked for?
They end with one sentence, whichever member is spoiled.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, main
from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.tools import ReadTools, WriteTools
from hashrange.cli.remote import Remote
from hashrange.errors import HashrangeError
from hashrange.settings import Settings
from hashrange.testing import Database, server
from tests.support.dax_client import DaxClient
from tests.unit.cli.doctor_visits import CLIENT, Doctor

Session = dict[str, list[Any]]
"""Operation or path → replies, in the order of the requests."""
Command = Callable[[str], None]
"""Asks a server, given its endpoint; fails if it ends otherwise than a command may."""

SUBSTITUTES: tuple[Any, ...] = (None, -7, 1.5, 10**400, "\u20ac", [], [None], {}, {"": None}, True)
SUBSTITUTES_TRIED = 3
REQUESTS_MAX = 25
"""Afterwards the server refuses, as a command may rightly wait for the rest of a stream."""
GONE = {"__type": "x#ResourceNotFoundException", "message": "gone"}
KEY = {"pk": "a", "sk": 1}
ITEM = {
    "pk": {"S": "a"},
    "sk": {"N": "1"},
    "n": {"N": "-1.5E+100"},
    "b": {"B": "AAE="},
    "t": {"BOOL": True},
    "z": {"NULL": True},
    "l": {"L": [{"SS": ["x", "y"]}, {"NS": ["1"]}, {"BS": ["AA=="]}]},
    "m": {"M": {"inner": {"S": "v"}}},
    "lk": {"S": "l"},
}


def words_of(*words: str) -> Command:
    def run(endpoint: str) -> None:
        assert main([*words, endpoint]) in {DONE, FAILED}

    return run


def tool(name: str, *arguments: Any, **named: Any) -> Command:
    def run(endpoint: str) -> None:
        server = Remote(endpoint, "us-east-1", {})
        asking = AskedServer(server)
        owner = WriteTools(asking) if hasattr(WriteTools, name) else ReadTools(asking, may_write=False)
        try:
            json.dumps(getattr(owner, name)(*arguments, **named), allow_nan=False)
        except HashrangeError as error:
            assert str(error)
        finally:
            server.close()

    return run


def back_up(endpoint: str) -> None:
    assert main(["backup", endpoint, "copies", "--no-check"]) in {DONE, FAILED}


COMMANDS: dict[str, Command] = {
    "tail": words_of("tail", "Users", "--once", "--endpoint"),
    "tail nothing": words_of("tail", "Nothing", "--once", "--endpoint"),
    "snapshot": words_of("snapshot", "written", "--endpoint"),
    "backup": back_up,
    "dax": words_of("dax", "--endpoint"),
    "doctor": words_of("doctor", "--endpoint-url"),
    "list_tables": tool("list_tables"),
    "describe_table": tool("describe_table", "Users"),
    "get_item": tool("get_item", "Users", KEY),
    "query": tool("query", "Users", "pk = :p", {":p": "a"}),
    "scan": tool("scan", "Users", limit=1),
    "long scan": tool("scan", "Long"),
    "run_partiql": tool("run_partiql", 'SELECT * FROM "Users"', limit=1),
    "advise_schema": tool("advise_schema", "Users"),
    "update_item": tool("update_item", "Users", KEY, "SET v = v"),
    "create_table": tool("create_table", {}),
}


def use(database: Database) -> None:
    """Make tables with indexes, a stream, and items of all types, and let a DAX node be used."""
    client = database.client()
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    index = {
        "IndexName": "local", "Projection": {"ProjectionType": "ALL"},
        "KeySchema": [keys[0], {"AttributeName": "lk", "KeyType": "RANGE"}],
    }  # fmt: skip
    for name in ("Users", "Long"):
        client.create_table(
            TableName=name,
            KeySchema=keys,
            AttributeDefinitions=[
                {"AttributeName": n, "AttributeType": t} for n, t in (("pk", "S"), ("sk", "N"), ("lk", "S"))
            ],
            ProvisionedThroughput={"ReadCapacityUnits": 50, "WriteCapacityUnits": 50},
            LocalSecondaryIndexes=[index],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "global",
                    "KeySchema": [{"AttributeName": "lk", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
                }
            ],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )
    client.update_contributor_insights(TableName="Users", ContributorInsightsAction="ENABLE")
    client.put_item(TableName="Users", Item=ITEM)
    client.put_item(TableName="Users", Item=ITEM | {"m": {"M": {"inner": {"S": "w"}}}, "l": {"L": []}})
    client.put_item(TableName="Users", Item=ITEM | {"sk": {"N": "2"}})
    for number in range(2):
        item = {"pk": {"S": "a"}, "sk": {"N": str(number)}, "text": {"S": "x" * 60_000}}
        client.put_item(TableName="Long", Item=item)
    database.client(region_name="eu-west-1").create_table(
        TableName="films",
        KeySchema=[{"AttributeName": "name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with DaxClient(str(database.dax_endpoint)) as dax:
        for _ in range(40):
            dax.call("getItem", b"films", b"hot", None)


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Session]:
    """What a real server replies to each command."""
    found: dict[str, Session] = {}
    sent = Remote._send
    with (
        pytest.MonkeyPatch.context() as patch,
        server(Settings(data_dir=None, port=0, dax_port=0, admin=True)) as database,
    ):
        patch.chdir(tmp_path_factory.mktemp("recorded"))
        use(database)
        for name, command in COMMANDS.items():
            session = found[name] = {}

            def record(
                self: Remote, method: str, path: str, headers: Any, body: bytes, session: Session = session
            ) -> Any:
                status, reply = sent(self, method, path, headers, body)
                place = headers.get("x-amz-target", path).rpartition(".")[2]
                session.setdefault(place, []).append(json.loads(reply) if status == 200 else GONE)
                return status, reply

            patch.setattr(Remote, "_send", record)
            command(database.endpoint)
    found["doctor"] = {"/_hashrange/v1/info": [{"version": "1"}], "ListTables": [{"TableNames": ["Users"]}]}
    snapshot, file = "/_hashrange/v1/snapshots", {"name": "engine/CURRENT", "bytes": 2, "fingerprint": ""}
    found["backup"] = {
        snapshot: [{"snapshot": "1", "service_time": 1.0}],
        f"{snapshot}/1": [{}],
        f"{snapshot}/1/files": [{"store_format": 1, "files": [file]}],
        f"{snapshot}/1/files/engine%2FCURRENT": [{}],
    }
    found["create_table"] = {"CreateTable": [{"TableDescription": {"TableName": "Users"}}]}
    found["update_item"] = {"UpdateItem": [{"Attributes": ITEM}]}
    return found


def places(reply: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of the reply and of all its members; of a list, of the first two."""
    yield path
    members = reply.items() if isinstance(reply, dict) else enumerate(reply[:2]) if isinstance(reply, list) else ()
    for name, member in members:
        yield from places(member, (*path, name))


def spoiled(reply: Any, path: tuple[Any, ...], substitute: Any) -> Any:
    if not path:
        return substitute
    copy = reply.copy()
    copy[path[0]] = spoiled(reply[path[0]], path[1:], substitute)
    return copy


class Replaying:
    """A server that replies what a session holds, in its order; the last reply again and again."""

    def __init__(self) -> None:
        self.left: Session = {}
        self.asked = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                reply = outer.reply((self.headers.get("X-Amz-Target") or self.path).rpartition(".")[2])
                body = json.dumps(reply).encode()
                self.send_response(400 if reply == GONE else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_DELETE = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def reply(self, name: str) -> Any:
        replies = self.left.get(name)
        self.asked += 1
        if not replies or self.asked > REQUESTS_MAX:
            return GONE
        return replies.pop(0) if len(replies) > 1 else replies[0]

    def replay(self, session: Session) -> None:
        self.left = {name: list(replies) for name, replies in session.items()}
        self.asked = 0

    def end(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@contextmanager
def replaying() -> Iterator[Replaying]:
    running = Replaying()
    try:
        yield running
    finally:
        running.end()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_spoiled_reply_ends_a_command_with_a_traceback(
    name: str,
    sessions: dict[str, Session],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    doctor: Doctor,
) -> None:
    for variable, text in CLIENT.items():
        monkeypatch.setenv(variable, text)
    monkeypatch.chdir(doctor.home)
    monkeypatch.setattr("hashrange.cli.tail.pause", lambda: None)
    session, random, failures = sessions[name], Random(name), []
    with replaying() as other:
        for operation, replies in session.items():
            for number, reply in enumerate(replies[:3]):
                for path in places(reply):
                    for substitute in random.sample(SUBSTITUTES, SUBSTITUTES_TRIED):
                        changed = [*replies[:number], spoiled(reply, path, substitute), *replies[number + 1 :]]
                        other.replay(session | {operation: changed})
                        try:
                            COMMANDS[name](other.url)
                        except Exception as error:
                            failures.append((operation, path, substitute, repr(error)))
    assert not failures, f"{len(failures)} failures: {failures[:5]}"
    assert "Traceback" not in capsys.readouterr().err


def test_the_sentence_names_what_is_wrong(sessions: dict[str, Session], capsys: pytest.CaptureFixture[str]) -> None:
    session = sessions["dax"]
    place = "/_hashrange/v1/dax"
    with replaying() as other:
        other.replay({place: [spoiled(session[place][0], ("nodes", 0, "port"), "x")]})
        assert main(["dax", "--endpoint", other.url]) == FAILED
        assert (
            f"what answers at {other.url} is no Hashrange server, by its reply to GET dax: "
            'port of nodes 1 is "x"; it must be a whole number.'
        ) in capsys.readouterr().err
        other.replay({"DescribeTable": [{"Table": 1}]})
        assert main(["tail", "Users", "--endpoint", other.url]) == FAILED
        assert (
            "is no DynamoDB server, by its reply to DescribeTable: Table is 1; it must be an object. Name"
            in capsys.readouterr().err
        )
