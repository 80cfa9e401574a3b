"""How many steps does code take? Calls of functions or executed lines: the same on every machine, under any load."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def calls_at_most(number: int) -> Iterator[None]:
    """Fail in the block with the call of a function behind this many."""
    left = number

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal left
        left -= event in ("call", "c_call")
        assert left > 0, f"more than {number:,} calls"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def lines_of(function: Callable[[], object]) -> int:
    """How many lines are executed, counting each turn of a loop."""
    lines = 0

    def trace(_frame: object, event: str, _argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return lines
