"""Numbers by cases: each line of input is a number as written."""

from hashrange.errors import ApiError
from hashrange.items.numbers import encode_number, normalize_number, number_size_bytes
from tests.scripts.cases import case_test, refusal
from tests.support.compiling import decode_number


def evaluate_line(text: str) -> str:
    try:
        canonical = normalize_number(text)
    except ApiError as error:
        return refusal(error).replace("\n", " | ")
    encoded = encode_number(canonical)
    assert decode_number(encoded) == canonical
    return f"{canonical} ({number_size_bytes(canonical)} bytes, {encoded.hex()})"


def evaluate(text: str) -> str:
    return "\n".join(f"{line!r} → {evaluate_line(line)}" for line in text.split("\n"))


test_numbers = case_test("numbers.case", evaluate)
