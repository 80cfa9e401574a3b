"""An advance of service time waits once for a function behind a URL that does not answer,
however many retries are due meanwhile.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings
from hashrange.testing.database import Database, server
from tests.support.waiting import wait_until


class Silent(ThreadingHTTPServer):
    """Answers only once it is told to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.requests = 0
        self.answers = threading.Event()
        self.is_over = threading.Event()


class Answering(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self) -> None:
        silent: Any = self.server
        silent.requests += 1
        if not silent.answers.is_set():
            silent.is_over.wait()
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Write nothing."""


@pytest.fixture
def silent() -> Iterator[Silent]:
    with Silent() as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield serving
        serving.is_over.set()
        serving.shutdown()
        thread.join()


@pytest.fixture
def database(silent: Silent, tmp_path: Path) -> Iterator[Database]:
    """A server whose time stands still, with a function that is such a URL, and a mapping that retries for ever."""
    path = tmp_path / "triggers.toml"
    path.write_text(
        f'[functions.f]\nurl = "http://127.0.0.1:{silent.server_port}/"\ntimeout = 0.2\n'
        '[[mapping]]\ntable = "orders"\nfunction = "f"\n'
    )
    with server(Settings(data_dir=None, port=0, triggers=str(path))) as served:
        served.clock.freeze()
        yield served


def test_a_mapping_that_retries(silent: Silent, database: Database) -> None:
    client = database.client()
    client.create_table(
        TableName="orders",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )
    client.put_item(TableName="orders", Item={"id": {"S": "1"}})
    database.clock.advance(3600)
    assert silent.requests <= 2, "the first one may have begun before the advance"
    database.clock.advance(3600)
    assert silent.requests <= 3
    silent.answers.set()

    def is_handled_after_an_advance() -> bool:
        database.clock.advance(3600)
        (mapping,) = database.client("lambda").list_event_source_mappings()["EventSourceMappings"]
        return bool(mapping["LastProcessingResult"] == "OK")

    wait_until(is_handled_after_an_advance)


def test_an_asynchronous_invocation(silent: Silent, database: Database) -> None:
    functions = database.client("lambda")
    functions.invoke(FunctionName="f", InvocationType="Event")
    database.clock.advance(3600)
    assert silent.requests <= 2, "of three tries"
