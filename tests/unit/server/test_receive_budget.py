"""The receive budget of unfinished bodies: their sum is limited, each is finished eventually,
and small ones never wait.
"""

import random
from typing import Any

import pytest

from hashrange.limits import BODY_BYTES_MAX
from hashrange.server import receive_budget
from hashrange.server.connection import Connection
from hashrange.server.connection_states import BLOCKED
from hashrange.server.connections import IN_THE_WAY_SECONDS_FREE, MEMORY_WAIT_SECONDS_MAX
from hashrange.server.incoming import TURN_SECONDS_MAX
from hashrange.server.receive_budget import (
    BEGINNINGS_BYTES_MAX,
    HUGE_BYTES,
    MIB,
    RECEIVE_BYTES_MAX,
    SMALL_BYTES,
    ReceiveBudget,
    Share,
)
from tests.unit.server.harness import FakeTransport, FrontEnd, Turns, replies, reply

READ_BYTES = 256 * 1024
"""The size of one read by uvloop."""

Client = tuple[Connection, FakeTransport]


def body_of(size_bytes: int) -> bytes:
    return b'{"TableName":"music","Filler":"%b"}' % (b"x" * (size_bytes - 33))


def chunked(data: bytes, piece_bytes: int = 50_000) -> bytes:
    """The request with its body in chunks."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length")]
    pieces = [body[at : at + piece_bytes] for at in range(0, len(body), piece_bytes)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", chunks + b"0\r\n\r\n"])


class Sender:
    """A client that sends while the server reads."""

    def __init__(self, front: FrontEnd, data: bytes) -> None:
        self.connection, self.transport = front.connect()
        self.data = data
        self.sent_bytes = 0

    def send(self, size_bytes: int = READ_BYTES) -> bool:
        """Send one piece; False if the server is not reading, or nothing is left."""
        piece = self.data[self.sent_bytes : self.sent_bytes + size_bytes]
        if not self.transport.reads or not piece or self.transport.is_closed:
            return False
        self.sent_bytes += len(piece)
        self.connection.data_received(piece)
        return True


def send_all(senders: list[Sender]) -> None:
    """Let the senders send pieces in rotation until none can continue."""
    is_sending = True
    while is_sending:
        sent = [sender.send() for sender in senders]
        is_sending = any(sent)


def is_whole(front: FrontEnd) -> bool:
    """True if no connection holds or waits for a share of the receive budget."""
    shared = front.connections.receive_budget
    return (shared._free_bytes, shared._beginnings_bytes, shared.is_wanted) == (RECEIVE_BYTES_MAX, 0, False)


@pytest.fixture
def front() -> FrontEnd:
    return FrontEnd(connections_max=5_000)


@pytest.mark.parametrize("form", ["length", "chunks"])
def test_large_bodies_wait_for_room_and_are_all_answered(front: FrontEnd, form: str) -> None:
    data = front.request(body_of(7 * MIB))
    sent = data if form == "length" else chunked(data)
    senders = [Sender(front, sent) for _ in range(24)]
    for _ in range(len(data) * 3 // 4 // READ_BYTES):
        for sender in senders:
            sender.send()
    assert sum(sender.sent_bytes for sender in senders) < RECEIVE_BYTES_MAX + len(senders) * 2 * READ_BYTES
    reading = [sender for sender in senders if sender.transport.reads]
    assert len(reading) == RECEIVE_BYTES_MAX // (7 * MIB if form == "length" else BODY_BYTES_MAX)
    send_all(senders)
    assert [reply(sender.transport.take()).status for sender in senders] == [200] * len(senders)
    assert is_whole(front)


def test_small_bodies_and_those_of_one_read_never_wait(front: FrontEnd) -> None:
    front.connections.receive_budget = ReceiveBudget(room_bytes=0)
    large = Sender(front, front.request(body_of(SMALL_BYTES + 1)))
    large.send(1000)
    assert not large.transport.reads
    for size_bytes in (100, SMALL_BYTES):
        for form in (bytes, chunked):
            small = Sender(front, form(front.request(body_of(size_bytes))))
            while small.send(1000):
                pass
            assert reply(small.transport.take()).status == 200
    assert reply(front.ask(front.request(body_of(200_000)))).status == 200


def test_a_body_keeps_its_room_until_it_is_answered(front: FrontEnd) -> None:
    data = front.request(body_of(10 * MIB), operation="PutItem")
    senders = [Sender(front, data) for _ in range(13)]
    send_all(senders)
    # Twelve bodies are complete and wait for durability; one client leaves, but its body is still in work.
    senders[0].transport.close()
    senders[0].connection.connection_lost(None)
    assert [sender.transport.reads for sender in senders] == [True] * 12 + [False]
    front.store.sync()
    assert senders[12].transport.reads
    send_all(senders[12:])
    front.store.sync()
    assert reply(senders[12].transport.take()).status == 200
    assert is_whole(front)


def test_a_body_that_nobody_will_answer_gives_its_room_back(front: FrontEnd) -> None:
    sender = Sender(front, front.request(body_of(10 * MIB)))
    while len(sender.data) - sender.sent_bytes > READ_BYTES:
        sender.send()
    sender.connection.sending = BLOCKED  # the client does not read an earlier reply
    sender.send()
    assert len(sender.connection.ready) == 1
    sender.connection.connection_lost(None)
    assert is_whole(front)


def test_a_client_that_leaves_before_its_requests_turn_gives_its_room_back(
    front: FrontEnd, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: Any = Turns()
    front.connections.take_turns(turns)
    handle = front.connections.incoming._handle

    def handle_slowly(calls: Any) -> None:
        front.clock.advance_all(TURN_SECONDS_MAX)
        handle(calls)

    other, leaving = Sender(front, front.request()), Sender(front, front.request(body_of(100_000)))
    leaving.send(100_000)
    while turns.due:
        turns.turn()
    assert not is_whole(front)
    monkeypatch.setattr(front.connections.incoming, "_handle", handle_slowly)
    other.send()
    leaving.send()
    turns.turn()  # each turn answers one of the new connections
    assert other.transport.written
    leaving.transport.close()
    leaving.connection.connection_lost(None)
    while turns.due:
        turns.turn()
    assert is_whole(front)


def holders_of_all(front: FrontEnd) -> tuple[bytes, list[Sender]]:
    """The request, and senders that together hold the whole receive budget."""
    data = front.request(body_of(BODY_BYTES_MAX), seconds=front.clock.wall_time() + 60)
    holders = [Sender(front, data) for _ in range(RECEIVE_BYTES_MAX // BODY_BYTES_MAX)]
    for holder in holders:
        holder.send()
    return data, holders


def pass_second(front: FrontEnd) -> None:
    front.clock.advance_all(1)
    front.connections.sweep()


def test_who_stalls_in_the_way_of_others_is_ended_soon(front: FrontEnd) -> None:
    data, holders = holders_of_all(front)
    for _ in range(10):
        pass_second(front)
    assert not any(holder.transport.written for holder in holders)  # no connection waits for the budget
    waiting = Sender(front, data)
    waiting.send()
    pass_second(front)
    # One refused holder is enough: afterwards nobody waits for the shares of the others.
    assert [reply(holder.transport.take()).status for holder in holders if holder.transport.written] == [408]
    send_all([waiting])
    assert reply(waiting.transport.take()).status == 200


def test_who_is_slow_in_the_way_of_others_is_ended_sooner_than_usual(front: FrontEnd) -> None:
    data, holders = holders_of_all(front)
    seconds = 0
    while not any(holder.transport.written for holder in holders):
        waiting = Sender(front, data)
        waiting.send()
        for holder in holders:
            holder.send(100_000)  # in each second: far above the rate required of a body that keeps nobody waiting
        pass_second(front)
        seconds += 1
        assert seconds < MEMORY_WAIT_SECONDS_MAX
    assert seconds > IN_THE_WAY_SECONDS_FREE
    assert {reply(holder.transport.take()).status for holder in holders if holder.transport.written} == {408}


def test_who_has_waited_for_long_is_told_to_try_again(front: FrontEnd) -> None:
    front.connections.receive_budget = ReceiveBudget(room_bytes=100_000)
    data = front.request(body_of(90_000), operation="PutItem")
    first, second = Sender(front, data), Sender(front, data)
    for sender in (first, second):
        sender.send(10_000)
    send_all([first])
    pass_second(front)
    for _ in range(int(MEMORY_WAIT_SECONDS_MAX) - 1):  # the first request's commit takes long
        assert second.transport.written == b""
        pass_second(front)
    pass_second(front)
    assert reply(second.transport.take()).status == 503
    front.store.sync()
    assert reply(first.transport.take()).status == 200
    third = Sender(front, data)
    third.send(10_000)
    assert third.transport.reads


def test_nothing_of_a_body_that_waits_for_room_is_parsed(front: FrontEnd) -> None:
    """This holds even for bytes that were already read when the head was parsed."""
    turns: Any = Turns()
    front.connections.take_turns(turns)
    front.connections.receive_budget = ReceiveBudget(room_bytes=100_000)
    holder, waiting = (Sender(front, front.request(body_of(90_000))) for _ in range(2))
    holder.send(1_000)
    turns.turn()
    assert waiting.send(1_000)
    assert waiting.send(1_000)
    turns.turn()
    assert not waiting.transport.reads
    assert waiting.connection.reading.message_bytes == 1_000
    for sender in (holder, waiting):
        while sender.sent_bytes < len(sender.data):
            assert sender.send()
            turns.turn()
        assert reply(sender.transport.take()).status == 200


def test_100_continue_waits_for_room_too(front: FrontEnd) -> None:
    front.connections.receive_budget = ReceiveBudget(room_bytes=100_000)
    holder = Sender(front, front.request(body_of(90_000)))
    holder.send(1_000)
    head, _, body = front.request(body_of(90_000), headers={"Expect": "100-continue"}).partition(b"\r\n\r\n")
    connection, transport = front.connect()
    connection.data_received(head + b"\r\n\r\n")
    assert transport.take() == b""
    send_all([holder])
    assert transport.take() == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.data_received(body)
    assert reply(transport.take()).status == 200


def test_who_would_begin_too_much_in_sum_is_refused(front: FrontEnd) -> None:
    data = front.request(body_of(BODY_BYTES_MAX))
    senders = [Sender(front, data) for _ in range(8 + BEGINNINGS_BYTES_MAX // READ_BYTES + 10)]
    for sender in senders:
        sender.send()
    refused = [sender for sender in senders if sender.transport.written]
    assert 10 <= len(refused) <= 12
    assert {reply(sender.transport.take()).status for sender in refused} == {503}
    for sender in senders:
        sender.connection.connection_lost(None)
    assert is_whole(front)


def test_a_long_read_without_room_is_refused_once(front: FrontEnd) -> None:
    assert front.connections.receive_budget.begin(BEGINNINGS_BYTES_MAX)
    connection, transport = front.connect()
    for _ in range(2):
        connection.data_received(b"x" * READ_BYTES)
    assert reply(transport.take()).status == 503


def test_what_is_not_parsed_yet_is_bounded_too() -> None:
    front = FrontEnd(connections_max=5_000)
    turns = Turns()
    front.connections.take_turns(turns)  # type: ignore[arg-type]
    front.connect()
    data = front.request(body_of(READ_BYTES - 400))
    senders = [Sender(front, data) for _ in range(600)]
    for sender in senders:
        assert sender.send(len(data))
        # Nothing more is read from the client until this is parsed; further bytes of a refused client are dropped.
        assert sender.transport.reads == bool(sender.transport.written)
    assert 0 < sum(bool(sender.transport.written) for sender in senders) < 100
    while turns.due:
        turns.turn()
    statuses = [reply(sender.transport.take()).status for sender in senders]
    assert statuses.count(200) > 500
    assert set(statuses) == {200, 503}
    assert is_whole(front)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_clients_do_everybody_is_answered_and_the_room_is_whole_again(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bodies of all sizes, pipelined and in chunks, clients that leave, and a budget for two of the largest bodies."""
    chance = random.Random(seed)
    room_bytes = 2 * MIB
    monkeypatch.setattr(receive_budget, "RECEIVE_BYTES_MAX", room_bytes)
    monkeypatch.setattr("hashrange.server.reading.BODY_BYTES_MAX", MIB)
    front = FrontEnd(connections_max=5_000)
    shared = front.connections.receive_budget = ReceiveBudget(room_bytes)
    counts, senders = [], []
    for _ in range(20):
        pieces = []
        for _ in range(chance.randint(1, 4)):
            size_bytes = chance.choice([100, 1000, SMALL_BYTES, SMALL_BYTES + 1, 200_000, 500_000, 900_000])
            data = front.request(body_of(size_bytes), operation=chance.choice(["GetItem", "PutItem"]))
            pieces.append(chunked(data, 40_000) if chance.random() < 0.4 else data)
        counts.append(len(pieces))
        senders.append(Sender(front, b"".join(pieces)))
    gone: set[int] = set()
    idle = 0
    while idle < 50:
        number = chance.randrange(len(senders))
        has_sent = number not in gone and senders[number].send(chance.choice([10, 5000, 70_000, READ_BYTES]))
        idle = 0 if has_sent else idle + 1
        assert 0 <= shared._free_bytes <= room_bytes
        if chance.random() < 0.1 or idle > 20:
            front.store.sync()
        if chance.random() < 0.002 and number not in gone:
            gone.add(number)
            senders[number].transport.close()
            senders[number].connection.connection_lost(None)
        if idle and any(
            number not in gone and sender.sent_bytes < len(sender.data) and sender.transport.reads
            for number, sender in enumerate(senders)
        ):
            idle = min(idle, 20)
    front.store.sync()
    for number, (sender, count) in enumerate(zip(senders, counts, strict=True)):
        if number not in gone:
            assert [answer.status for answer in replies(sender.transport.take())] == [200] * count
    assert (shared._free_bytes, shared._beginnings_bytes, shared.is_wanted) == (room_bytes, 0, False)


def test_huge_bodies_that_wait_are_overtaken_and_others_are_not() -> None:
    budget = ReceiveBudget(8 * HUGE_BYTES)
    let_in: list[str] = []

    def ask(name: str, size_bytes: int) -> tuple[Share, bool]:
        share = Share(budget)
        return share, share.reserve(size_bytes, lambda: let_in.append(name))

    first, has_room = ask("first huge", 5 * HUGE_BYTES)
    assert has_room
    second, has_room = ask("second huge", 5 * HUGE_BYTES)
    assert not has_room
    assert ask("third huge", 2 * HUGE_BYTES)[1] is False, "huge ones do not overtake each other"
    large = [ask(f"large {number}", HUGE_BYTES)[0] for number in range(3)]
    assert [one.reserved_bytes for one in large] == [HUGE_BYTES] * 3
    assert ask("fourth large", HUGE_BYTES)[1] is False
    assert ask("small", 1)[1] is False, "it does not overtake a large one"
    large[0].leave()
    assert let_in == ["fourth large"]
    first.leave()
    assert let_in == ["fourth large", "second huge"]
    second.leave()
    assert let_in == ["fourth large", "second huge", "third huge", "small"]
