"""How long does a compiled expression live? A bounded cache per kind of expression, shared by all requests.

A key holds everything that a compiled expression and its static checks depend on: kind, text, names, and the *type*
of each value. Bounded by entries and by text, so that long expressions cannot fill the memory. Refusals are not kept.
"""

from typing import Generic, TypeVar

from hashrange.items.types import Value

CacheKey = tuple[object, ...]
Compiled = TypeVar("Compiled")

ENTRIES_MAX = 1_024
TEXT_MAX_CHARACTERS = 131_072
"""Characters of all texts, names and tokens together; a compiled expression takes some 100 bytes per character."""
KEY_MAX_CHARACTERS = 8_192
"""A key with more than this is compiled anew each time."""
KEY_TOKENS_MAX = 2_048
"""So many names, or values, have more characters in their tokens than that: no key is made of them."""


class Cache(Generic[Compiled]):
    """Compiled expressions by key. Readers use `entries.get(key)`; only `add` writes. The oldest entry leaves first."""

    __slots__ = ("characters", "entries")

    def __init__(self) -> None:
        self.entries: dict[CacheKey, Compiled] = {}
        self.characters = 0

    def add(self, key: CacheKey, compiled: Compiled) -> None:
        """Keep `compiled` under `key`, letting the oldest go where the bounds ask for it."""
        if not key or key in self.entries:  # somebody else may have come first while this was compiled
            return
        characters = _count_characters(key)
        if characters > KEY_MAX_CHARACTERS:
            return
        entries = self.entries
        self.characters += characters
        while entries and (len(entries) >= ENTRIES_MAX or self.characters > TEXT_MAX_CHARACTERS):
            oldest = next(iter(entries))
            del entries[oldest]
            self.characters -= _count_characters(oldest)
        entries[key] = compiled


def cache_key(
    kind: str, text: str, names: dict[str, str] | None, values: dict[str, Value] | None
) -> tuple[object, ...]:
    """The key of an expression: its text, its names, and its values' types; empty when it is not to be kept. About 0.5 µs."""
    if are_too_many(names, values):
        return ()
    return (
        kind,
        text,
        tuple(names.items()) if names else None,
        tuple([(token, *value) for token, value in values.items()]) if values else None,
    )


def are_too_many(names: dict[str, str] | None, values: dict[str, Value] | None) -> bool:
    """Are there more names or values than an expression that is kept may have?"""
    return (names is not None and len(names) > KEY_TOKENS_MAX) or (values is not None and len(values) > KEY_TOKENS_MAX)


def _count_characters(key: object) -> int:
    """Characters of all strings of a key."""
    if isinstance(key, str):
        return len(key)
    if isinstance(key, tuple):
        return sum(map(_count_characters, key))
    return 0
