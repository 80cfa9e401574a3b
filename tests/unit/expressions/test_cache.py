"""The cache of compiled expressions: its bounds on entries and characters hold."""

from hashrange.expressions.cache import ENTRIES_MAX, KEY_MAX_CHARACTERS, TEXT_MAX_CHARACTERS, Cache


def test_the_oldest_entry_leaves_first() -> None:
    cache: Cache[int] = Cache()
    for number in range(ENTRIES_MAX + 2):
        cache.add((f"{number}",), number)
    assert len(cache.entries) == ENTRIES_MAX
    assert ("0",) not in cache.entries
    assert ("1",) not in cache.entries
    assert cache.entries["2",] == 2


def test_long_texts_leave_room_for_themselves() -> None:
    cache: Cache[int] = Cache()
    for number in range(200):
        cache.add((f"{number:4}" * 1000, None, (("a", "b"),)), number)
    assert sum(len(str(key[0])) + 2 for key in cache.entries) == cache.characters <= TEXT_MAX_CHARACTERS


def test_a_very_long_key_is_not_kept() -> None:
    cache: Cache[int] = Cache()
    cache.add(("x", (("#a", "b" * KEY_MAX_CHARACTERS),)), 1)
    assert not cache.entries
    assert cache.characters == 0
