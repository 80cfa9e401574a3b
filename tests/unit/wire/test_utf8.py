"""Invalid UTF-8 in bodies is found at any position, and the check of large bodies gives way."""

import pytest

from hashrange.items import steps
from hashrange.items.steps import PIECE_BYTES
from hashrange.wire.body_members import require_utf8

LETTERS = ["é", "€", "\U0001f600"]


@pytest.mark.parametrize("letter", LETTERS)
@pytest.mark.parametrize("length", [1, PIECE_BYTES, 3 * PIECE_BYTES])
def test_letters_may_stand_over_the_end_of_a_piece(letter: str, length: int) -> None:
    for shift in range(4):
        require_utf8(b"x" * shift + (letter * length).encode()[: length // len(letter.encode()) * len(letter.encode())])


@pytest.mark.parametrize("fault", [b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", "\U0001f600".encode()[:3], b"\x80"])
@pytest.mark.parametrize("length", [0, PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1])
@pytest.mark.parametrize("after", [b"", b"x", b"x" * 2 * PIECE_BYTES])
def test_faults_are_found(fault: bytes, length: int, after: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        require_utf8(b"x" * length + fault + after)


def test_a_large_body_gives_way(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(1))
    require_utf8(b"x" * (1 << 24) + "\U0001f600".encode())
    assert len(looks) > 100
