"""How long are compiled expressions kept? In one bounded cache per kind, shared by all requests.

A key holds everything that an expression and its static checks depend on: kind, text, names, and the *type* of each
value. Entries and text are bounded, so long expressions cannot fill the memory. Faults are not cached.
"""

from typing import Generic, TypeVar

from hashrange.items.types import Value

CacheKey = tuple[object, ...]
Compiled = TypeVar("Compiled")

ENTRIES_MAX = 1_024
TEXT_MAX_CHARACTERS = 131_072
"""Characters of all keys in one cache; a compiled expression takes some 100 bytes per character."""
KEY_MAX_CHARACTERS = 8_192
"""Expressions with a longer key are not cached but compiled each time."""
KEY_TOKENS_MAX = 2_048
"""More names, or values, than this exceed KEY_MAX_CHARACTERS by their tokens alone; no key is made."""


class Cache(Generic[Compiled]):
    """Compiled expressions by key. Readers use `entries.get(key)`; only `add` writes. Evicts the oldest entry first."""

    __slots__ = ("characters", "entries")

    def __init__(self) -> None:
        self.entries: dict[CacheKey, Compiled] = {}
        self.characters = 0

    def add(self, key: CacheKey, compiled: Compiled) -> None:
        """Store `compiled` unless its key is empty, known or too long; evicts the oldest entries above the bounds."""
        if not key or key in self.entries:  # another request may have added the key meanwhile
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
    """An expression's cache key: kind, text, names, types of values; empty if it must not be cached. About 0.5 µs."""
    if has_too_many_tokens(names, values):
        return ()
    return (
        kind,
        text,
        tuple(names.items()) if names else None,
        tuple([(token, *value) for token, value in values.items()]) if values else None,
    )


def has_too_many_tokens(names: dict[str, str] | None, values: dict[str, Value] | None) -> bool:
    """True if there are more than KEY_TOKENS_MAX names or values, too many to cache."""
    return (names is not None and len(names) > KEY_TOKENS_MAX) or (values is not None and len(values) > KEY_TOKENS_MAX)


def _count_characters(key: object) -> int:
    """Characters of all strings in a cache key."""
    if isinstance(key, str):
        return len(key)
    if isinstance(key, tuple):
        return sum(map(_count_characters, key))
    return 0
