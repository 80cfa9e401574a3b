"""Do tools wait for each other's requests? Only once as many run as there are connections."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from hashrange.cli.mcp_tools import asking as asking_module
from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.remote import Remote, RemoteError
from tests.support.waiting import PATIENCE_SECONDS, wait_until


class SlowServer:
    """Answers ListTables at once, and Scan when `may_answer` is set."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.ports: set[int] = set()
        """Those of the connections with which requests have come."""
        self.may_answer = may_answer = Event()
        events, ports = self.events, self.ports

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                operation = self.headers["X-Amz-Target"].rpartition(".")[2]
                ports.add(self.client_address[1])
                events.append(f"{operation} begins")
                if operation == "Scan":
                    may_answer.wait(PATIENCE_SECONDS)
                    events.append("Scan ends")
                body = (
                    b'{"TableNames": []}'
                    if operation == "ListTables"
                    else b'{"Items": [], "Count": 0, "ScannedCount": 0}'
                )
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def has_begun(self, count: int) -> Callable[[], bool]:
        return lambda: len([event for event in self.events if event.endswith("begins")]) == count


@pytest.fixture
def server() -> Iterator[SlowServer]:
    slow = SlowServer()
    thread = Thread(target=slow.http.serve_forever, args=(0.05,))
    thread.start()
    yield slow
    slow.may_answer.set()
    slow.http.shutdown()
    thread.join()
    slow.http.server_close()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as executor:
        yield executor


def asked(server: SlowServer) -> AskedServer:
    return AskedServer(Remote(server.url, "us-east-1", {}))


def test_a_request_is_answered_while_another_one_waits(server: SlowServer, pool: ThreadPoolExecutor) -> None:
    asking = asked(server)
    scan = pool.submit(asking.ask, "Scan", TableName="Users")
    wait_until(server.has_begun(1))
    listing = pool.submit(asking.ask, "ListTables")
    listing.add_done_callback(lambda _: server.may_answer.set())
    assert scan.result(2 * PATIENCE_SECONDS)["Count"] == 0
    assert server.events == ["Scan begins", "ListTables begins", "Scan ends"]
    asking.close()


def test_requests_beyond_the_connections_wait(
    server: SlowServer, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "CONNECTIONS_MAX", 2)
    asking = asked(server)
    scans: list[Future[object]] = [pool.submit(asking.ask, "Scan", TableName="Users") for _ in range(4)]
    wait_until(server.has_begun(2))
    server.may_answer.set()
    assert all(scan.result(PATIENCE_SECONDS) for scan in scans)
    assert (len(server.events), len(server.ports)) == (8, 2)
    asking.close()


def test_one_request_after_the_other_takes_one_connection(server: SlowServer) -> None:
    asking = asked(server)
    for _ in range(3):
        asking.ask("ListTables")
    assert len(server.ports) == 1
    asking.close()


def test_requests_that_run_end_at_once_on_demand(server: SlowServer, pool: ThreadPoolExecutor) -> None:
    asking = asked(server)
    scans = [pool.submit(asking.ask, "Scan", TableName="Users") for _ in range(2)]
    wait_until(server.has_begun(2))
    asking.end()
    for scan in scans:
        assert isinstance(scan.exception(PATIENCE_SECONDS), RemoteError)
    with pytest.raises(RemoteError):
        asking.ask("ListTables")
    asking.close()
