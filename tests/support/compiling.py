"""Functions on compiled expressions and numbers that only tests need: a key condition in one step,
a number decoded from its bytes.
"""

from decimal import Context, Decimal

from hashrange.expressions.condition import read_checked_condition
from hashrange.expressions.keycondition import CompiledKeyCondition, compile_key_condition
from hashrange.items.numbers import normalize_number
from hashrange.items.types import Value

_EXACT = Context(prec=40, Emin=-1000, Emax=1000)


def read_and_compile_key_condition(
    text: str, names: dict[str, str] | None, values: dict[str, Value] | None
) -> CompiledKeyCondition:
    """Read and compile a key condition as Query does, in one call."""
    _, root, value_checks = read_checked_condition("KeyConditionExpression", text, names, values or {})
    return compile_key_condition(root, value_checks)


def decode_number(encoded: bytes) -> str:
    """The canonical text that `encode_number` encoded, decoded by the rules of its source."""
    if encoded == b"\x80":
        return "0"
    is_negative = encoded[0] == 0x40
    body = [255 - byte if is_negative else byte for byte in encoded[1:]]
    assert is_negative or encoded[0] == 0xC0, encoded
    assert body[-1] == 0, encoded
    digits = "".join(f"{byte - 1:02x}" for byte in body[1:-1])
    exact = Decimal(f"{'-' * is_negative}{digits[0]}.{digits[1:]}")
    return normalize_number(f"{_EXACT.scaleb(exact, body[0] - 130)}")
