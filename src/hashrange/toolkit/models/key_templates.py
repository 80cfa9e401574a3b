"""What is a template of a key, such as `ORDER#{orderId}`? Text and places for attributes; which value it makes of an
item, and whether two templates can make the same one.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

PLACE = re.compile(r"\{([^{}]+)\}")
SEPARATOR = "#"
"""Values of places are taken to hold no such character."""

KeyForm = tuple[tuple[str, ...], ...]
"""The form of the values of a key: its parts between separators. A part is a list of texts, and between two of them
stand one or more characters, which are no separators.
"""


class KeyTemplate(NamedTuple):
    """A parsed template: `texts` stand before, between and behind the `places`, so there is one more of them."""

    texts: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def is_constant(self) -> bool:
        """True if it makes the same value of each item."""
        return not self.places

    @property
    def sole_place(self) -> str | None:
        """The attribute whose value is the whole key; None if there is more in it."""
        return self.places[0] if self.texts == ("", "") else None

    def fill(self, values: Mapping[str, Any]) -> str:
        """The value for an item that has all attributes of the places."""
        filled = (text + value_text(values[place]) for text, place in zip(self.texts, self.places, strict=False))
        return "".join(filled) + self.texts[-1]

    def form(self, begins: Mapping[str, str]) -> KeyForm:
        """The form of all values that it makes. `begins`: attribute → how its values begin."""
        beginnings = [*(begins.get(place, "") for place in self.places), ""]
        parts: list[list[str]] = [[]]
        for text, beginning in zip(self.texts, beginnings, strict=True):
            first, *others = (text + beginning).split(SEPARATOR)
            parts[-1].append(first)
            parts += [[one] for one in others]
        return tuple(map(tuple, parts))

    def fixed_bytes(self, begins: Mapping[str, str]) -> int:
        """Bytes that each value has at least, as UTF-8. `begins`: attribute → how its values begin."""
        fixed = [*self.texts, *(begins.get(place, "") for place in self.places)]
        return sum(map(size_bytes, fixed))

    def filled_bytes(self, values: Mapping[str, Any]) -> int:
        """Bytes of the value for an item that has all attributes of the places, of which nothing is filled for that."""
        sizes = {place: size_bytes(value_text(values[place])) for place in {*self.places}}
        return sum(map(size_bytes, self.texts)) + sum(sizes[place] for place in self.places)


@cache
def parse_key_template(text: str) -> KeyTemplate | None:
    """The parsed template; None if a brace is not closed, not opened, or empty."""
    pieces = PLACE.split(text)
    texts = tuple(pieces[::2])
    return None if any(set(one) & set("{}") for one in texts) else KeyTemplate(texts, tuple(pieces[1::2]))


def template(text: str) -> KeyTemplate:
    """The parsed template of a document without faults."""
    parsed = parse_key_template(text)
    assert parsed is not None
    return parsed


def value_text(value: Any) -> str:
    """A value of a sample as text of a key."""
    return str(value)


def size_bytes(text: str) -> int:
    """Bytes of a text as UTF-8."""
    return len(text.encode())


# --- values that two templates can make ------------------------------------------------------------------


def can_be_equal(first: KeyForm, second: KeyForm) -> bool:
    """True if a value can have both forms.

    No value of a place holds a separator. So both forms need as many parts, and each part is decided by itself.
    """
    return len(first) == len(second) and all(map(_can_parts_be_equal, first, second))


def _can_parts_be_equal(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """True if a text can have the form of both parts.

    If both have gaps, only their first and last texts decide: the longer of the first texts, then all texts between of
    one part and of the other, with a character before and behind each, then the longer of the last texts have both
    forms, because the first and the last gap of a part take what is of the other part.
    """
    if len(first) == 1:
        return _has_form(first[0], second)
    if len(second) == 1:
        return _has_form(second[0], first)
    is_begun_alike = first[0].startswith(second[0]) or second[0].startswith(first[0])
    return is_begun_alike and (first[-1].endswith(second[-1]) or second[-1].endswith(first[-1]))


def _has_form(text: str, part: tuple[str, ...]) -> bool:
    """True if a text has the form of a part. Each text of the part is taken where it comes first."""
    if len(part) == 1:
        return text == part[0]
    first, *between, last = part
    end = len(first)
    for one in between:
        found = text.find(one, end + 1)
        if found < 0:
            return False
        end = found + len(one)
    return text.startswith(first) and text.endswith(last) and len(text) - len(last) > end
