"""How long are compiled expressions kept? Until newer ones displace them:
each cache is bounded, and shared by all requests.

A cache key holds everything that compiled expressions and the checks of them against each other depend on: texts,
ExpressionAttributeNames, and tokens with the *types* of their values. What is found under a key has passed all checks
except those of values. The number of entries and the length
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


def cache_key(texts: tuple[str | None, ...], names: dict[str, str] | None, values: dict[str, Value] | None) -> CacheKey:
    """The cache key of expressions: their texts (or a parameter's name and text), names, types of values. 0.6 µs.

    `values` may be as received. Empty if there are more than KEY_TOKENS_MAX names or values: the expressions must not
    be cached.
    """
    if (names is not None and len(names) > KEY_TOKENS_MAX) or (values is not None and len(values) > KEY_TOKENS_MAX):
        return ()
    return (
        texts,
        None if names is None else tuple(names.items()),
        None if values is None else (tuple(values), tuple(map(tuple, values.values()))),
    )


def _count_characters(key: object) -> int:
    """Characters of all strings in a cache key."""
    if isinstance(key, str):
        return len(key)
    if isinstance(key, tuple):
        return sum(map(_count_characters, key))
    return 0
