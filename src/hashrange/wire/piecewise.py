"""How is JSON with very many values decoded and freed? Piece by piece, giving way in between.

One call takes 35 ms to decode 1 MB of the smallest values, and 10 ms to free them. Decoding in pieces gives the same
values, and refuses the same texts, as one call.

A piece consists of consecutive members of a list or map, up to a comma before which all opened brackets are closed. If
no such comma is found (a long member, brackets in texts), the members are separated undecoded, and each is decoded by
itself.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from hashrange.items.large_json import find_end_of_value
from hashrange.items.steps import PIECE_BYTES, look, spend, walk

Decode = Callable[[bytes], Any]
"""Decodes a JSON text. Raises msgspec.DecodeError, ValueError or RecursionError."""

LEVELS_MAX = 80
"""Lists and maps inside this many others are decoded in one call. Attribute values may nest 32 levels, each of which is
two or three levels of JSON."""
COMMAS_MAX = 500
"""Commas that are tried, at most, as the end of one piece; takes at most 0.5 ms."""
LEFT_MEMBERS_MAX = 2_048
"""Lists and maps of at most this many members are freed in one call, and not emptied by `free`: a cached expression,
which has at most as many names, may still use them (`expressions/cache.py`)."""
FREED_TOGETHER = 512
"""A list or map with more than LEFT_MEMBERS_MAX members is freed this many members at a time, giving way in between."""

COMMAS_TOLD_MAX = 16_384
"""Commas of a map whose members one call separates, in at most 10 ms; the first members of a longer one are separated
one at a time.
"""

_CONTAINERS = (list, dict)
_JSON_BLANKS = b" \t\n\r"
_NO_MEMBER = _JSON_BLANKS + b"]}"
_decode_name = msgspec.json.Decoder(str).decode
_tell_list_apart = msgspec.json.Decoder(list[msgspec.Raw]).decode
_tell_map_apart = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def decode_in_pieces(text: bytes, decode: Decode, levels: int = 0) -> Any:
    """Like `decode(text)`, but calls `decode` with pieces of `text`, giving way. Raises what `decode` raises."""
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
        while _has_many_commas(rest) and (first := _first_members(rest)):
            place, members = first
            named.update((name, decode_in_pieces(one, decode, levels + 1)) for name, one in members)
            rest = _decode_runs(_without_first(rest, place), b"{%b}", decode, named.update)
        look()
        for name, one in walk(_tell_map_apart(rest).items()):
            named[name] = decode_in_pieces(_copied(one), decode, levels + 1)
        return named
    return decode(text)


def _has_many_commas(text: bytes) -> bool:
    """True if there are more than COMMAS_TOLD_MAX, in texts too."""
    count = 0
    for start in range(0, len(text), PIECE_BYTES):
        spend(PIECE_BYTES >> 8)
        count += text.count(b",", start, start + PIECE_BYTES)
        if count > COMMAS_TOLD_MAX:
            return True
    return False


def _first_members(text: bytes) -> tuple[int, list[tuple[str, bytes]]] | None:
    """The first members of a map, and where the following one begins; gives way.

    They have PIECE_BYTES or more, and at least a 16th of the map, which is copied without them. None if they cannot be
    told apart, or if no other follows.
    """
    view = memoryview(text)
    members: list[tuple[str, bytes]] = []
    place = 1
    size_bytes = max(PIECE_BYTES, len(text) >> 4)
    try:
        while place <= size_bytes:
            colon = find_end_of_value(view, place, b":")
            end = find_end_of_value(view, colon + 1, b",")
            members.append((_decode_name(view[place:colon]), bytes(view[colon + 1 : end])))
            place = end + 1
    except msgspec.DecodeError:
        return None
    return place, members


def members_of_list(text: bytes) -> list[bytes]:
    """The texts of the members of a list; gives way. Raises msgspec.DecodeError, ValueError or RecursionError."""
    text = text.strip(_JSON_BLANKS)
    found: list[msgspec.Raw] = []
    rest = _decode_runs(text, b"[%b]", _tell_list_apart, found.extend) if text.startswith(b"[") else text
    look()
    found += _tell_list_apart(rest)
    return [_copied(one) for one in walk(found)]


def _copied(raw: msgspec.Raw) -> bytes:
    """Copy the text of a list's element or a map's value; gives way before a long one: 1 MB takes up to 1 ms."""
    if len(raw) > PIECE_BYTES:
        look()
    return bytes(raw)


def _decode_runs(text: bytes, frame: bytes, decode: Decode, add: Callable[[Any], object]) -> bytes:
    """Decode the text of a list or map piece by piece, and pass each decoded piece to `add`. `frame`: `[%b]` or `{%b}`.

    Returns the text of a list or map of the last members, if they are not decoded because no piece can be cut from
    them; otherwise that of an empty one.
    """
    place = 1
    while (end := _end_of_run(text, place)) is not None:
        try:
            run = decode(frame % text[place:end])
        except (msgspec.DecodeError, ValueError):  # no complete list or map
            break
        if not run:
            break
        add(run)
        place = end + 1
    rest = _without_first(text, place) if place > 1 else text
    if len(rest) > PIECE_BYTES:
        return rest
    add(decode(rest))
    return frame % b""


def _without_first(text: bytes, place: int) -> bytes:
    """The text of a list or map without the members before `place`, where the next one should begin.

    Raises ValueError if none does.
    """
    if _is_nothing(text, place):
        raise ValueError("nothing stands between a comma and a closing bracket")
    look()
    return b"".join((text[:1], memoryview(text)[place:]))


def _end_of_run(text: bytes, place: int) -> int | None:
    """Position of the comma that ends the piece of `text` beginning at `place`.

    None if at most PIECE_BYTES follow `place`, or if none of the last `COMMAS_MAX` commas in the next PIECE_BYTES is
    outside all brackets.
    """
    end = place + PIECE_BYTES
    if end >= len(text):
        return None
    spend(PIECE_BYTES >> 6)
    depth = _depth_change(text, place, end)
    for _ in range(COMMAS_MAX):
        comma = text.rfind(b",", place, end)
        if comma < 0:
            return None
        depth -= _depth_change(text, comma, end)
        if not depth:
            return comma
        end = comma
    return None


def _is_nothing(text: bytes, place: int) -> bool:
    """True if `text[place:]` consists only of blanks and closing brackets."""
    if text[place : place + PIECE_BYTES].strip(_NO_MEMBER):
        return False
    look()
    return not text[place:].strip(_NO_MEMBER)


def _depth_change(text: bytes, place: int, end: int) -> int:
    """Number of opened minus number of closed brackets in `text[place:end]`."""
    count = text.count
    return count(b"{", place, end) + count(b"[", place, end) - count(b"}", place, end) - count(b"]", place, end)


def free_request(request: msgspec.Struct) -> None:
    """Free a request's large members in pieces: a million values at once take 0.1 s. Do not use the request again."""
    for name in request.__struct_fields__:
        value = getattr(request, name)
        if value.__class__ in _CONTAINERS:
            free(value)
        for parts in value.values() if isinstance(value, dict) else (value,):
            while isinstance(parts, list) and parts:
                parts.pop()
                look()


def free_unshared(decoded: dict[str, Any], request: dict[str, Any]) -> None:
    """Empty the members of `decoded` that are long lists or maps, piece by piece, except those that `request` shares.

    `request` was made from `decoded`. Lists and maps inside the members are not emptied, as `request` may share them.
    """
    for name, value in decoded.items():
        if value.__class__ in _CONTAINERS and len(value) > LEFT_MEMBERS_MAX and value is not request.get(name):
            empty(value)


def free(value: list[Any] | dict[str, Any], levels: int = 0) -> None:
    """Empty `value` or, if it is short, the long lists and maps in it, piece by piece.

    Short lists and maps are left as they are, because compiled expressions may still use them.
    """
    if len(value) > LEFT_MEMBERS_MAX:
        empty(value)
    elif levels < LEVELS_MAX:
        for part in walk(value.values() if isinstance(value, dict) else value):
            if part and part.__class__ in _CONTAINERS:
                free(part, levels + 1)


def empty(value: list[Any] | dict[str, Any]) -> None:
    """Empty a list or map piece by piece, giving way."""
    while value:
        if isinstance(value, list):
            del value[-FREED_TOGETHER:]
        else:
            for _ in range(min(FREED_TOGETHER, len(value))):
                value.popitem()
        look()
