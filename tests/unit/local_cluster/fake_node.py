"""A program that stands for a node of Cassandra, and what answers CQL in it. It imports little, to start quickly."""

import json
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

HEAD = struct.Struct(">BBhBi")
ERROR, READY, QUERY, RESULT = 0x00, 0x02, 0x07, 0x08


def answer(connection: socket.socket, execute: Callable[[str, int], bytes | str]) -> None:
    """Answer the frames of a connection as a node does. `execute`: query and level → what ends the reply, or why it is
    refused.
    """
    with connection, suppress(OSError, struct.error):
        while True:
            _, _, _, opcode, length = HEAD.unpack(connection.recv(HEAD.size, socket.MSG_WAITALL))
            body = connection.recv(length, socket.MSG_WAITALL) if length else b""
            reply, told = READY, b""
            if opcode == QUERY:
                size = int.from_bytes(body[:4], "big")
                found = execute(body[4 : 4 + size].decode(), int.from_bytes(body[4 + size : 6 + size], "big"))
                if isinstance(found, bytes):
                    reply, told = RESULT, b"the columns" + found
                else:
                    reply, told = ERROR, struct.pack(">iH", 0x1000, len(found)) + found.encode()
            connection.sendall(HEAD.pack(0x84, 0, 0, reply, len(told)) + told)


def run_node(words: list[str]) -> None:
    """Be a node: read the settings that are named, and answer at their address until a signal ends it."""
    (config,) = (word.partition("file://")[2] for word in words if word.startswith("-Dcassandra.config="))
    path = Path(unquote(config))
    lines = path.read_text(encoding="utf-8").splitlines()
    settings = {name: json.loads(value) for name, _, value in (line.partition(": ") for line in lines)}
    if (path.parent / "broken").exists():
        sys.exit("the disk is broken")
    if (path.parent / "stubborn").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    listener = socket.create_server((settings["rpc_address"], settings["native_transport_port"]))
    (path.parent / "data").mkdir(exist_ok=True)

    heard: list[str] = []
    known = settings["seed_provider"][0]["parameters"][0]["seeds"].split(",")[1:]

    def execute(query: str, level: int) -> bytes | str:
        """Know one node more each time when asked for the others, as gossip spreads."""
        with (path.parent / "data" / "queries").open("a") as file:
            file.write(f"{level} {query}\n")
        if "count" not in query:
            return b""
        heard.extend(known[len(heard) : len(heard) + 1])
        return struct.pack(">q", len(heard))

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection, execute), daemon=True).start()


if __name__ == "__main__":
    run_node(sys.argv[1:])
