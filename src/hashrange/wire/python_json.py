"""What does Python's own decoder of JSON read?
Numbers of any size, and every one of repeated members, as msgspec does not.

It would also take half a surrogate pair as an escape. No encoder can write that again, and msgspec refuses it;
so does this function, so that no code behind the decoders meets one.
"""

import json
from typing import Any

from hashrange.items.steps import spend, walk

_BYTES_PER_STEP = 1024
_SURROGATE_ESCAPES = (r"\ud", r"\uD")
"""What the escapes of all surrogates begin with, and of some other characters."""


def decode_python_json(text: str, **options: Any) -> Any:
    """Like `json.loads`, with the same options.
    Raises ValueError, also for half a surrogate pair, and RecursionError.
    """
    decoded = json.loads(text, **options)
    if not text.isascii() or any(escape in text for escape in _SURROGATE_ESCAPES):
        _require_whole_characters(decoded)
    return decoded


def _require_whole_characters(decoded: Any) -> None:
    """Raise UnicodeEncodeError, a ValueError, if a string in lists, tuples and dicts holds half a surrogate pair."""
    waiting = [decoded]
    while waiting:
        value = waiting.pop()
        if value.__class__ is str:
            if not value.isascii():
                spend(len(value) // _BYTES_PER_STEP)
                value.encode()
        elif value.__class__ is dict:
            waiting.extend(value)
            waiting.extend(walk(value.values()))
        elif value.__class__ is list or value.__class__ is tuple:
            waiting.extend(walk(value))
