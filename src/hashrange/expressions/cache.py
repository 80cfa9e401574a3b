"""How long are compiled expressions kept? Until newer ones displace them:
each cache is bounded, and shared by all requests.

A cache key holds everything that the compiled expression depends on, such as the name and the
text of its parameter, ExpressionAttributeNames, and the *type* of each value. The number of entries and the length
of their keys are bounded, so long expressions cannot fill the memory. Faults are not cached.
"""

from typing import Generic, TypeVar

from hashrange.items.types import Value

CacheKey = tuple[object, ...]
Compiled = TypeVar("Compiled")

ENTRIES_MAX = 1_024
TEXT_MAX_CHARACTERS = 131_072
"""Maximum characters of all keys of a cache. A compiled expression takes some 100 bytes per character of its key."""
KEY_MAX_CHARACTERS = 8_192
"""Expressions whose key has more characters are not cached but compiled each time."""
KEY_TOKENS_MAX = 2_048
"""An expression with more names, or more values, than this gets no key, which would be too long to be cached anyway."""


class Cache(Generic[Compiled]):
    """Compiled expressions by key. Readers use `entries.get(key)`; only `add` writes. Evicts the oldest entry first."""

    __slots__ = ("characters", "entries")

    def __init__(self) -> None:
        self.entries: dict[CacheKey, Compiled] = {}
        self.characters = 0

    def add(self, key: CacheKey, compiled: Compiled) -> None:
        """Store `compiled` unless `key` is empty, too long or stored already; a full cache first drops old entries."""
        if not key or key in self.entries:  # another request may have added the key while this one compiled
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
    """An expression's cache key: kind (the parameter's name), text, names, types of values. About 0.5 µs.

    Empty if `has_too_many_tokens`: the expression must not be cached.
    """
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
