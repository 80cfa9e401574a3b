"""How do hostile clients use their connections? One function per behaviour; each runs until its process ends."""

import contextlib
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from itertools import cycle

from benchmarks.client import Connection
from torture.kinds.connections import PIPELINED, PIPELINED_BYTES
from torture.stalls.children import Child
from torture.stalls.crowd import together
from torture.stalls.dax import repeat_on_node
from torture.stalls.tally import Tally

TIMEOUT_SECONDS = 120.0
PAUSE_SECONDS = 0.02
SMALL_BUFFER_BYTES = 4_096
AFTERMATH_SECONDS = 0.5
"""Time for a server to see that a killed process has left."""
NAMED = re.compile(rb"@(\w+)@")
CONTENT_LENGTH = re.compile(rb"\r\nContent-Length: \d+")

Requests = Sequence[bytes]
"""The requests of a kind, in order. All behaviours except `repeat` use only the first."""
Run = Callable[[int, Requests, int, Tally], None]
"""A behaviour: run(port, requests, clients, tally)."""


def repeat(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Each client sends the requests, waits for the reply of each, and begins again."""
    for client in range(clients):
        threading.Thread(target=repeat_one, args=(port, requests, client, tally), daemon=True).start()


def repeat_one(port: int, requests: Requests, client: int, tally: Tally) -> None:
    """Run one repeating client; a broken connection is opened again."""
    connection: Connection | None = None
    reply = b""
    for template in cycle(requests):
        request = filled(template, reply)
        tally.begin(client)
        try:
            connection = connection or Connection(port, TIMEOUT_SECONDS)
            with contextlib.suppress(ConnectionError):  # a refusal may come before all is sent
                connection.send(request)
            status, reply = connection.receive()
            tally.end(client, status, reply)
        except (OSError, ValueError):
            tally.broke(client)
            if connection is not None:
                connection.close()
            connection = None
            time.sleep(PAUSE_SECONDS)


def filled(request: bytes, reply: bytes) -> bytes:
    """The request, with the member of the last reply that it names, as `@name@`, in place of that name."""
    named = NAMED.search(request)
    if named is None:
        return request
    value = re.search(rb'"%b": ?"?([^",}]*)' % named[1], reply)
    head, _, body = NAMED.sub(value[1] if value else b"", request).partition(b"\r\n\r\n")
    return CONTENT_LENGTH.sub(b"\r\nContent-Length: %d" % len(body), head) + b"\r\n\r\n" + body


def pipeline(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Each client sends thousands of requests without waiting for replies, and again once all are answered."""
    request = requests[0]
    count = min(PIPELINED, PIPELINED_BYTES // len(request))
    for client in range(clients):
        threading.Thread(target=pipeline_one, args=(port, request * count, count, client, tally), daemon=True).start()


def pipeline_one(port: int, requests: bytes, count: int, client: int, tally: Tally) -> None:
    """Run one pipelining client: it reads replies while a thread sends requests."""
    while True:
        try:
            connection = Connection(port, TIMEOUT_SECONDS)
            while True:
                tally.begin(client)
                threading.Thread(target=send_quietly, args=(connection, requests), daemon=True).start()
                for _ in range(count - 1):
                    tally.count(*connection.receive())
                tally.end(client, *connection.receive())
        except (OSError, ValueError):
            tally.broke(client)
            time.sleep(PAUSE_SECONDS)


def send_quietly(connection: Connection, data: bytes) -> None:
    """Send, ignoring errors: the thread that reads the replies notices when the connection ends."""
    with contextlib.suppress(OSError):
        connection.send(data)


def never_read(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Every client sends requests as long as the server takes them, and never reads."""
    request = requests[0]
    sockets = [connected(port, is_small=True) for _ in range(clients)]
    sent = dict.fromkeys(sockets, 0)
    while sent:
        _, writable, _ = select.select([], list(sent), [], 1.0)
        for each in writable:
            try:
                sent[each] = (sent[each] + each.send(request[sent[each] :])) % len(request)
            except BlockingIOError:
                continue
            except OSError:
                del sent[each]  # the server closed the connection
        tally.say_replied()
        time.sleep(PAUSE_SECONDS / 20)


def leave(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Each client connects, sends a request, and closes the connection while the request is worked on; repeatedly."""
    request = requests[0]
    for _ in range(clients):
        threading.Thread(target=leave_one, args=(port, request, tally), daemon=True).start()


def leave_one(port: int, request: bytes, tally: Tally) -> None:
    """Run one client that leaves."""
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as made:
            made.sendall(request)
            time.sleep(PAUSE_SECONDS)
        tally.say_replied()


def arrive(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """All clients connect and send a request at the same moment, each leaves with its reply, and all come again."""
    request = requests[0]
    while True:
        sockets = {made.fileno(): made for made in [connected(port) for _ in range(clients)]}
        poll = select.poll()
        for number in sockets:
            tally.begin(number)
            poll.register(number, select.POLLOUT)
        while sockets:
            for number, event in poll.poll(TIMEOUT_SECONDS * 1000):
                made = sockets[number]
                try:
                    if event & select.POLLOUT:
                        made.sendall(request)
                        poll.modify(number, select.POLLIN)
                        continue
                    head, _, body = made.recv(1 << 16).partition(b"\r\n\r\n")
                    tally.end(number, int(head.split(b" ", 2)[1]), body)
                except (OSError, IndexError):
                    tally.broke(number)
                poll.unregister(number)
                sockets.pop(number).close()


def half_body(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Every client sends the first half of a request."""
    request = requests[0]
    half = memoryview(request)[: len(request) // 2]
    sent = {connected(port): 0 for _ in range(clients)}
    kept = list(sent)
    while sent:
        _, writable, _ = select.select([], list(sent), [], 1.0)
        for each in writable:
            try:
                sent[each] += each.send(half[sent[each] :])
            except BlockingIOError:
                continue
            except OSError:
                sent[each] = len(half)
            if sent[each] == len(half):
                del sent[each]
    tally.say_replied()
    hold(kept)


def idle(port: int, _requests: Requests, clients: int, tally: Tally) -> None:
    """Every client connects, or tries to, and sends nothing."""
    kept = []
    for _ in range(clients):
        with contextlib.suppress(OSError):
            kept.append(connected(port))
    tally.say_replied()
    hold(kept)


def be_killed(port: int, requests: Requests, clients: int, tally: Tally) -> None:
    """Each client gets a reply and keeps its connection. Then the process of all of them is killed; repeatedly."""
    while True:
        Child("holder", port, clients, requests[0].hex()).kill()
        time.sleep(AFTERMATH_SECONDS)
        tally.say_replied()


def connected(port: int, *, is_small: bool = False) -> socket.socket:
    """Return a socket that does not block; `is_small` gives it a small receive buffer."""
    made = socket.socket()
    if is_small:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
    made.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        made.connect(("127.0.0.1", port))
    return made


def hold(sockets: list[socket.socket]) -> None:
    """Keep the connections open until the process ends."""
    while sockets:
        time.sleep(1.0)


BEHAVIOURS: dict[str, Run] = {
    "repeat": repeat,
    "pipeline": pipeline,
    "together": together,
    "never read": never_read,
    "leave": leave,
    "arrive": arrive,
    "half body": half_body,
    "idle": idle,
    "be killed": be_killed,
    "dax": repeat_on_node,
}
