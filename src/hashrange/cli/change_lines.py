"""How does `hashrange tail` show a change? As one line: time, event, key, and what the record
tells of the other attributes.

    2026-11-22 20:20:22  MODIFY  pk "user-1": visits 1 → 2, + email "a@b.c", - name "Ada"

Time is UTC. Values are written much as in PartiQL, but with the quotation marks of JSON. Maps are compared member by
member, other values as a whole. Long values are cut, and characters that a terminal would take as instructions are
escaped.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from hashrange.cli.folding import Colour, HeadedLine
from hashrange.terminal import escape_json

WireItem = Mapping[str, Mapping[str, Any]]

VALUE_CHARACTERS_MAX = 80
COLOURS: Mapping[str, Colour] = {"INSERT": "green", "MODIFY": "yellow", "REMOVE": "red"}
NOTHING: WireItem = {}

_is_plain_name = re.compile(r"[A-Za-z0-9_-]+").fullmatch


def change_line(record: Mapping[str, Any]) -> HeadedLine:
    """The line that shows a stream record (from GetRecords); its head has time and event."""
    content = record["dynamodb"]
    keys: WireItem = content["Keys"]
    at = datetime.fromtimestamp(content["ApproximateCreationDateTime"], UTC).strftime("%Y-%m-%d %H:%M:%S")
    key = ", ".join(f"{_name(name)} {_value(value)}" for name, value in keys.items())
    by = " by time to live" if record.get("userIdentity", {}).get("PrincipalId") == "dynamodb.amazonaws.com" else ""
    changes = ", ".join(_changes(record["eventName"], content))
    event = record["eventName"]
    return HeadedLine(f"{at}  {event}{by}  ", f"{key}{': ' if changes else ''}{changes}", event, COLOURS.get(event))


def _changes(event: str, content: Mapping[str, Any]) -> Iterator[str]:
    """Texts for changes of non-key attributes. If the stream has only one image, a MODIFY lists the image's values."""
    keys, view = content["Keys"], content["StreamViewType"]
    old, new = ({k: v for k, v in content.get(n, NOTHING).items() if k not in keys} for n in ("OldImage", "NewImage"))
    if event == "MODIFY" and view == "NEW_IMAGE":
        yield from (f"now {_name(name)} {_value(value)}" for name, value in new.items())
    elif event == "MODIFY" and view == "OLD_IMAGE":
        yield from (f"was {_name(name)} {_value(value)}" for name, value in old.items())
    else:
        yield from _differences(old, new, "")


def _differences(old: WireItem, new: WireItem, path: str) -> Iterator[str]:
    """Texts for the changed, then the added, then the removed members of an item or map.

    A changed member that is a map before and after yields the texts of its own members. `path`: the map's path, ending
    with a dot; "" for the item. Removed members are in the order of `old`, the others in that of `new`.
    """
    for name, value in new.items():
        before = old.get(name)
        if before is None or before == value:
            continue
        if "M" in before and "M" in value:
            yield from _differences(before["M"], value["M"], f"{path}{_name(name)}.")
        elif not _is_same_set(before, value):
            yield f"{path}{_name(name)} {_value(before)} → {_value(value)}"
    yield from (f"+ {path}{_name(name)} {_value(value)}" for name, value in new.items() if name not in old)
    yield from (f"- {path}{_name(name)} {_value(value)}" for name, value in old.items() if name not in new)


def _is_same_set(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """True if two attribute values are sets of one type with the same members, in any order."""
    ((old_type, old_value),), ((new_type, new_value),) = old.items(), new.items()
    return old_type == new_type and old_type in {"SS", "NS", "BS"} and sorted(old_value) == sorted(new_value)


def _name(name: str) -> str:
    return name if _is_plain_name(name) else _quoted(name)


def _value(value: Mapping[str, Any]) -> str:
    """An attribute value as text. A long one is cut, and its length told: characters of a string,
    bytes of a binary value, else characters here.
    """
    ((kind, content),) = value.items()
    if kind == "S" and len(content) > VALUE_CHARACTERS_MAX:
        return f"{_quoted(content[:VALUE_CHARACTERS_MAX])}… ({len(content):,} characters)"
    if kind == "B" and len(content) > VALUE_CHARACTERS_MAX:
        size_bytes = len(content) * 3 // 4 - content.count("=")
        return f"b64 {_quoted(content[:VALUE_CHARACTERS_MAX])}… ({size_bytes:,} bytes)"
    text = _whole(value)
    if kind in {"S", "B"} or len(text) <= VALUE_CHARACTERS_MAX:
        return text
    return f"{text[:VALUE_CHARACTERS_MAX]}… ({len(text):,} characters)"


def _whole(value: Mapping[str, Any]) -> str:
    """An attribute value as text, at full length."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return _quoted(content)
        case "BOOL":
            return "true" if content else "false"
        case "NULL":
            return "null"
        case "B":
            return f"b64 {_quoted(content)}"
        case "SS" | "NS" | "BS":
            return f"<<{', '.join(_whole({kind[0]: member}) for member in content)}>>"
        case "L":
            return f"[{', '.join(map(_whole, content))}]"
        case "M":
            return f"{{{', '.join(f'{_name(name)}: {_whole(member)}' for name, member in content.items())}}}"
    return str(content)


def _quoted(text: str) -> str:
    """The text in JSON's quotation marks, with unprintable characters escaped."""
    return escape_json(json.dumps(text, ensure_ascii=False))
