"""How does a text stand for what is known only later, such as the ARN of a stream that a table has yet to get?
By the name of the value between two marks, which no template holds; `fill_in` puts the value there.
"""

import re
from collections.abc import Mapping
from typing import Any

_BEGIN, _END = "\ue000", "\ue001"
_find_late = re.compile(f"{_BEGIN}([^{_BEGIN}{_END}]*){_END}")


def late(name: str) -> str:
    """The text that stands for a value, such as `Orders.StreamArn`."""
    return f"{_BEGIN}{name.replace(_BEGIN, '').replace(_END, '')}{_END}"


def late_names(value: Any) -> list[str]:
    """The names of all values that are still to come, in a text or in what holds texts."""
    if isinstance(value, str):
        return _find_late.findall(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [name for one in inner for name in late_names(one)]


def fill_in(value: Any, known: Mapping[str, str]) -> Any:
    """The same with all values that are known."""
    if isinstance(value, str):
        return _find_late.sub(lambda found: known.get(found[1], found[0]), value)
    if isinstance(value, dict):
        return {name: fill_in(one, known) for name, one in value.items()}
    return [fill_in(one, known) for one in value] if isinstance(value, list) else value


def readable(text: str) -> str:
    """A text in which late values are written as templates write them: `${Orders.StreamArn}`."""
    return _find_late.sub(r"${\1}", text)
