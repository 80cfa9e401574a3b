"""How is the JSON of an item kept short where it is far longer than the item's size? Texts that repeat in it stand as single bytes.

An item of 400 KB may be 2.8 MB of JSON, when it is all nulls, empty values or control characters; ten such in one commit hold the engine for 0.1 s.
Bytes that canonical JSON never has stand for these texts, so equal JSON has equal packed bytes, and taking them back needs no
reading. Must not know rows. The table is fixed in docs/formats/rows.md.
"""

from collections.abc import Iterator

from hashrange.steps import spend

PACKED_SAVES = 8
"""So many bytes are saved at most for each byte of an item's size: an empty text counts 1, has 9 characters of JSON and is packed into 1 byte."""
PACKED_AT_ONCE_BYTES = 32 * 1024
"""Each piece of JSON of this length is packed by itself: a text that reaches over its end stays as it is."""

_SHORT_ESCAPES = {0x08: rb"\b", 0x09: rb"\t", 0x0A: rb"\n", 0x0C: rb"\f", 0x0D: rb"\r"}
_ESCAPES = [(bytes((code,)), _SHORT_ESCAPES.get(code, rb"\u%04x" % code)) for code in range(0x20)]
"""A control character stands for its own escape."""
_NEVER_IN_UTF8 = (0xC0, 0xC1, *range(0xF5, 0x100))
_STRUCTURE = (
    b'{"NULL":true},', b'{"BOOL":true},', b'{"BOOL":false},', b'{"S":""},', b'{"L":[]},', b'{"M":{}},',
    b'{"N":"', b'{"S":"', b'{"B":"', b'{"L":[', b'{"M":{', b'"},', b'","',
)  # fmt: skip
_WORDS = [(bytes((code,)), text) for code, text in zip(_NEVER_IN_UTF8, _STRUCTURE, strict=True)]
_ADDED: dict[int, bytes] = {}
"""How much longer a text is than the byte that stands for it → all such bytes."""
for _byte, _text in _ESCAPES + _WORDS:
    _ADDED[len(_text) - 1] = _ADDED.get(len(_text) - 1, b"") + _byte


def pack(text: bytes) -> bytes:
    """Canonical JSON, packed. 5 to 50 ns a byte; gives way."""
    return b"".join([_packed(piece) for piece in _pieces(text)])


def unpack(packed: bytes) -> bytes:
    """The JSON that was packed. 2 to 10 ns for each of its bytes; gives way."""
    return b"".join([_unpacked(piece) for piece in _pieces(packed)])


def unpacked_bytes(packed: bytes) -> int:
    """The length of the JSON that was packed, without making it. 1 to 4 ns for each packed byte; gives way."""
    size_bytes = len(packed)
    for piece in _pieces(packed):
        for added_bytes, these in _ADDED.items():
            others = piece.translate(None, these)
            size_bytes += (len(piece) - len(others)) * added_bytes
            piece = others
    return size_bytes


def _pieces(whole: bytes) -> Iterator[bytes]:
    for start in range(0, len(whole), PACKED_AT_ONCE_BYTES):
        piece = whole[start : start + PACKED_AT_ONCE_BYTES]
        spend(len(piece) >> 5)
        yield piece


def _packed(piece: bytes) -> bytes:
    for byte, text in _ESCAPES + _WORDS if b"\\" in piece else _WORDS:
        piece = piece.replace(text, byte)
    return piece


def _unpacked(piece: bytes) -> bytes:
    for byte, text in _WORDS + _ESCAPES:
        piece = piece.replace(byte, text)
    return piece
