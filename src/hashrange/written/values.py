"""What is wrong with a value that a person wrote, and that a decoder has refused?
One or two sentences that name the member, what it is, and what it must be.

The decoder's own words are for programmers. So what it has refused is looked through again
(value_faults.py), by the same types.
"""

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from hashrange.errors import HashrangeError

if TYPE_CHECKING:
    from hashrange.written.value_faults import Checks, ObjectWord

SHORT_BYTES = 64 * 1024
"""A text of this length is decoded in some 3 ms."""
_find_byte = re.compile(r"\(byte (\d+)\)$").search
_find_place = re.compile(r"\(at (line \d+, column \d+)\)$").search

ACCOUNT_IN_WORDS, REGION_IN_WORDS = "the 12 digits of an account, as text", "the name of a Region, such as eu-west-1"


class TomlFault(HashrangeError):
    """A text cannot be read as TOML. Its text is a sentence that begins with a small letter."""


def fault_in(value: Any, type_: Any, word: "ObjectWord" = "table", checks: "Checks | None" = None) -> str:
    """What is wrong with a value that msgspec does not convert to `type_`.
    In whole sentences; the first begins with a small letter.

    `word`: what the value's format calls names with values. Takes a millisecond or two;
    call it when a conversion has failed.
    """
    # PLC0415: most values are right, and start time counts
    from hashrange.written.value_faults import describe_fault  # noqa: PLC0415

    return describe_fault(value, type_, word, checks or {})


def place_of_json_fault(text: str | bytes) -> str:
    """Where a text is no JSON, such as ` at line 3, column 7`; empty if the decoder finds no fault."""
    if len(text) > SHORT_BYTES:
        return _place_in_long_text(text.encode() if isinstance(text, str) else text)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f" at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        pass
    return ""


def _place_in_long_text(text: bytes) -> str:
    """As `place_of_json_fault`, in a twentieth of the time: no value is made of what is before the fault."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except msgspec.DecodeError as error:
        found = _find_byte(str(error))
        before = text[: len(text) if found is None else int(found[1])]
        lines, column = before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
        return f" at line {lines}, column {column}"
    except (ValueError, RecursionError):
        pass
    return ""


def read_toml(content: str | bytes) -> dict[str, Any]:
    """The tables of a TOML file. Raises TomlFault."""
    import tomllib  # noqa: PLC0415 - most starts read no file, and start time counts

    try:
        return tomllib.loads(content if isinstance(content, str) else content.decode())
    except UnicodeDecodeError:
        reason = "it is not UTF-8."
    except tomllib.TOMLDecodeError as error:
        place = _find_place(str(error))
        reason = (
            "it is no TOML: it breaks off at its end."
            if place is None
            else f"it is no TOML at {place[1]}: what stands there is malformed, or given a second time."
        )
    except RecursionError:
        reason = "it is nested too deeply."
    except ValueError:
        reason = "a number in it has too many digits."
    raise TomlFault(reason)
