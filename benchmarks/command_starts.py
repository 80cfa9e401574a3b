"""`python -m benchmarks.command_starts`: how long does a person wait for the help of a command?

Prints the median and the least time of several starts, and if the median is within the target. The exit status is 1
if one is not. Run it on a machine that does nothing else.
"""

import statistics
import subprocess
import sys
import time

STARTS = 15
TARGETS_MS = {"--help": 150, "design --help": 250}
"""Words behind `hashrange` → milliseconds that it may take."""


def start_ms(words: list[str]) -> float:
    """Milliseconds from the start of a command to its end."""
    before = time.perf_counter()
    subprocess.run([sys.executable, "-m", "hashrange", *words], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - before) * 1000


def main() -> int:
    """Measure all commands, and print a line for each."""
    misses = 0
    for text, target_ms in TARGETS_MS.items():
        measured = [start_ms(text.split()) for _ in range(STARTS)]
        median = statistics.median(measured)
        misses += median > target_ms
        verdict = "yes" if median <= target_ms else "no"
        print(f"hashrange {text}: {median:.0f} ms, at least {min(measured):.0f} ms; within {target_ms} ms: {verdict}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
