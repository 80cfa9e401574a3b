"""What do many clients do that act together? All connect, all send their request at once,
all leave after the last reply; repeatedly.
"""

import re
import select
import socket
from collections.abc import Sequence
from time import sleep

from torture.stalls.tally import Tally

CONNECT_PAUSE_SECONDS = 0.0005
"""Pause between two connections: a server's queue of connections to be accepted is short."""
ROUND_SECONDS_MAX = 120.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


class Member:
    """One client of a crowd."""

    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setblocking(False)
        self.unsent = memoryview(request)
        self.reply = bytearray()

    def send(self) -> None:
        """Send as much of the request as the socket takes now."""
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent) :]
        except BlockingIOError:
            return

    def receive(self) -> tuple[int, bytes] | None:
        """Return status and body once the reply is complete; raises ConnectionError when the connection ends before."""
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return None
        if not data:
            raise ConnectionError("the server closed the connection")
        self.reply += data
        head_bytes = self.reply.find(b"\r\n\r\n")
        found = _LENGTH.search(self.reply, 0, max(head_bytes, 0))
        if found is None or len(self.reply) < head_bytes + 4 + int(found[1]):
            return None
        return int(self.reply.split(b" ", 2)[1]), bytes(self.reply[head_bytes + 4 :])


def together(port: int, requests: Sequence[bytes], clients: int, tally: Tally) -> None:
    """Run rounds of the crowd without end."""
    request = requests[0]
    while True:
        members = {}
        for _ in range(clients):
            member = Member(port, request)
            members[member.socket.fileno()] = member
            sleep(CONNECT_PAUSE_SECONDS)
        for number in members:
            tally.begin(number)
        one_round(members, tally)
        for member in members.values():
            member.socket.close()


def one_round(members: dict[int, Member], tally: Tally) -> None:
    """Let all members send, and read all replies."""
    poll = select.poll()
    for number, member in members.items():
        member.send()
        poll.register(number, select.POLLIN | (select.POLLOUT if member.unsent else 0))
    left = set(members)
    while left:
        for number, event in poll.poll(ROUND_SECONDS_MAX * 1000):
            member = members[number]
            try:
                if event & select.POLLOUT:
                    member.send()
                    if not member.unsent:
                        poll.modify(number, select.POLLIN)
                answer = member.receive() if event & ~select.POLLOUT else None
            except OSError:
                tally.broke(number)
            else:
                if answer is None:
                    continue
                tally.end(number, *answer)
            poll.unregister(number)
            left.discard(number)
