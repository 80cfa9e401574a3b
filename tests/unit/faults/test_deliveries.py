"""Faults of stream records on their way to functions: batches that are late, come twice, or are small."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hashrange.faults.fault import Fault
from hashrange.settings import Settings
from hashrange.testing.database import Database, server
from tests.unit.faults.kit import make_music, put_songs

STREAM: dict[str, Any] = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}


class Handled:
    """What a function that is behind a URL has been invoked with."""

    def __init__(self) -> None:
        handled = self
        self._batches: list[list[str]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                handled._batches.append([record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"]])
                self.send_response(200)
                self.send_header("Content-Length", "4")
                self.end_headers()
                self.wfile.write(b"null")

            def log_message(self, *_arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def taken(self) -> list[list[str]]:
        """Keys of the records of each invocation since the last call."""
        batches, self._batches = self._batches, []
        return batches


@pytest.fixture
def handled() -> Iterator[Handled]:
    handled = Handled()
    thread = threading.Thread(target=handled.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield handled
    handled.server.shutdown()
    thread.join()
    handled.server.server_close()


@pytest.fixture
def triggered(handled: Handled, tmp_path: Path) -> Iterator[Database]:
    """A database whose table `music` has a stream that the function follows, and whose time stands still."""
    path = tmp_path / "triggers.toml"
    path.write_text(f'[functions.play]\nurl = "{handled.url}"\n\n[[mapping]]\ntable = "music"\nfunction = "play"\n')
    with server(Settings(data_dir=None, triggers=str(path))) as database:
        make_music(database.client(), **STREAM)
        database.clock.freeze()
        yield database


def deliver(database: Database, handled: Handled, *keys: str) -> list[list[str]]:
    """Write songs in one transaction, and let the function handle what it can get now."""
    puts = [{"Put": {"TableName": "music", "Item": {"pk": {"S": key}, "n": {"N": str(len(key))}}}} for key in keys]
    database.client().transact_write_items(TransactItems=puts)
    database.clock.advance(0)
    return handled.taken()


def met_batches(database: Database) -> list[tuple[int, str, str | None]]:
    return [(one.fault, one.operation, one.table) for one in database.faults.report]


def test_a_batch_comes_twice(triggered: Database, handled: Handled) -> None:
    assert deliver(triggered, handled, "a", "b") == [["a", "b"]]
    triggered.faults.use(Fault("repeated-records", skip=1, count=1))
    assert deliver(triggered, handled, "c", "d") == [["c", "d"]]
    assert deliver(triggered, handled, "e", "f") == [["e", "f"]] * 2
    assert deliver(triggered, handled, "g") == [["g"]]
    assert met_batches(triggered) == [(1, "Invoke", "music")]


@pytest.mark.parametrize(("members", "size"), [({}, 1), ({"records": 2}, 2), ({"records": 200}, 5)])
def test_batches_are_small(triggered: Database, handled: Handled, members: Any, size: int) -> None:
    triggered.faults.use(Fault("small-batches", table="music", **members))
    keys = list("abcde")
    assert deliver(triggered, handled, *keys) == [keys[at : at + size] for at in range(0, 5, size)]
    triggered.faults.clear()
    assert deliver(triggered, handled, "f", "g") == [["f", "g"]]


def test_records_come_late_to_functions_and_to_readers(triggered: Database, handled: Handled) -> None:
    triggered.faults.use(Fault("late-records", seconds=60))
    assert deliver(triggered, handled, "a", "b") == []
    triggered.clock.advance(59)
    assert handled.taken() == []
    triggered.clock.advance(1.01)
    assert handled.taken() == [["a", "b"]]
    assert met_batches(triggered) == [(1, "Invoke", "music")]


def test_faults_of_other_tables_are_not_met(triggered: Database, handled: Handled) -> None:
    names = ("late-records", "repeated-records", "small-batches")
    triggered.faults.use(
        *[
            Fault(name, table="other", seconds=5 if name == names[0] else None)  # type: ignore[arg-type]
            for name in names
        ]
    )
    assert deliver(triggered, handled, "a", "b") == [["a", "b"]]
    assert met_batches(triggered) == []


def test_several_faults_add_up(triggered: Database, handled: Handled) -> None:
    triggered.faults.use(
        Fault("small-batches", records=3),
        Fault("small-batches", records=2),
        Fault("late-records", seconds=10),
        Fault("late-records", seconds=5),
        Fault("repeated-records", count=1),
    )
    assert deliver(triggered, handled, "a", "b", "c") == []
    triggered.clock.advance(10.01)
    assert handled.taken() == [["a", "b"]] * 2
    triggered.clock.advance(10.01)
    assert handled.taken() == [["c"]]
    assert [fault for fault, _, _ in met_batches(triggered)] == [1, 2, 3, 4, 5, 1, 2, 3, 4]


def test_records_that_clients_write_while_faults_change_are_all_delivered(
    triggered: Database, handled: Handled
) -> None:
    found: list[str] = []
    for number in range(10):
        with triggered.faults.during(Fault("small-batches"), Fault("repeated-records", share=0.5), seed=number):
            found += [key for batch in deliver(triggered, handled, f"{number}-a", f"{number}-b") for key in batch]
        put_songs(triggered.client(), f"{number}-c")
    triggered.clock.advance(0)
    found += [key for batch in handled.taken() for key in batch]
    assert set(found) == {f"{number}-{part}" for number in range(10) for part in "abc"}
