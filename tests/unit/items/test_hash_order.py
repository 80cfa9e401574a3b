"""The order of a Java hash set: by bucket, in a bucket by time of insertion."""

import pytest

from hashrange.items.hash_order import in_hash_order, text_hash
from hashrange.items.number_set_order import number_hash


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("PK", 2555), ("unused", -840170026), ("Aa", 2112), ("BB", 2112), ("𝄞", 1772394)],
)
def test_texts_have_the_hashes_of_java(text: str, expected: int) -> None:
    """Java's own values: `"unused".hashCode()` and so on; a character beyond 16 bits counts as its two halves."""
    assert text_hash(text) == expected & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("0", 0),
        ("1", 31),
        ("100", 29),
        ("0.001", 34),
        ("-1.5", 4294966832),
        ("4294967296", 961),
        ("-4294967296", 4294966335),
        ("18446744073709551616", 29791),
        ("-99999999999999999999", 1772434263),
        ("12345678901234567890123456789012345678", 3414034629),
        ("0." + "0" * 129 + "1", 161),
        ("-1" + "0" * 125, 4294967140),
        ("9" * 38 + "0" * 88, 3867768822),
    ],
)
def test_numbers_have_the_hashes_of_java(number: str, expected: int) -> None:
    """`new BigDecimal(number).stripTrailingZeros().hashCode()` of Java 17."""
    assert number_hash(number) == expected


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


def test_numbers_fill_a_set_in_the_order_of_their_values() -> None:
    """As Java 17 lists them."""
    for last, odd in ((12, "12 11 9 8 7 6 5 4 3 2 10 1"), (13, "13 12 11 9 8 7 6 5 4 3 2 10 1")):
        numbers = {str(number): number_hash(str(number)) for number in range(1, last + 1)}
        assert in_hash_order(numbers, 16) == odd.split()
    numbers = {str(number): number_hash(str(number)) for number in range(1, 31)}
    listed = "29 27 25 23 21 19 17 15 13 11 9 7 5 30 3 10 1 28 26 24 22 18 16 14 12 8 6 4 20 2"
    assert in_hash_order(numbers, 16) == listed.split()
