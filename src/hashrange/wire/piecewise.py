"""How is JSON with very many values decoded and freed? Piece by piece, giving way in between.

One call takes 35 ms to decode 1 MB of the smallest values, and 10 ms to free them. Decoding in pieces gives the same
values, and refuses the same texts, as one call.

A piece is a run of members of a list or map, up to a comma before which all opened brackets are closed. If no such
comma is found (a long member, brackets in texts), the members are separated undecoded, and each is decoded by itself.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hashrange.items.steps import PIECE_BYTES, look, spend, walk

Decode = Callable[[bytes], Any]
"""Decodes a text. Raises msgspec.DecodeError, ValueError or RecursionError."""

LEVELS_MAX = 80
"""Deeper lists and maps are decoded at once; attribute values may nest 32 levels, each two or three levels of JSON."""
COMMAS_MAX = 500
"""Commas that are tried as the end of a piece, in at most 0.5 ms."""
LEFT_MEMBERS_MAX = 2_048
"""Members of a list or map that is freed in one call; a cached expression has at most as many names
(`expressions/cache.py`)."""
FREED_TOGETHER = 512
"""Members that are freed in one call, of a list or map with more than LEFT_MEMBERS_MAX."""

_CONTAINERS = (list, dict)
_JSON_BLANKS = b" \t\n\r"
_NO_MEMBER = _JSON_BLANKS + b"]}"
_tell_list_apart = msgspec.json.Decoder(list[msgspec.Raw]).decode
_tell_map_apart = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode_in_pieces(text: bytes, decode: Decode, levels: int = 0) -> Any:
    """Like `decode(text)`, but calls `decode` with pieces of `text`. Raises what `decode` raises."""
    if len(text) <= PIECE_BYTES or levels >= LEVELS_MAX:
        spend(len(text) >> 6)
        return decode(text)
    text = text.strip(_JSON_BLANKS)
    if text.startswith(b"["):
        found: list[Any] = []
        rest = _decode_runs(text, b"[%b]", decode, found.extend)
        look()
        found.extend(decode_in_pieces(_copied(one), decode, levels + 1) for one in walk(_tell_list_apart(rest)))
        return found
    if text.startswith(b"{"):
        named: dict[str, Any] = {}
        rest = _decode_runs(text, b"{%b}", decode, named.update)
        look()
        for name, one in walk(_tell_map_apart(rest).items()):
            named[name] = decode_in_pieces(_copied(one), decode, levels + 1)
        return named
    return decode(text)


def _copied(raw: msgspec.Raw) -> bytes:
    """The text of a member; gives way before a long one, because copying 1 MB takes up to 1 ms."""
    if len(raw) > PIECE_BYTES:
        look()
    return bytes(raw)


def _decode_runs(text: bytes, frame: bytes, decode: Decode, add: Callable[[Any], object]) -> bytes:
    """Pass the members of a list or map to `add`, piece by piece.

    Returns the list or map of the members from which no piece can be cut; it may be empty.
    """
    place = 1
    while (end := _end_of_run(text, place)) is not None:
        run = _decode_run(frame % text[place:end], decode)
        if not run:
            break
        add(run)
        place = end + 1
    rest = text
    if place > 1:
        if _is_nothing(text, place):
            raise ValueError("nothing stands between a comma and a closing bracket")
        look()
        rest = b"".join((text[:1], memoryview(text)[place:]))
    if len(rest) > PIECE_BYTES:
        return rest
    add(decode(rest))
    return frame % b""


def _end_of_run(text: bytes, place: int) -> int | None:
    """Position of the comma that ends the next piece; None if the rest is short or no comma fits."""
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


def _is_nothing(text: bytes, place: int) -> bool:
    """True if only blanks and closing brackets follow `place`."""
    if text[place : place + PIECE_BYTES].strip(_NO_MEMBER):
        return False
    look()
    return not text[place:].strip(_NO_MEMBER)


def _opened(text: bytes, place: int, end: int) -> int:
    """Number of opened minus number of closed brackets in `text[place:end]`."""
    count = text.count
    return count(b"{", place, end) + count(b"[", place, end) - count(b"}", place, end) - count(b"]", place, end)


def _decode_run(text: bytes, decode: Decode) -> Any:
    """The decoded members of a run; None if the text is not a complete list or map."""
    try:
        return decode(text)
    except (msgspec.DecodeError, ValueError):
        return None


def free_request(request: msgspec.Struct) -> None:
    """Free a request's large members piece by piece; a million values at once take 0.1 s. Do not use it afterwards."""
    for name in request.__struct_fields__:
        value = getattr(request, name)
        if value.__class__ in _CONTAINERS:
            free(value)
        for parts in value.values() if isinstance(value, dict) else (value,):
            while isinstance(parts, list) and parts:
                parts.pop()
                look()


def free(value: list[Any] | dict[str, Any], levels: int = 0) -> None:
    """Empty long lists and maps in `value`, piece by piece; short ones may still belong to compiled expressions."""
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
