"""How do hostile clients use a node of DAX? Each greets it, sends the requests,
waits for the reply of each, and begins again.
"""

import socket
import threading
import time
from collections.abc import Sequence
from itertools import cycle

from hashrange.wire.dax.requests import Skim
from torture.kinds.dax import greeting
from torture.stalls.tally import Tally

TIMEOUT_SECONDS = 120.0
PAUSE_SECONDS = 0.02
RECEIVE_BYTES = 1 << 18
SUCCESS = 0x80
RESULT_VALUES, ERROR_VALUES = 2, 3


def repeat_on_node(port: int, requests: Sequence[bytes], clients: int, tally: Tally) -> None:
    """Run the clients; `port` is the node's."""
    for client in range(clients):
        threading.Thread(target=repeat_one, args=(port, requests, client, tally), daemon=True).start()


def repeat_one(port: int, requests: Sequence[bytes], client: int, tally: Tally) -> None:
    """Run one client; a broken connection is opened again."""
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as made:
                made.sendall(greeting())
                for request in cycle(requests):
                    tally.begin(client)
                    made.sendall(request)
                    tally.end(client, *reply_of(made))
        except (OSError, ValueError):
            tally.broke(client)
            time.sleep(PAUSE_SECONDS)


def reply_of(made: socket.socket) -> tuple[int, bytes]:
    """Status, 200 or 400, and bytes of the next reply; raises ConnectionError when the connection ends before."""
    content = bytearray()
    skim: Skim | None = None
    while skim is None or not skim.goes_on(content):
        data = made.recv(RECEIVE_BYTES)
        if not data:
            raise ConnectionError("the node closed the connection")
        content += data
        if skim is None:
            skim = Skim(RESULT_VALUES if content[0] == SUCCESS else ERROR_VALUES)
    return (200 if content[0] == SUCCESS else 400), bytes(content)
