"""`hashrange tail` on a running server: each change once, each item's changes in order,
across splits; clear errors otherwise.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.bounded_replies import BoundedResponse
from hashrange.cli import remote as remote_module
from hashrange.cli.main import DONE, FAILED, INTERRUPTED, UNREAD, main
from hashrange.cli.remote import RefusedRequest, Remote
from tests.clients.serving import ServerProcess
from tests.support.raw_client import RawClient
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY

Printed = pytest.CaptureFixture[str]


class World:
    """A server with the table Users, whose stream is on."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self.server = server
        self.raw = RawClient("127.0.0.1", server.port)
        self._folder = folder
        self._tails: list[subprocess.Popen[str]] = []
        self.make("Users", StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"})

    def make(self, name: str, **members: Any) -> None:
        self.ask(
            "CreateTable",
            TableName=name,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
            **members,
        )

    def ask(self, operation: str, **members: Any) -> Any:
        reply = self.raw(operation, members)
        assert reply.status == 200, reply.body
        return reply.json()

    def put(self, key: str, number: int) -> None:
        item = {"pk": {"S": key}, "n": {"N": str(number)}, "t": {"S": "x" * 100}}
        self.ask("PutItem", TableName="Users", Item=item)

    def shard_count(self) -> int:
        streams = "DynamoDBStreams_20120810."
        (stream,) = self.ask(f"{streams}ListStreams", TableName="Users")["Streams"]
        described = self.ask(f"{streams}DescribeStream", StreamArn=stream["StreamArn"])
        return len(described["StreamDescription"]["Shards"])

    def tail(self, *words: str) -> subprocess.Popen[str]:
        """Start a process that follows the table, and wait until it follows."""
        tail = subprocess.Popen(
            [sys.executable, "-m", "hashrange", "tail", "Users", "--endpoint", self.server.endpoint, *words],
            cwd=self._folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._tails.append(tail)
        assert tail.stderr is not None
        assert tail.stderr.readline() == (
            f"hashrange: following table Users at {self.server.endpoint} in Region us-east-1; Ctrl-C ends it.\n"
        )
        return tail

    def end(self) -> None:
        for tail in self._tails:
            tail.kill()
            tail.wait()
            for pipe in (tail.stdout, tail.stderr):
                assert pipe is not None
                pipe.close()
        self.server.stop()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A server whose partitions split early: at 2 KB."""
    world = World(ServerProcess(None, "--partition-size", "2048"), tmp_path)
    yield world
    world.end()


def lines_until(tail: subprocess.Popen[str], end: str) -> list[str]:
    """The lines that `tail` prints, up to and including the first one that contains `end`."""
    assert tail.stdout is not None
    lines = []
    for line in tail.stdout:
        lines.append(line.rstrip("\n"))
        if end in line:
            return lines
    raise AssertionError("it has ended")


def numbers_by_key(lines: list[str]) -> dict[str, list[int]]:
    """Key → the new values of its attribute `n`, in the order of the printed lines."""
    found = defaultdict(list)
    for line in lines:
        key, number = re.findall(r'pk "([^"]+)": .*?n (?:\d+ → )?(\d+)', line)[0]
        found[key].append(int(number))
    return found


@pytest.mark.parametrize("words", [(), ("--from-start",)])
def test_each_change_once_and_an_items_in_order(words: tuple[str, ...], world: World) -> None:
    tail = world.tail(*words)
    expected = {f"u{number}": list(range(4)) for number in range(60)}
    for number in range(4):
        for key in expected:
            world.put(key, number)
    assert world.shard_count() > 5, "no partition was split"
    assert tail.stdout is not None
    lines = [tail.stdout.readline().rstrip("\n") for _ in range(240)]
    assert numbers_by_key(lines) == expected
    world.put("last", 0)
    assert 'INSERT  pk "last": + n 0' in tail.stdout.readline(), "nothing came twice"


def test_once_ends_with_what_is_there(world: World, capsys: Printed) -> None:
    expected = {f"u{number}": list(range(3)) for number in range(60)}
    for number in range(3):
        for key in expected:
            world.put(key, number)
    words = ["tail", "Users", "--endpoint", world.server.endpoint, "--once"]
    assert main(words) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    assert numbers_by_key(printed.out.splitlines()) == expected
    assert main([*words, "--json"]) == DONE
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(records) == 180
    assert len({record["eventID"] for record in records}) == 180
    assert records[0]["dynamodb"]["NewImage"]["t"] == {"S": "x" * 100}


def test_without_from_start_it_begins_with_the_next_change(world: World) -> None:
    for number in range(60):
        world.put(f"u{number}", number)
    tail = world.tail()
    world.put("next", 1)
    assert ['INSERT  pk "next": + n 1' in line for line in lines_until(tail, "next")] == [True]


@pytest.mark.skipif(os.name == "nt", reason="signals and pipes end otherwise there")
def test_it_ends_quietly(world: World) -> None:
    tail = world.tail()
    tail.send_signal(signal.SIGINT)
    assert tail.communicate(timeout=60) == ("", "")
    assert tail.returncode == INTERRUPTED
    tail = world.tail()
    assert tail.stdout is not None
    tail.stdout.close()  # the process notices the closed pipe although it has nothing to write
    assert tail.wait(timeout=60) == UNREAD
    assert tail.stderr is not None
    assert tail.stderr.read() == ""


def test_an_interrupt_is_not_lost_with_a_reply(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reply is closed explicitly: the interpreter swallows an interrupt raised while it closes an abandoned
    reply."""
    replies = []

    class Kept(BoundedResponse):
        def begin(self) -> None:
            replies.append(self)
            super().begin()

    monkeypatch.setattr(remote_module, "BoundedResponse", Kept)
    remote = Remote(world.server.endpoint, "us-east-1", {})
    remote.ask("ListTables")
    with pytest.raises(RefusedRequest):
        remote.ask("DescribeTable", TableName="nothing")
    remote.close()
    assert [reply.closed for reply in replies] == [True, True]


@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_end_of_the_stream_is_told(is_deleted: bool, world: World) -> None:
    tail = world.tail()
    world.put("a", 1)
    if is_deleted:
        world.ask("DeleteTable", TableName="Users")
    else:
        world.ask("UpdateTable", TableName="Users", StreamSpecification={"StreamEnabled": False})
    out, errors = tail.communicate(timeout=60)
    assert 'INSERT  pk "a"' in out
    ended = "hashrange: the stream of table Users has ended: it was switched off, or the table was deleted.\n"
    assert (tail.returncode, errors) == (FAILED, ended)


def test_the_end_of_the_server_is_told(world: World) -> None:
    tail = world.tail()
    world.server.stop()
    try:
        assert tail.wait(timeout=60) == FAILED
        assert tail.stderr is not None
        error = tail.stderr.read()
        assert error.startswith(f"hashrange: no server answers at {world.server.endpoint}: ")
        assert error.count("\n") == 1
    finally:
        world.server.start()


def test_what_keeps_it_from_starting_is_one_sentence(world: World, capsys: Printed) -> None:
    endpoint = world.server.endpoint
    world.make("Plain")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        for words, sentence in [
            (["Users", "--endpoint", nobody], f"no server answers at {nobody}: "),
            (
                ["Userz", "--endpoint", endpoint],
                f"there is no table Userz at {endpoint} in Region us-east-1. Did you mean Users? It has Plain, Users;",
            ),
            (
                ["Plain", "--endpoint", endpoint],
                "table Plain has no stream, which tells of its changes. Switch one on: aws dynamodb",
            ),
        ]:
            assert main(["tail", *words]) == FAILED
            printed = capsys.readouterr()
            assert printed.out == ""
            assert printed.err.startswith(f"hashrange: {sentence}")
            assert printed.err.count("\n") == 1


def test_a_server_with_credentials_lets_its_own_keys_in(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = tmp_path / "credentials.toml"
    credentials.write_text(f'[[credential]]\naccess_key = "{ACCESS_KEY}"\nsecret_key = "{SECRET_KEY}"\n', "utf-8")
    world = World(ServerProcess(None, "--credentials", str(credentials)), tmp_path)
    world.put("a", 1)
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", world.server.endpoint)
    words = ["tail", "Users", "--once"]
    try:
        assert main(words) == FAILED
        assert "It has a credentials file: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in capsys.readouterr().err
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        assert main(words) == FAILED
        error = capsys.readouterr().err
        assert "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and --region must be those of its credentials file." in error
        assert error.count("\n") == 1
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        monkeypatch.setenv("AWS_REGION", REGION)
        assert main(words) == DONE
        assert 'INSERT  pk "a": + n 1' in capsys.readouterr().out
    finally:
        world.end()
