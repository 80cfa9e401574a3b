"""Where does a request of DAX's protocol end, and what does it ask? Frames of one connection: the handshake,
then requests, each a method and its arguments.

Frames have no length. A frame that is not complete is skimmed, value by value, and only what has come since,
so that a slow sender costs no more than a quick one. Source: dax.md 1.
"""

from typing import Any, NamedTuple

from hashrange.items.steps import spend, spend_decoding
from hashrange.wire.dax.reading import PIECE_VALUES, VALUES_MAX, BadBytes, CborReader, CutOff, TooManyValues

MAGIC = "J7yne5G"
FRAME_BYTES_MAX = 17 * 1024 * 1024
"""Length of a request: DynamoDB's own have 16 MB."""
HANDSHAKE_BYTES_MAX = 16 * 1024
STRANGER_BYTES_MAX = 16 * 1024
"""Length of a request of a client that has not said who it is; authorizeConnection has up to 3 KB."""
STRANGER_VALUES_MAX = 256
"""Values in containers of such a request, or of a handshake."""
FRAME_HEAD_BYTES = 8
REQUEST_STEPS = 3
"""Steps that reading a short request counts as."""
_HANDSHAKE_VALUES = 5
_FIRST_BYTES = b"\x67" + MAGIC.encode()
"""What a client begins with; whoever begins otherwise speaks another protocol."""
_BREAK = 0xFF

METHODS = {
    1489122155: ("authorizeConnection", 5),
    455855874: ("endpoints", 0),
    670678385: ("defineAttributeList", 1),
    -1230579644: ("defineAttributeListId", 1),
    -742646399: ("defineKeySchema", 1),
    263244906: ("getItem", 3),
    -2106490455: ("putItem", 4),
    1425579023: ("updateItem", 3),
    1013539361: ("deleteItem", 3),
    -931250863: ("query", 3),
    -1875390620: ("scan", 2),
    -697851100: ("batchGetItem", 2),
    116217951: ("batchWriteItem", 2),
    1866287579: ("transactGetItems", 4),
    -1160037738: ("transactWriteItems", 9),
}
"""Id → name of the method, and the number of its arguments.
No client sends the others, whose arguments are not known."""


_BEGINNING_BYTES = 6
_BEGINNINGS = {
    b"\x01"
    + bytes((0x1A if number >= 0 else 0x3A,))
    + (number if number >= 0 else -1 - number).to_bytes(4, "big"): method
    for number, method in METHODS.items()
}
"""How clients write the service and the method. Other forms of the same numbers are read too."""


class DaxRequest(NamedTuple):
    """One request. `method` is such as `getItem`; `arguments` are values of `CborReader`."""

    method: str
    arguments: list[Any]


class StrangersRequest(BadBytes):
    """A request that only a client may send that has said who it is."""


class Frames:
    """What one client sends. After BadBytes, nothing more can be read. Gives way."""

    __slots__ = ("_begun", "_left", "_skim", "is_open", "is_trusted", "wants_frames")

    def __init__(self, *, is_trusted: bool = True) -> None:
        """`is_trusted`: the client may send more than a short request;
        until then, requests end with each authorizeConnection.
        """
        self.is_trusted = is_trusted
        self._left = b""
        self.is_open = False
        """True once the handshake is over."""
        self._begun: bytearray | None = None
        """The bytes of a frame that is not complete."""
        self._skim = Skim(_HANDSHAKE_VALUES, STRANGER_VALUES_MAX)
        self.wants_frames = False
        """True if the client reads replies in frames (`framed`), as that for Java does."""

    @property
    def begun_bytes(self) -> int:
        """Bytes held of a frame that is not complete."""
        return 0 if self._begun is None else len(self._begun)

    def take_left(self) -> bytes:
        """Bytes of the last `feed` that are to be passed to it again, as they follow an authorizeConnection."""
        left, self._left = self._left, b""
        return left

    def feed(self, data: bytes) -> list[DaxRequest]:
        """Take received bytes; returns the requests that they complete.
        Raises BadBytes, also if a request before it was good.

        If the client is not trusted, stops after an authorizeConnection, see `take_left`, and raises StrangersRequest
        for a long request.
        """
        try:
            return self._feed(data)
        except RecursionError:
            raise BadBytes("containers are nested too deep") from None
        except TooManyValues:
            if self.is_trusted or not self.is_open:
                raise
            raise StrangersRequest("a long request") from None

    def _feed(self, data: bytes) -> list[DaxRequest]:
        begun = self._begun
        if not self.is_open and not _FIRST_BYTES.startswith(bytes(((begun or b"")[:8] + data[:8])[:8])):
            raise BadBytes("no handshake of DAX")
        if begun is not None:
            begun += data
            if not self._is_complete(begun):
                self._check_length(len(begun))
                return []
            spend_decoding(len(begun))
            data, self._begun = bytes(begun), None
        requests: list[DaxRequest] = []
        reader, begin = CborReader(data), 0
        try:
            while begin < len(data):
                if begin or not self.is_trusted or not self.is_open:
                    reader.values_left = self._values_max()
                    spend(REQUEST_STEPS)
                if self.is_open:
                    requests.append(_request(reader))
                else:
                    self._shake_hands(reader)
                length, begin = reader.at - begin, reader.at
                if not self.is_trusted and requests:
                    self._check_length(length)
                    if requests[-1].method == "authorizeConnection":
                        self._left = data[begin:]
                        break
        except CutOff:
            self._begun = bytearray(memoryview(data)[begin:])
            self._skim = Skim(2 if self.is_open else _HANDSHAKE_VALUES, self._values_max())
            self._is_complete(self._begun)
            self._check_length(len(self._begun))
        return requests

    def _values_max(self) -> int:
        return VALUES_MAX if self.is_trusted and self.is_open else STRANGER_VALUES_MAX

    def _check_length(self, length: int) -> None:
        if not self.is_open:
            if length > HANDSHAKE_BYTES_MAX:
                raise BadBytes("a handshake that is too long")
        elif length > (FRAME_BYTES_MAX if self.is_trusted else STRANGER_BYTES_MAX):
            raise BadBytes("a request that is too long") if self.is_trusted else StrangersRequest("a long request")

    def _is_complete(self, begun: bytearray) -> bool:
        """True if a frame of which this is the begin is complete."""
        if not self._skim.goes_on(begun):
            return False
        if self.is_open and not self._skim.has_arguments:
            reader = CborReader(begun)
            self._skim.add_arguments(_method(reader)[1])
            return self._skim.goes_on(begun)
        return True

    def _shake_hands(self, reader: CborReader) -> None:
        magic, layering, _, headers, mode = [reader.value() for _ in range(_HANDSHAKE_VALUES)]
        if magic != MAGIC or layering not in (0, 1) or mode != 0 or headers.__class__ is not dict:
            raise BadBytes("no handshake of DAX")
        self.wants_frames = layering == 1
        self.is_open = True


def _method(reader: CborReader) -> tuple[str, int]:
    if reader.value() != 1:
        raise BadBytes("an unknown service")
    method = METHODS.get(reader.integer())
    if method is None:
        raise BadBytes("an unknown method")
    return method


def _request(reader: CborReader) -> DaxRequest:
    at = reader.at
    method = _BEGINNINGS.get(bytes(reader.data[at : at + _BEGINNING_BYTES]))
    if method is None:
        method = _method(reader)
    else:
        reader.at = at + _BEGINNING_BYTES
    name, count = method
    return DaxRequest(name, [reader.value() for _ in range(count)])


def framed(reply: bytes) -> bytes:
    """A reply in a frame: its length with this head of 8 bytes, and that it ends here.
    Source: the client for Java, 2.0.5.
    """
    return (len(reply) + FRAME_HEAD_BYTES).to_bytes(4, "big") + b"\x01\x00\x00\x00" + reply


class Skim:
    """Finds the end of values in bytes that grow. Each byte is looked at once at most. Gives way."""

    __slots__ = ("_at", "_left", "_values_left", "has_arguments")

    def __init__(self, values: int, values_max: int = VALUES_MAX) -> None:
        """`values_max`: the most values that there may be, including those in containers."""
        self._at = 0
        self._values_left = values_max + values
        self._left = [values]
        """For each container that is open: how many values it still lacks; -1 until a break."""
        self.has_arguments = False

    def add_arguments(self, count: int) -> None:
        """Let `count` more values be complete."""
        self.has_arguments = True
        self._values_left += count
        self._left = [count]

    def goes_on(self, data: bytearray) -> bool:  # noqa: C901 - one machine over bytes: a branch for each state
        """Look at what is new; True if all values are complete. Raises BadBytes."""
        left, at, end = self._left, self._at, len(data)
        while True:
            while left and left[-1] == 0:
                left.pop()
            if not left:
                self._at = at
                return at <= end
            if at >= end:
                break
            first = data[at]
            if first == _BREAK:
                if left[-1] >= 0:
                    raise BadBytes("a break outside of a container")
                left.pop()
                at += 1
                continue
            major, info = first >> 5, first & 31
            size = 0 if info < 24 or info == 31 else 1 << (info - 24)
            if size > 8:
                raise BadBytes("a head of reserved form")
            if at + 1 + size > end:
                break
            argument = info if info < 24 else int.from_bytes(data[at + 1 : at + 1 + size], "big")
            at += 1 + size
            left[-1] -= left[-1] > 0
            self._values_left -= 1
            if not self._values_left % PIECE_VALUES:
                if self._values_left <= 0:
                    raise TooManyValues
                spend(PIECE_VALUES >> 1)
            at += self._enter(major, -1 if info == 31 else argument)
        self._at = at
        return False

    def _enter(self, major: int, argument: int) -> int:
        """Note what follows a head; returns how many bytes belong to the value itself."""
        if major in (2, 3):
            if argument >= 0:
                return argument
            self._left.append(-1)
        elif major in (4, 5):
            if argument * (major - 3) > self._values_left:
                raise TooManyValues
            self._left.append(argument * (major - 3) if argument >= 0 else -1)
        elif major == 6:
            self._left.append(1)
        return 0
