"""One node is asked, and says what it says."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from hashrange.local_cluster import cql_frames
from hashrange.local_cluster.cql_frames import CqlLevel, CqlRefusal, count_in, run_query
from tests.unit.local_cluster.fake_node import answer


@contextmanager
def node(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a node that serves one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: serve(listener.accept()[0]))
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            thread.join()


def test_a_query_reaches_the_node_with_its_level() -> None:
    asked: list[tuple[str, int]] = []

    def execute(query: str, level: int) -> bytes:
        asked.append((query, level))
        return (300).to_bytes(8, "big")

    levels: tuple[CqlLevel, ...] = ("ONE", "ALL")
    for level in levels:
        with node(lambda connection: answer(connection, execute)) as port:
            assert count_in(run_query("127.0.0.1", port, "SELECT é", level)) == 300
    assert asked == [("SELECT é", 1), ("SELECT é", 5)]


def test_a_refusal_has_the_words_of_the_node() -> None:
    refusing = node(lambda connection: answer(connection, lambda *_: "not enough replicas"))
    with refusing as port, pytest.raises(CqlRefusal, match=r"^not enough replicas$"):
        run_query("127.0.0.1", port, "SELECT 1")


def test_a_node_that_leaves_does_not_answer() -> None:
    with node(lambda connection: connection.close()) as port, pytest.raises(OSError):
        run_query("127.0.0.1", port, "SELECT 1")


def test_a_node_that_is_silent_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cql_frames, "ANSWER_SECONDS", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        run_query("127.0.0.1", listener.getsockname()[1], "SELECT 1")


def test_where_nobody_listens_there_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        run_query("127.0.0.1", port, "SELECT 1")
