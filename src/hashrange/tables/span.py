"""What is a span? The range of keys that a read walks."""

from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of keys, `lower <= key < upper`; an exclusive start is just a narrower span."""

    lower: bytes
    upper: bytes
    is_reverse: bool = False
