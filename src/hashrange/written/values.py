"""What is wrong with a value that a person wrote, and that a decoder has refused?
One or two sentences that name the member, what it is, and what it must be.

The decoder's own words are for programmers. So what it has refused is looked through again
(value_faults.py), by the same types.
"""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashrange.written.value_faults import Checks, ObjectWord

ACCOUNT_IN_WORDS, REGION_IN_WORDS = "the 12 digits of an account, as text", "the name of a Region, such as eu-west-1"


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
    """Where a text is no JSON, such as ` at line 3, column 7`; empty if Python's decoder finds no fault."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f" at line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        pass
    return ""
