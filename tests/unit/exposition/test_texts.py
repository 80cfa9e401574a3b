"""Scrapes of the metrics share texts, of which one is made at a time, for as long as somebody waits for it."""

import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from hashrange.items import steps
from hashrange.server.exposition.server_state import Viewer
from hashrange.server.exposition.texts import WAYS_GIVEN_MAX, Texts
from hashrange.service.workers import Workers
from hashrange.wire.http import HttpRequest, layout_of
from tests.support.working import HurriedClock, Turns

ONE, TWO = Viewer("111111111111", None), Viewer("222222222222", None)


class World:
    """Texts that give way as often as the test says."""

    def __init__(self) -> None:
        self.loop = Turns()
        self.workers = Workers(HurriedClock())
        loop: Any = self.loop
        self.workers.take_turns(loop)
        self.texts = Texts(self._make, self.workers)
        self.ways = 3
        self.begun: list[tuple[str, Viewer | None]] = []
        self.failure: Exception | None = None
        self.in_work = self.most_in_work = self.ways_given = 0

    def _make(self, accept: str, viewer: Viewer | None) -> tuple[bytes, bytes]:
        self.begun.append((accept, viewer))
        self.in_work += 1
        self.most_in_work = max(self.most_in_work, self.in_work)
        try:
            for _ in range(self.ways):
                steps.look()
                self.ways_given += 1
            if self.failure is not None:
                raise self.failure
            return b"%d" % len(self.begun) * 5_000, b"text/plain"
        finally:
            self.in_work -= 1

    def scrape(self, viewer: Viewer | None = None, **headers: str) -> tuple[HttpRequest, list[tuple[Any, ...]]]:
        """Ask for the metrics; returns the request, and a list that gets the reply."""
        names = tuple(name.replace("_", "-").encode() for name in headers)
        request = HttpRequest(
            b"GET", b"/metrics", layout_of(names), [*(value.encode() for value in headers.values()), None], b"", True
        )
        replies: list[tuple[Any, ...]] = []
        self.workers.run(self.texts.answer, request, lambda *reply: replies.append(reply), viewer)
        return request, replies

    def finish(self) -> None:
        while self.loop.due:
            self.loop.turn()


@pytest.fixture
def world() -> Iterator[World]:
    before = steps._look, steps._queue
    yield World()
    steps._look, steps._queue = before


def test_scrapes_that_come_while_a_text_is_made_share_the_next_one(world: World) -> None:
    """Each made its own before: five at once held five texts of 17 MB, and took five times as long."""
    scrapes = [world.scrape() for _ in range(6)]
    world.finish()
    assert [replies[0][1][:1] for _, replies in scrapes] == [b"1", *[b"2"] * 5]
    assert all(len(replies) == 1 and replies[0][0] == 200 for _, replies in scrapes)
    assert len({id(replies[0][1]) for _, replies in scrapes}) == 2
    assert world.most_in_work == 1


def test_a_text_that_many_wait_for_is_sent_in_several_turns(world: World) -> None:
    scrapes = [world.scrape() for _ in range(30)]
    sent = 0
    while world.loop.due:
        world.loop.turn()
        before, sent = sent, sum(len(replies) for _, replies in scrapes)
        assert sent - before <= 2
    assert sent == 30


def test_a_later_scrape_gets_what_has_happened_before_it(world: World) -> None:
    world.scrape()
    _, replies = world.scrape()
    world.finish()
    assert replies[0][1].startswith(b"2")


def test_who_sees_or_wants_something_else_gets_a_text_of_its_own_in_turn(world: World) -> None:
    wanted: list[tuple[Viewer | None, dict[str, str]]] = [
        (ONE, {}),
        (TWO, {}),
        (None, {}),
        (ONE, {"accept": "application/openmetrics-text"}),
        (TWO, {}),
        (ONE, {"accept_encoding": "gzip"}),
    ]
    scrapes = [world.scrape(viewer, **headers)[1] for viewer, headers in wanted]
    world.finish()
    expected = [("", ONE), ("", TWO), ("", None), ("application/openmetrics-text", ONE), ("", ONE)]
    assert world.begun == expected
    assert world.most_in_work == 1
    assert scrapes[1][0][1] is scrapes[4][0][1]
    _, body, _, extra = scrapes[5][0]
    assert extra == b"Content-Encoding: gzip\r\n"
    assert gzip.decompress(body) == b"5" * 5_000


def test_a_text_ends_where_it_gives_way_when_its_client_has_left(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """It went on, and the library added the whole metric to the error, which was logged: 17 MB, in 1.2 s."""
    world.ways = 50
    request, replies = world.scrape()
    world.loop.turn()
    request.abandon()
    before = world.ways_given
    world.finish()
    assert world.ways_given == before
    assert len(replies) == 1
    assert world.in_work == 0
    assert not caplog.records
    _, later = world.scrape()
    world.finish()
    assert later[0][0] == 200


def test_a_text_is_made_while_one_of_its_clients_waits(world: World) -> None:
    world.scrape()
    others = [world.scrape() for _ in range(3)]
    for request, _ in others[:2]:
        request.abandon()
    world.finish()
    assert [len(replies) for _, replies in others] == [1, 1, 1]
    assert others[2][1][0][0] == 200


def test_no_text_is_begun_for_clients_that_have_all_left(world: World) -> None:
    world.scrape()
    for request, _ in [world.scrape() for _ in range(40)]:
        request.abandon()
    world.finish()
    assert len(world.begun) == 1


@pytest.mark.parametrize(("ways", "status"), [(WAYS_GIVEN_MAX, 200), (WAYS_GIVEN_MAX + 1, 503)])
def test_a_client_that_has_ended_its_input_gets_a_text_only_if_it_does_not_take_long(
    world: World, ways: int, status: int
) -> None:
    """A client that closes its socket looks like one that only says that it will send no more."""
    world.ways = ways
    request, replies = world.scrape()
    request.is_input_over = True
    world.finish()
    assert replies[0][0] == status


def test_a_failure_is_logged_once_and_answers_all(world: World, caplog: pytest.LogCaptureFixture) -> None:
    first, *others = [world.scrape(ONE)[1] for _ in range(3)]
    world.loop.turn()
    world.failure = ValueError("ours")
    world.finish()
    assert [replies[0][0] for replies in (first, *others)] == [500, 500, 500]
    assert len(caplog.records) == 2
    assert world.workers.running is None
