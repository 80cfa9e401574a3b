"""How does a list in pages go on? A token holds the place of the next page, in Base64."""

import base64
from collections.abc import Sequence
from typing import TypeVar

ListedT = TypeVar("ListedT")


def part_from(records: Sequence[ListedT], begin: int, size: int) -> tuple[Sequence[ListedT], str | None]:
    """A page of the records, and the token of the next one; None if none follows."""
    end = begin + size
    return records[begin:end], base64.urlsafe_b64encode(b"%d" % end).decode() if end < len(records) else None


def place_of_token(token: str | None) -> int | None:
    """Where the page of a token begins, 0 without a token; None for a text that is no token."""
    if token is None:
        return 0
    try:
        text = base64.b64decode(token, altchars=b"-_", validate=True).decode("ascii")
    except ValueError:  # no Base64, or no ASCII in it
        return None
    return int(text) if text.isdecimal() and len(text) <= 9 else None
