"""`--others`: the head of a reply is handed on in linear time, whatever the other emulator writes into it."""

import time
import timeit

from hashrange.functions.http_client import RemoteReply
from hashrange.server.protocols.unserved.handing_on import _lines_of
from hashrange.wire.http import HeaderLayout, HttpRequest

REQUEST = HttpRequest(b"GET", b"/", HeaderLayout(()), [None], b"", keeps_alive=True)


def cpu_seconds(fields: int) -> float:
    """CPU time of handing on the head of a reply with this many headers, and as many names in `Connection`;
    the load of other processes does not count.
    """
    names = b",".join(b"%x" % number for number in range(fields))
    reply = RemoteReply(200, {}, b"", [(b"Connection", names), *[(b"a", b"")] * fields, (b"Content-Length", b"0")])

    def hand_on() -> None:
        assert b"content-security-policy" in _lines_of(reply, REQUEST).lower()

    return min(timeit.repeat(hand_on, timer=time.process_time, number=1, repeat=5))


def test_the_time_grows_with_the_length_and_not_with_its_square() -> None:
    """Four times as many headers take at most 4 times as long; with quadratic time it would be 16 times."""
    assert cpu_seconds(6_000) < 8 * cpu_seconds(1_500)
