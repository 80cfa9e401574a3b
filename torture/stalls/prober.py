"""How long does an ordinary client wait? `python -m torture.stalls.prober PORT PROBE`: one connection,
one small read, repeatedly.

A request is sent a millisecond after the last reply, so that the prober itself is hardly any load. A broken connection
counts as a wait until a new one answers. The prober ends when its input ends, and prints its waits as JSON.
"""

import gc
import math
import sys
import time

import msgspec

from benchmarks.client import Connection
from torture.kinds.kind import Probe
from torture.stalls.children import has_input_ended, now, wait_for_go
from torture.stalls.probes import PROBES

PAUSE_SECONDS = 0.001
RETRY_SECONDS = 0.02
WARM_UP = 50
TIMEOUT_SECONDS = 120.0


class Waits(msgspec.Struct, frozen=True):
    """The report of a prober."""

    requests: int
    max_ms: float
    p999_ms: float
    broken: int
    refused: int


class Prober:
    """A client that measures its waits."""

    def __init__(self, port: int, probe: Probe) -> None:
        self.port = port
        self.waits_ms: list[float] = []
        self.broken = self.refused = 0
        self.connection: Connection | None = Connection(port, TIMEOUT_SECONDS)
        self.request = PROBES[probe](f"127.0.0.1:{port}", self.connection)

    def ask(self) -> None:
        """Send a request until it is answered, and note the wait; gives up when the harness has ended."""
        began = now()
        while not self.is_answered():
            self.broken += 1
            if has_input_ended(RETRY_SECONDS):
                break
        self.waits_ms.append((now() - began) * 1000)

    def is_answered(self) -> bool:
        """Send the request once; False when the connection breaks, or cannot be opened."""
        try:
            if self.connection is None:
                self.connection = Connection(self.port, TIMEOUT_SECONDS)
            self.connection.send(self.request)
            self.refused += self.connection.receive()[0] != 200
        except (OSError, ValueError):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return False
        return True

    def report(self) -> Waits:
        """Return all waits except those of the warm-up."""
        return Waits(
            len(self.waits_ms), max(self.waits_ms), percentile(self.waits_ms, 0.999), self.broken, self.refused
        )


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that at least this share of the values do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def main() -> int:
    """Run the prober; return the exit status."""
    port, probe = sys.argv[1:]
    prober = Prober(int(port), msgspec.convert(probe, Probe))
    for _ in range(WARM_UP):
        prober.ask()
    prober.waits_ms.clear()
    gc.disable()
    wait_for_go()
    while True:
        prober.ask()
        if has_input_ended(0):
            break
        time.sleep(PAUSE_SECONDS)
    sys.stdout.buffer.write(msgspec.json.encode(prober.report()) + b"\n")
    sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
