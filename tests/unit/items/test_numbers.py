"""Numbers: canonical text, order-preserving bytes, sizes and exact arithmetic, against Python's Decimal."""

import time
import timeit
from decimal import Context, Decimal

import pytest
from hypothesis import given, settings

from hashrange.errors import RequestFault, ValidationException
from hashrange.items.numbers import (
    add_numbers,
    encode_number,
    measure_number,
    normalize_number,
    number_order,
    number_size_bytes,
    subtract_numbers,
)
from hashrange.messages.values import NUMBER_EMPTY_OLDER, NUMBER_OVERFLOW, NUMBER_TOO_PRECISE, NUMBER_UNDERFLOW
from tests.support.compiling import decode_number
from tests.unit.items.wire_values import SETTINGS, numbers

WIDE = Context(prec=400, Emax=9999, Emin=-9999)
LARGEST = "9" * 38 + "0" * 88
SMALLEST = "0." + "0" * 129 + "1"


def message(text: str) -> str:
    with pytest.raises(RequestFault) as caught:
        normalize_number(text)
    return str(caught.value)


@given(numbers)
@settings(max_examples=300, **SETTINGS)
def test_canonical_text_is_equal_plain_and_final(text: str) -> None:
    canonical = normalize_number(text)
    assert Decimal(canonical) == Decimal(text)
    assert normalize_number(canonical) is canonical
    assert "e" not in canonical.lower() and "+" not in canonical
    assert canonical == "0" or not canonical.removeprefix("-").startswith("00")
    assert "." not in canonical or not canonical.endswith(("0", "."))
    assert measure_number(text) == (canonical, number_size_bytes(canonical))


@given(numbers, numbers)
@settings(max_examples=400, **SETTINGS)
def test_bytes_sort_as_numbers_do(left: str, right: str) -> None:
    left, right = normalize_number(left), normalize_number(right)
    left_bytes, right_bytes = encode_number(left), encode_number(right)
    assert (left_bytes < right_bytes) == (number_order(left) < number_order(right))
    assert (left_bytes == right_bytes) == (left == right)
    assert left == right or not right_bytes.startswith(left_bytes)
    assert decode_number(left_bytes) == left
    assert len(left_bytes) <= 22


def test_bytes_sort_over_the_whole_range() -> None:
    ascending = [
        f"-{LARGEST}", "-1000", "-100.5", "-100", "-99.99", "-1.01", "-1.001", "-1", "-0.5", "-0.001", f"-{SMALLEST}",
        "0",
        SMALLEST, "0.001", "0.0010001", "0.5", "1", "1.0000001", "1.001", "1.01", "1.1", "9", "10", "10.5", "11", "99",
        "100",
        "101", "1000", LARGEST,
    ]  # fmt: skip
    assert sorted(ascending, key=encode_number) == ascending == sorted(ascending, key=number_order)


@given(numbers, numbers)
@settings(max_examples=300, **SETTINGS)
def test_sums_and_differences_are_exact_or_refused(left: str, right: str) -> None:
    left, right = normalize_number(left), normalize_number(right)
    for calculate, exact in (
        (add_numbers, WIDE.add(Decimal(left), Decimal(right))),
        (subtract_numbers, WIDE.subtract(Decimal(left), Decimal(right))),
    ):
        is_too_precise = len(WIDE.normalize(exact).as_tuple().digits) > 38
        if is_too_precise:
            with pytest.raises(ValidationException):
                calculate(left, right)
        else:
            result = calculate(left, right)
            assert Decimal(result) == exact
            assert normalize_number(result) is result


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        ("1", "-1", "0"),
        ("0.1", "0.2", "0.3"),
        ("-5", "2", "-3"),
        (SMALLEST, "-" + SMALLEST, "0"),
        ("9" * 37, "1", "1" + "0" * 37),
        ("1" + "0" * 37, "0.5", None),
    ],
)
def test_sums(left: str, right: str, total: str | None) -> None:
    if total is None:
        with pytest.raises(ValidationException, match=NUMBER_TOO_PRECISE) as caught:
            add_numbers(left, right)
        assert not isinstance(caught.value, RequestFault)
    else:
        assert add_numbers(left, right) == total


def test_results_beyond_the_range_are_refused() -> None:
    with pytest.raises(ValidationException, match=NUMBER_OVERFLOW):
        add_numbers(LARGEST, LARGEST)
    with pytest.raises(ValidationException, match=NUMBER_UNDERFLOW):
        subtract_numbers("0." + "0" * 129 + "11", SMALLEST)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 1),
        ("1", 2),
        ("12", 2),
        ("123", 3),
        ("1234", 3),
        ("123456", 4),
        ("100", 2),
        ("1010", 3),
        ("15", 2),
        ("1.5", 3),
        ("3.14159", 5),
        ("100.5", 4),
        ("0.15", 2),
        ("1E125", 2),
        ("-42", 3),
        ("-0", 1),
        ("1" * 38, 20),
        ("1.05", 3),
        ("10.05", 3),
        ("-0.0015", 3),
    ],
)
def test_sizes(text: str, size_bytes: int) -> None:
    assert number_size_bytes(normalize_number(text)) == size_bytes
    assert measure_number(text)[1] == size_bytes


def test_an_empty_number_has_an_older_wording() -> None:
    with pytest.raises(RequestFault) as caught:
        normalize_number("")
    assert caught.value.message == "The parameter cannot be converted to a numeric value: "
    assert caught.value.older_message == NUMBER_EMPTY_OLDER


@pytest.mark.parametrize("text", ["1 ", " 1", "1\n", "\n", "²", "١", "１", "1e²", "1\x00"])
def test_only_plain_digits_count(text: str) -> None:
    assert message(text) == f"The parameter cannot be converted to a numeric value: {text}"


def read_long_texts(length: int) -> None:
    """Read numbers of `length` digits, each long in a different part: integer, fraction, leading zeros, exponent."""
    assert message("9" * length) == NUMBER_OVERFLOW
    assert message("0." + "9" * length) == NUMBER_TOO_PRECISE
    assert message("0." + "0" * length + "1") == NUMBER_UNDERFLOW
    assert normalize_number("0" * length + "7") == "7"
    assert normalize_number("7." + "0" * length) == "7"
    assert normalize_number("1e" + "0" * length) == "1"
    assert message("1e" + "9" * length).startswith("The parameter cannot be converted")
    assert message("9" * length + "x").startswith("The parameter cannot be converted")


def cpu_seconds(length: int, times: int) -> float:
    """CPU time of `times` runs of `read_long_texts`; the load of other processes does not count."""
    return min(timeit.repeat(lambda: read_long_texts(length), timer=time.process_time, number=times, repeat=5))


@pytest.mark.parametrize(("length", "times"), [(7_500, 50), (70_000, 4)], ids=["a match", "pieces"])
def test_the_time_grows_with_the_length_and_not_with_its_square(length: int, times: int) -> None:
    """Eight times as many digits take about 8 times as long; with quadratic time it would be 64 times."""
    assert cpu_seconds(8 * length, times) < 24 * cpu_seconds(length, times)
