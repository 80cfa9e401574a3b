"""How are DAX's bytes read? As CBOR (RFC 8949), value after value, as far as its clients use it. No sockets.

Integers are read as int, or as `CborNumber` if they are bignums or decimal fractions;
sets and list indices as `Tagged`. Frames have no length: who reads one that is cut off gets `CutOff`,
and tries again when there is more. Source: dax.md 1.
"""

import struct
from typing import Any, NamedTuple, NoReturn

from hashrange.errors import HashrangeError
from hashrange.items.steps import spend

BIGNUM_BYTES_MAX = 1_024
"""A number with more bytes is refused: DynamoDB's have 38 digits."""
NESTED_MAX = 400
"""Containers in each other. An expression has at most 300 operators, and an item 32 levels."""
VALUES_MAX = 409_600
"""Values in containers that one reader reads: of an item of 400 KB, each takes a byte at least."""
REQUEST_VALUES_MAX = 1_000_000
"""Values of all items of a request: our own bound. In JSON, as many take 16 MB with 16 bytes for each."""
NUMBERED_KEYS_MAX = 64
"""Keys of one map that are whole numbers. Only options have such keys, whose ids are below 20; all other maps have
texts. Python hashes numbers without a secret: 88,000 of which 22,400 were chosen took 0.5 s in one step.
"""
PIECE_VALUES = 64
"""Values that are read between two calls of `spend`."""

TAG_BIGNUM, TAG_NEGATIVE_BIGNUM, TAG_DECIMAL = 2, 3, 4
TAG_STRING_SET, TAG_NUMBER_SET, TAG_BINARY_SET, TAG_LIST_INDEX = 3321, 3322, 3323, 3324

_FLOATS = {25: struct.Struct(">e"), 26: struct.Struct(">f"), 27: struct.Struct(">d")}
_SIMPLE = {20: False, 21: True, 22: None, 23: None}
_INDEFINITE = -1
_BREAK = 0xFF


class CutOff(Exception):
    """The bytes end within a value."""


class BadBytes(HashrangeError):
    """The bytes are no values of DAX's clients; nothing behind them can be read."""


class TooManyValues(BadBytes):
    """The bytes have more values than a request can have."""

    def __init__(self) -> None:
        super().__init__("it has more values than a request can have")


class ValueBudget:
    """Values that all items of one request may have together."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = REQUEST_VALUES_MAX


class CborNumber(NamedTuple):
    """A bignum or a decimal fraction: `mantissa` × 10 ** `exponent`."""

    mantissa: int
    exponent: int


class Tagged(NamedTuple):
    """A value with one of DAX's tags."""

    tag: int
    value: Any


class CborReader:
    """Reads values from `data`, from `at` on; gives way. All methods raise CutOff, or BadBytes."""

    __slots__ = ("_whole", "at", "data", "values_left")

    def __init__(self, data: bytes | bytearray, at: int = 0, whole: str = "") -> None:
        """`whole`: what the data is, such as `a key`, if there will not be more of it; then BadBytes says
        that it is cut off.
        """
        self.data = data
        self.at = at
        self._whole = whole
        self.values_left = VALUES_MAX
        """Number of values that may still follow in containers."""

    @property
    def is_at_end(self) -> bool:
        """True if nothing is left."""
        return self.at >= len(self.data)

    def rest(self) -> bytes:
        """What has not been read, which counts as read then."""
        at, self.at = self.at, len(self.data)
        return bytes(self.data[at:])

    def value(self, depth: int = 0) -> Any:  # noqa: C901 - a branch for each major type of CBOR
        """The next value: int, float, bytes, str, list, dict, bool, None, CborNumber or Tagged.
        Of repeated keys of a map, the last counts.
        """
        data, at = self.data, self.at
        if at >= len(data):
            self._end_early()
        first = data[at]
        major, length = first >> 5, first & 31
        if length < 24:
            self.at = at + 1
        elif major == 7:
            return self._simple(length)
        else:
            length = self._argument(length)
        if major == 0:
            return length if length >= 0 else _refuse()
        if major == 2:
            return self._chunks(major) if length < 0 else self._take(length)
        if major == 3:
            return decoded_text(self._chunks(major) if length < 0 else self._take(length))
        if major == 1:
            return -1 - length if length >= 0 else _refuse()
        if major == 7:
            return self._simple_of(length)
        if depth >= NESTED_MAX:
            raise BadBytes("containers are nested too deep")
        if major == 4:
            return self._list(length, depth)
        if major == 5:
            return self._map(length, depth)
        return self._tagged(length, depth)

    def head(self, major: int) -> int:
        """Read the head of a value of this major type; returns its length or number, -1 if the length is indefinite."""
        data, at = self.data, self.at
        if at >= len(data):
            self._end_early()
        first = data[at]
        if first >> 5 != major:
            raise BadBytes(f"a value of major type {major} was expected, not {first >> 5}")
        length = first & 31
        if length < 24:
            self.at = at + 1
            return length
        return self._argument(length)

    def integer(self) -> int:
        """The next value, which must be an integer."""
        value = self.value()
        return value if value.__class__ is int else _refuse()

    def is_break(self) -> bool:
        """True (and it is read) if the next byte ends a container of indefinite length."""
        if self.at >= len(self.data):
            self._end_early()
        if self.data[self.at] != _BREAK:
            return False
        self.at += 1
        return True

    def _argument(self, info: int) -> int:
        """The argument of a head whose low five bits are `info`, from 24 up; -1 for an indefinite length."""
        if info == 31:
            self.at += 1
            return _INDEFINITE
        if info > 27:
            raise BadBytes("a head of reserved form")
        size, at = 1 << (info - 24), self.at + 1
        if at + size > len(self.data):
            self._end_early()
        self.at = at + size
        return int.from_bytes(self.data[at : at + size], "big")

    def _end_early(self) -> NoReturn:
        raise BadBytes(f"{self._whole} that is cut off") if self._whole else CutOff

    def _take(self, length: int) -> bytes:
        at = self.at
        end = at + length
        if end > len(self.data):
            self._end_early()
        self.at = end
        return bytes(self.data[at:end])

    def _chunks(self, major: int) -> bytes:
        """A string of indefinite length: its chunks, which must be of its own kind and of definite length."""
        chunks = []
        while not self.is_break():
            length = self.head(major)
            if length < 0:
                raise BadBytes("a chunk of indefinite length")
            self._count(_INDEFINITE)
            chunks.append(self._take(length))
        return b"".join(chunks)

    def _expect(self, count: int) -> None:
        """Count the values of a container; -1 or less: their number is not known."""
        if count > 0:
            self.values_left -= count
            if self.values_left < 0:
                raise TooManyValues

    def _count(self, length: int) -> None:
        """Count the next value of a container of indefinite length, or give way before the next ones of another."""
        if length >= 0:
            spend(PIECE_VALUES >> 2)
            return
        self.values_left -= 1
        if self.values_left < 0:
            raise TooManyValues
        spend(1)

    def _list(self, length: int, depth: int) -> list[Any]:
        if length > len(self.data) - self.at:
            self._end_early()  # each element takes a byte at least
        values: list[Any] = []
        self._expect(length)
        while len(values) < length if length >= 0 else not self.is_break():
            if length < 0 or not len(values) % PIECE_VALUES:
                self._count(length)
            values.append(self.value(depth + 1))  # not a comprehension, which would nest calls deeper
        return values

    def _map(self, length: int, depth: int) -> dict[Any, Any]:
        values = {}
        numbered = 0
        self._expect(length * 2)
        while length if length >= 0 else not self.is_break():
            if length < 0 or not length % PIECE_VALUES:
                self._count(length)
                self.values_left -= length < 0
            name = self.value(depth + 1)
            if name.__class__ is int:
                numbered += 1
                if numbered > NUMBERED_KEYS_MAX:
                    raise BadBytes("a map with too many numbers as keys")
            elif name.__class__ is not str and name.__class__ is not bytes:
                raise BadBytes("a key of a map that is neither number nor text")
            values[name] = self.value(depth + 1)
            length -= length > 0
        return values

    def _tagged(self, tag: int, depth: int) -> Any:
        value = self.value(depth + 1)
        if tag in (TAG_BIGNUM, TAG_NEGATIVE_BIGNUM):
            if value.__class__ is not bytes or len(value) > BIGNUM_BYTES_MAX:
                raise BadBytes("a bignum that is no number of DynamoDB")
            number = int.from_bytes(value, "big")
            return CborNumber(number if tag == TAG_BIGNUM else -1 - number, 0)
        if tag == TAG_DECIMAL:
            return _decimal(value)
        if tag in (TAG_STRING_SET, TAG_NUMBER_SET, TAG_BINARY_SET):
            if value.__class__ is not list:
                raise BadBytes("a set that is no array")
        elif tag != TAG_LIST_INDEX or value.__class__ is not int:
            raise BadBytes(f"tag {tag}")
        return Tagged(tag, value)

    def _simple(self, info: int) -> float:
        self.at += 1
        layout = _FLOATS.get(info)
        if layout is None:
            raise BadBytes("a simple value that DAX has not got")
        return float(layout.unpack(self._take(layout.size))[0])

    def _simple_of(self, number: int) -> bool | None:
        if number not in _SIMPLE:
            raise BadBytes("a simple value that DAX has not got")
        return _SIMPLE[number]


def _decimal(value: Any) -> CborNumber:
    if value.__class__ is not list or len(value) != 2:
        raise BadBytes("a decimal fraction that has not two numbers")
    exponent, mantissa = value
    if mantissa.__class__ is CborNumber and not mantissa.exponent:
        mantissa = mantissa.mantissa
    if exponent.__class__ is not int or mantissa.__class__ is not int:
        raise BadBytes("a decimal fraction that has not two numbers")
    return CborNumber(mantissa, exponent)


def decoded_text(raw: bytes) -> str:
    """Text that was sent as bytes. Raises BadBytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise BadBytes("text that is not UTF-8") from None


def _refuse() -> int:
    raise BadBytes("an integer was expected")
