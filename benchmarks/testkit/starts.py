"""How long until a database in this process is ready? A program for a fresh process: prints milliseconds as JSON.

Nothing of Hashrange is imported before the measurement: the first database's time includes all that it imports late.
"""

import json
import time

NEXT = 10
"""Further databases in the same process, one after the other."""


def since_ms(began: float) -> float:
    """Milliseconds since a moment of `time.perf_counter`."""
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure and print."""
    began = time.perf_counter()
    from hashrange.testing import server

    figures: dict[str, list[float]] = {"import": [since_ms(began)], "first": [], "next": [], "close": []}
    for number in range(1 + NEXT):
        began = time.perf_counter()
        with server():
            figures["next" if number else "first"].append(since_ms(began))
            began = time.perf_counter()
        figures["close"].append(since_ms(began))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
