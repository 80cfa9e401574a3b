"""What is a span? The range of keys that a read walks."""

import msgspec


class Span(msgspec.Struct, frozen=True, gc=False):
    """A half-open range of keys, `lower <= key < upper`; reading after a start key means reading a narrower span."""

    lower: bytes
    upper: bytes
    is_reverse: bool = False
