"""The order of a Java hash set: by bucket, in a bucket by time of insertion."""

import pytest

from hashrange.items.hash_order import in_hash_order, text_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("PK", 2555), ("unused", -840170026), ("Aa", 2112), ("BB", 2112), ("𝄞", 1772394)],
)
def test_texts_have_the_hashes_of_java(text: str, expected: int) -> None:
    """Java's own values: `"unused".hashCode()` and so on; a character beyond 16 bits counts as its two halves."""
    assert text_hash(text) == expected & 0xFFFFFFFF


def hashed(*texts: str) -> dict[str, int]:
    return {text: text_hash(text) for text in texts}


def test_definitions_and_keys_of_the_observed_message() -> None:
    assert in_hash_order(hashed("PK", "h", "a", "unused"), 4) == ["h", "a", "unused", "PK"]
    assert in_hash_order(hashed("PK", "h", "a"), 16) == ["a", "h", "PK"]


def test_buckets_double_above_three_quarters() -> None:
    numbers = {number: number for number in (8, 1, 4, 12)}
    assert in_hash_order({number: number for number in (12, 8, 4)}, 4) == [12, 8, 4]
    assert in_hash_order(numbers, 4) == [8, 1, 4, 12]
    assert in_hash_order({number: number for number in range(13, 0, -1)}, 16) == list(range(1, 14))
    assert in_hash_order({16: 16, 0: 0}, 16) == [16, 0]


def test_upper_bits_count() -> None:
    assert in_hash_order({"a": 0x30000, "b": 2}, 16) == ["b", "a"]
