"""What is a template of a key, such as `ORDER#{orderId}`? Text and places for attributes; which value it makes of an
item, and whether two templates can make the same one.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

PLACE = re.compile(r"\{([^{}]+)\}")
ANY = None
"""In a glob: one or more characters."""

Glob = tuple[str | None, ...]


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

    def glob(self, begins: Mapping[str, str]) -> Glob:
        """The form of all values that it makes. `begins`: attribute → how its values begin."""
        parts: list[str | None] = [self.texts[0]]
        for place, text in zip(self.places, self.texts[1:], strict=True):
            parts += [begins.get(place, ""), ANY, text]
        return tuple(part for part in parts if part != "")


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


def can_be_equal(first: Glob, second: Glob, separator: str = "#") -> bool:
    """True if two globs can stand for the same text, when no value holds the separator."""
    return _meet(_characters(first), _characters(second), separator)


def _characters(glob: Glob) -> tuple[str | None, ...]:
    """The characters of a glob, each by itself; ANY stays."""
    return tuple(one for part in glob for one in ((ANY,) if part is ANY else part))


def _meet(first: tuple[str | None, ...], second: tuple[str | None, ...], separator: str) -> bool:
    """True if both lists of characters have a text in common. Takes a step for each pair of their places.

    `reached` are the pairs (place in the first, place in the second, whether either is inside of ANY) to which some
    text leads.
    """
    reached = {(0, 0, False, False)}
    todo = list(reached)
    while todo:
        left, right, in_left, in_right = todo.pop()
        if left == len(first) and right == len(second):
            return True
        for step in _steps(first, second, (left, right, in_left, in_right), separator):
            if step not in reached:
                reached.add(step)
                todo.append(step)
    return False


_State = tuple[int, int, bool, bool]


def _steps(
    first: tuple[str | None, ...], second: tuple[str | None, ...], state: _State, separator: str
) -> list[_State]:
    """The states behind one more character, or behind the end of an ANY that has had a character."""
    left, right, in_left, in_right = state
    found = []
    if in_left:
        found.append((left + 1, right, False, in_right))
    if in_right:
        found.append((left, right + 1, in_left, False))
    if left == len(first) or right == len(second):
        return found
    one, other = first[left], second[right]
    if one is ANY and other is ANY:
        found.append((left, right, True, True))
    elif one is ANY and other != separator:
        found.append((left, right + 1, True, False))
    elif other is ANY and one != separator and one is not ANY:
        found.append((left + 1, right, False, True))
    elif one == other and one is not ANY:
        found.append((left + 1, right + 1, False, False))
    return found
