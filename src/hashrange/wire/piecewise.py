"""How is JSON of very many values decoded, and freed? Piece by piece, so that others have their turn in between.

The decoder makes everything in one call: of 1 MB of the smallest values that takes 35 ms, and freeing them 10. What comes out of the
pieces is what the decoder would have made, and what it refuses is refused, too.

A piece is a run of members of a list or map, up to a comma where as many brackets were opened as closed. Where none is found (a long
member, brackets in texts), the members are told apart without being made, and each is decoded by itself.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hashrange.items.steps import PIECE_BYTES, look, spend, walk

Decode = Callable[[bytes], Any]
"""Makes values of a text. Raises msgspec.DecodeError, ValueError or RecursionError."""

LEVELS_MAX = 80
"""What stands deeper is decoded at once; attribute values may nest 32 levels, of two or three of JSON each."""
COMMAS_MAX = 500
"""Looked at until a piece ends before one of them: 0.5 ms."""
LEFT_MEMBERS_MAX = 2_048
"""Of a list or map that is left to be freed in one call: as many names as an expression that is kept may have (`expressions/cache.py`)."""
FREED_TOGETHER = 512
"""Members of a longer one that are freed in one call."""

_CONTAINERS = (list, dict)
_JSON_BLANKS = b" \t\n\r"
_tell_list_apart = msgspec.json.Decoder(list[msgspec.Raw]).decode
_tell_map_apart = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode_in_pieces(text: bytes, decode: Decode, levels: int = 0) -> Any:
    """As `decode(text)`, of which pieces of `text` are asked. Raises what it raises."""
    if len(text) <= PIECE_BYTES or levels >= LEVELS_MAX:
        spend(len(text) >> 6)
        return decode(text)
    text = text.strip(_JSON_BLANKS)
    if text.startswith(b"["):
        found: list[Any] = []
        rest = _decode_runs(text, b"[%b]", decode, found.extend)
        found.extend(decode_in_pieces(bytes(one), decode, levels + 1) for one in walk(_tell_list_apart(rest)))
        return found
    if text.startswith(b"{"):
        named: dict[str, Any] = {}
        rest = _decode_runs(text, b"{%b}", decode, named.update)
        for name, one in walk(_tell_map_apart(rest).items()):
            named[name] = decode_in_pieces(bytes(one), decode, levels + 1)
        return named
    return decode(text)


def _decode_runs(text: bytes, frame: bytes, decode: Decode, add: Callable[[Any], object]) -> bytes:
    """Add the members of a list or map, piece by piece, and return it with what is left, which is no piece, or nothing."""
    place = 1
    while (end := _end_of_run(text, place)) is not None:
        run = _decode_run(frame % text[place:end], decode)
        if not run:
            break
        add(run)
        place = end + 1
    rest = text[:1] + text[place:]
    if place > 1 and not rest[1:].strip(_JSON_BLANKS).strip(b"]}"):
        raise ValueError("nothing stands between a comma and a closing bracket")
    if len(rest) > PIECE_BYTES:
        return rest
    add(decode(rest))
    return frame % b""


def _end_of_run(text: bytes, place: int) -> int | None:
    """Where the next piece ends; None when what is left is short, or no end is found."""
    end = place + PIECE_BYTES
    if end >= len(text):
        return None
    spend(PIECE_BYTES >> 6)
    depth = _opened(text, place, end)
    for _ in range(COMMAS_MAX):
        comma = text.rfind(b",", place, end)
        if comma < 0:
            return None
        depth -= _opened(text, comma, end)
        if not depth:
            return comma
        end = comma
    return None


def _opened(text: bytes, place: int, end: int) -> int:
    """How many more brackets are opened than closed."""
    count = text.count
    return count(b"{", place, end) + count(b"[", place, end) - count(b"}", place, end) - count(b"]", place, end)


def _decode_run(text: bytes, decode: Decode) -> Any:
    """The members; None when it was no run."""
    try:
        return decode(text)
    except (msgspec.DecodeError, ValueError):
        return None


def let_go(request: msgspec.Struct) -> None:
    """Free what is large in a request, part by part, for a million values at once take 0.1 s. Nobody may need it any more."""
    for name in request.__struct_fields__:
        value = getattr(request, name)
        if value.__class__ in _CONTAINERS:
            free(value)
        for parts in value.values() if isinstance(value, dict) else (value,):
            while isinstance(parts, list) and parts:
                parts.pop()
                look()


def free(value: list[Any] | dict[str, Any], levels: int = 0) -> None:
    """Empty the long lists and maps in it, in pieces; what is short is left as it is, for compiled expressions may have kept it."""
    if len(value) > LEFT_MEMBERS_MAX:
        while value:
            if isinstance(value, list):
                del value[-FREED_TOGETHER:]
            else:
                for _ in range(min(FREED_TOGETHER, len(value))):
                    value.popitem()
            look()
    elif levels < LEVELS_MAX:
        for part in walk(value.values() if isinstance(value, dict) else value):
            if part and part.__class__ in _CONTAINERS:
                free(part, levels + 1)
