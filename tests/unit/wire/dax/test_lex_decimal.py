"""LexDecimal: bytes that sort as the numbers do, read and written."""

import random
from decimal import Decimal

import pytest

from hashrange.items.numbers import normalize_number
from hashrange.wire.dax.lex_decimal import read_lex_decimal, write_lex_decimal
from hashrange.wire.dax.reading import BadBytes


@pytest.mark.parametrize(("text", "raw"), [("-12.5", "3dddbfd0"), ("100", "c31c0020"), ("1", "c11c0000"), ("0", "80")])
def test_examples(text: str, raw: str) -> None:
    assert write_lex_decimal(text).hex() == raw
    assert normalize_number(read_lex_decimal(bytes.fromhex(raw))) == text


def test_random_numbers_sort_as_they_do_and_are_read_again() -> None:
    chance = random.Random(7)
    numbers = [
        normalize_number(f"{chance.randrange(-(10**size), 10**size)}E{chance.randrange(-100, 80)}")
        for size in range(1, 39)
        for _ in range(100)
    ]
    for number in numbers:
        assert normalize_number(read_lex_decimal(write_lex_decimal(number))) == number
    by_bytes = sorted(numbers, key=write_lex_decimal)
    assert [Decimal(one) for one in by_bytes] == sorted(map(Decimal, numbers))


def test_other_spellings_are_read() -> None:
    assert normalize_number(read_lex_decimal(bytes.fromhex("7f"))) == "0"
    assert normalize_number(read_lex_decimal(bytes.fromhex("c31c0000"))) == "100", "the digit 1 alone"


@pytest.mark.parametrize("raw", ["", "00", "ff", "c1", "81000000", "c1ffc0", "c10000", "c1" + "1c07" * 200, "c103c0"])
def test_what_is_no_number_is_refused(raw: str) -> None:
    try:
        read_lex_decimal(bytes.fromhex(raw))
    except BadBytes:
        return
    assert raw == "c10000", "a group that ends at once has no digits"
