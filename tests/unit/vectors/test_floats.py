"""Are numbers held as the closest 32-bit floats, and shown in the shortest decimals?"""

import math
import random
import struct
from fractions import Fraction

import pytest

from hashrange.vectors.floats import float_texts, pack_floats, unpack_floats


def only_float(text: str) -> float:
    packed = pack_floats([text])
    assert packed is not None
    return unpack_floats(packed)[0]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.1", "0.1"),
        ("1", "1.0"),
        ("-2.50", "-2.5"),
        ("0", "0.0"),
        ("-0", "0.0"),
        ("1E3", "1000.0"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("16777217", "16777216.0"),
        ("1.000000059604644775390625", "1.0"),
        ("0." + "3" * 38, "0.33333334"),
        ("1e-5", "0.00001"),
        ("1e-10", "1e-10"),
        ("123456789012", "123456790000.0"),
        ("3.4028235E38", "3.4028235e38"),
        ("-3.4028235E38", "-3.4028235e38"),
        ("1e-45", "1e-45"),
        ("1e-60", "0.0"),
    ],
)
def test_a_number_is_shown_as_the_float_that_holds_it(text: str, shown: str) -> None:
    packed = pack_floats([text])
    assert packed is not None
    assert float_texts(packed) == [shown]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dog",
        "NaN",
        "Infinity",
        "inf",
        "1_0",
        " 1",
        "1 ",
        "1e",
        "-",
        ".",
        "0x1",
        "١",
        "3.40282351e38",
        "-1e39",
        "1e999",
    ],
)
def test_what_no_float_holds_is_refused(text: str) -> None:
    assert pack_floats(["1", text, "2"]) is None


@pytest.mark.parametrize(
    "texts", [["1,2", "3"], ["1\n2", ""], ["1\n", "2"], ["1\n2"], ["[1", "2]"], ["1]", "[2"], ["1", "2 "], ["", ""]]
)
def test_texts_that_are_numbers_only_together_are_refused(texts: list[str]) -> None:
    assert pack_floats(texts) is None


def test_numbers_that_json_has_not_are_read_among_others() -> None:
    assert pack_floats(["1", "+2", ".5", "3.", "007", "-0"]) == struct.pack("<6f", 1, 2, 0.5, 3, 7, -0.0)


def test_a_vector_has_four_bytes_for_each_number() -> None:
    assert pack_floats(["1", "-2"]) == struct.pack("<2f", 1.0, -2.0)
    assert pack_floats([]) == b""


def test_the_shortest_decimal_is_read_as_the_same_float() -> None:
    """Of any 32-bit float; and no decimal with fewer digits is."""
    dealt = random.Random(17)
    for _ in range(2_000):
        packed = dealt.randbytes(4)
        (number,) = struct.unpack("<f", packed)
        if not math.isfinite(number) or number == 0:
            continue
        (text,) = float_texts(packed)
        assert only_float(text) == number
        digits = len(text.lstrip("-").partition("e")[0].replace(".", "").strip("0"))
        if digits > 1:
            shorter = f"{number:.{digits - 2}e}"
            assert Fraction(shorter) != Fraction(text)
            assert pack_floats([shorter]) != packed
