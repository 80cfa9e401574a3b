"""How are requests sent at a fixed rate? wrk cannot, so this program does:
`python -m benchmarks.steady PORT RATE CONNECTIONS FILE…`

Request number n is due n / RATE seconds after the start, whatever the server does; its latency counts from then,
so a stall of the server counts for every request that it delays. Requests come from the files in turns.
The program ends when its input ends, and prints the results of each file as one line of JSON.
Latencies include the timer's delay of some 0.1 ms.
"""

import gc
import json
import math
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TextIO

import msgspec

from benchmarks.generator import LoadFailed
from benchmarks.processes import die_with_parent, on_cores

ROOT = Path(__file__).resolve().parent.parent
DRAIN_SECONDS_MAX = 5.0
WAIT_SECONDS_MAX = 0.5


class Seen(msgspec.Struct, frozen=True):
    """Results of one file's requests; latencies count from when requests were due."""

    requests: int
    refused: int
    refusal: str
    """The first refusal's message."""
    p50_ms: float
    p99_ms: float
    max_ms: float


class SteadyReport(msgspec.Struct, frozen=True):
    """The report of a run."""

    seconds: float
    broken: int
    seen: tuple[Seen, ...]


class SteadyLoad:
    """The generator in a process of its own, running until `end`."""

    def __init__(self, port: int, rate: int, connections: int, files: Sequence[Path], cores: str) -> None:
        command = [sys.executable, "-m", "benchmarks.steady", *map(str, (port, rate, connections, *files))]
        self._popen = subprocess.Popen(
            on_cores(command, cores),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - no threads here
        )
        assert self._popen.stdout is not None
        self._popen.stdout.readline()  # waits until the generator has begun

    def run_first(self) -> None:
        """Let the kernel run the generator before all other processes, if it may be asked to:
        else the generator's own waits for a core count.

        Only for measurements beside processes that keep all cores busy.
        """
        with suppress(OSError):
            os.sched_setscheduler(self._popen.pid, os.SCHED_RR, os.sched_param(1))

    def kill(self) -> None:
        """Kill the generator if it has not ended; its report is lost."""
        self._popen.kill()
        self._popen.communicate()

    def end(self) -> SteadyReport:
        """Stop the generator and return its report; raises LoadFailed when requests were
        refused or none was answered.
        """
        output, _ = self._popen.communicate(timeout=DRAIN_SECONDS_MAX * 4)
        try:
            report = msgspec.json.decode(output, type=SteadyReport)
        except msgspec.DecodeError:
            raise LoadFailed("the generator of a fixed rate gave no report") from None
        if report.broken or any(one.refused for one in report.seen):
            said = next((one.refusal for one in report.seen if one.refusal), "")
            refused = sum(one.refused for one in report.seen)
            raise LoadFailed(f"{refused} requests beside it were refused, {report.broken} broke: {said}")
        return report


class Lane:
    """A connection with at most one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.due_at = 0.0
        self.kind = 0

    def fileno(self) -> int:
        """Return the socket's file descriptor, for select."""
        return self.socket.fileno()

    def send(self, kind: int, request: bytes, due_at: float) -> None:
        """Send a request of the file number `kind`."""
        self.kind, self.due_at, self.received = kind, due_at, b""
        self.socket.sendall(request)

    def body(self) -> str:
        """Return the beginning of the last reply's body."""
        return self.received.partition(b"\r\n\r\n")[2][:200].decode(errors="replace")

    def receive(self) -> int | None:
        """Return the status when the reply is complete, else None. Raises ConnectionError when the connection ends."""
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("closed")
        self.received += data
        return status_when_whole(self.received)


def status_when_whole(received: bytes) -> int | None:
    """Return the status of a complete reply, by Content-Length or its last chunk; else None."""
    head, separator, body = received.partition(b"\r\n\r\n")
    if not separator:
        return None
    length = -1
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    is_whole = len(body) >= length if length >= 0 else body.endswith(b"0\r\n\r\n")
    return int(head.split(b" ", 2)[1]) if is_whole else None


def read_requests(file: Path) -> list[bytes]:
    """Return the requests of a file written by prepare.write_requests."""
    data = file.read_bytes()
    requests, place = [], 0
    while place < len(data):
        end = data.index(b"\n", place)
        start, place = end + 1, end + 1 + int(data[place:end])
        requests.append(data[start:place])
    return requests


class Generator:
    """Sends due requests and notes the times of replies."""

    def __init__(self, port: int, rate: float, connections: int, requests: Sequence[Sequence[bytes]]) -> None:
        self.port = port
        self.rate = rate
        self.requests = requests
        self.free = [Lane(port) for _ in range(connections)]
        self.busy: list[Lane] = []
        self.latencies: list[list[float]] = [[] for _ in requests]
        self.refused = [0] * len(requests)
        self.refusals = [""] * len(requests)
        self.broken = 0

    def run(self) -> SteadyReport:
        """Send requests until standard input ends."""
        began = time.perf_counter()
        numbers = count()
        number, due_at = next(numbers), began
        while True:
            now = time.perf_counter()
            while self.free and due_at <= now:
                kind = number % len(self.requests)
                chosen = self.requests[kind][number // len(self.requests) % len(self.requests[kind])]
                lane = self.free.pop()
                lane.send(kind, chosen, due_at)
                self.busy.append(lane)
                number = next(numbers)
                due_at = began + number / self.rate
            wait = min(max(0.0, due_at - time.perf_counter()), WAIT_SECONDS_MAX) if self.free else WAIT_SECONDS_MAX
            if self.take_replies([sys.stdin], wait):
                break
        seconds = time.perf_counter() - began
        deadline = time.perf_counter() + DRAIN_SECONDS_MAX
        while self.busy and time.perf_counter() < deadline:
            self.take_replies([], WAIT_SECONDS_MAX)
        self.broken += len(self.busy)
        return SteadyReport(seconds, self.broken, tuple(map(summary, self.latencies, self.refused, self.refusals)))

    def take_replies(self, others: list[TextIO], wait_seconds: float) -> bool:
        """Note the replies that have arrived; True when one of `others` is readable."""
        watched: list[TextIO | Lane] = [*others, *self.busy]
        readable, _, _ = select.select(watched, [], [], wait_seconds)
        now = time.perf_counter()
        is_over = False
        for lane in readable:
            if not isinstance(lane, Lane):
                is_over = True
                continue
            try:
                status = lane.receive()
            except ConnectionError:
                self.broken += 1
                self.busy.remove(lane)
                self.free.append(Lane(self.port))
                continue
            if status is not None:
                self.latencies[lane.kind].append((now - lane.due_at) * 1000)
                if status != 200:
                    self.refused[lane.kind] += 1
                    self.refusals[lane.kind] = self.refusals[lane.kind] or lane.body()
                self.busy.remove(lane)
                self.free.append(lane)
        return is_over


def summary(latencies_ms: list[float], refused: int, refusal: str = "") -> Seen:
    """Return percentiles and counts of one file's requests; 0 without latencies."""
    ordered = sorted(latencies_ms) or [0.0]
    return Seen(len(latencies_ms), refused, refusal, percentile(ordered, 0.5), percentile(ordered, 0.99), ordered[-1])


def percentile(ordered: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of the values do not exceed."""
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def main() -> int:
    """Run the generator; return the exit status."""
    port, rate, connections, *files = sys.argv[1:]
    generator = Generator(int(port), float(rate), int(connections), [read_requests(Path(file)) for file in files])
    gc.disable()
    print("begun", flush=True)
    print(json.dumps(msgspec.to_builtins(generator.run())), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
