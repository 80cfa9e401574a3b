"""What does the prepared process do? It has imported what `hashrange serve` imports, and forks for each start that it
is asked for. It runs no server itself, and ends with the process that started it.

Each start comes as JSON with the descriptors of standard input, output and error, and of a pipe, which gets the
process id, and at its end its status, as of `os.waitpid`.
"""

import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
import time
from typing import Any

LENGTH_MAX = 1 << 20
"""Bytes of a start."""
DESCRIPTORS = 4
NUMBER_BYTES = 8
PRELOADED = ("hashrange.cli.main", "hashrange.cli.serve", "hashrange.cli.log_lines", "hashrange.server.app")


def next_start(requests: socket.socket) -> dict[str, Any]:
    """Wait for starts; returns in a fork for each, which has the descriptors of that start."""
    while True:
        text, descriptors, _, _ = socket.recv_fds(requests, LENGTH_MAX, DESCRIPTORS)
        if not text:
            sys.exit()
        if os.fork() == 0:
            requests.close()
            watch(descriptors)
            start: dict[str, Any] = json.loads(text)
            return start
        for descriptor in descriptors:
            os.close(descriptor)


def watch(descriptors: list[int]) -> None:
    """Return in a fork with these as its own; tell its process id and, once it has ended, its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *streams, told = descriptors
    process = os.fork()
    if process == 0:
        os.close(told)
        for number, descriptor in enumerate(streams):
            os.dup2(descriptor, number)
            os.close(descriptor)
        return
    for descriptor in streams:
        os.close(descriptor)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(told, process.to_bytes(NUMBER_BYTES))
    os.write(told, os.waitpid(process, 0)[1].to_bytes(NUMBER_BYTES))
    os._exit(0)


def become(start: dict[str, Any]) -> None:
    """Let this process be as one that has just been started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(start["environment"])
    os.chdir(start["folder"])
    sys.path[0] = start["folder"]
    time.tzset()
    tempfile.tempdir = None
    sys.argv = start["words"]


def main() -> int:
    """Wait for starts; in the fork for one, run Hashrange's command; returns its exit status."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the process that started this one ends it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended forks go away by themselves
    for module in PRELOADED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    become(next_start(requests))
    gc.unfreeze()
    status: int = sys.modules["hashrange.cli.main"].main()
    return status


if __name__ == "__main__":
    sys.exit(main())
