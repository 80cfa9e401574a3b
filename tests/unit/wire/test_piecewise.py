"""JSON decoded in pieces gives the same values and refusals as decoded at once;
freeing values in pieces leaves nothing long.
"""

import json
import random
from typing import Any

import msgspec
import pytest

from hashrange.items import steps
from hashrange.items.steps import PIECE_BYTES
from hashrange.wire import piecewise
from hashrange.wire.body_members import decode_large
from hashrange.wire.faults import decode_object
from hashrange.wire.piecewise import (
    LEFT_MEMBERS_MAX,
    decode_in_pieces,
    free,
    free_request,
    free_unshared,
    members_of_list,
)

decode_at_once = msgspec.json.Decoder().decode
decode_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
SMALLEST = [
    b"{}",
    b'{"L":[]}',
    b'{"N":"1"}',
    b'{"M":{"a":{"S":"x"},"b":{"N":"2"}}}',
    b'{"S":"}{"}',
    b'"],"',
    b"[[1],[2]]",
]


def outcome(decode: Any, text: bytes) -> Any:
    """The decoded value, or "refused"."""
    try:
        return decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return "refused"


@pytest.mark.parametrize("commas_max", [0, 1 << 20])
@pytest.mark.parametrize("piece_bytes", [8, 40, 300])
@pytest.mark.parametrize("seed", range(4))
def test_random_texts_come_out_as_at_once(
    seed: int, piece_bytes: int, commas_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random texts: valid ones, and ones with an extra or missing structural character."""
    monkeypatch.setattr(piecewise, "COMMAS_TOLD_MAX", commas_max)
    monkeypatch.setattr(piecewise, "PIECE_BYTES", piece_bytes)
    chance = random.Random(seed)

    def value(depth: int) -> Any:
        kind = chance.randrange(7 if depth else 4)
        if kind < 4:
            texts = "".join(chance.choices('ab,{}[]":\\ é', k=chance.randrange(8)))
            return [chance.randrange(10 ** chance.randrange(1, 12)), texts, None, chance.random()][kind]
        if kind == 6:
            return {"".join(chance.choices('ab,{"', k=3)): value(depth - 1) for _ in range(chance.randrange(9))}
        return [value(depth - 1) for _ in range(chance.randrange(9))]

    refused = 0
    for _ in range(800):
        separators = chance.choice([(",", ":"), (", ", ": "), (" ,\n", " : ")])
        text = json.dumps(value(5), separators=separators, ensure_ascii=chance.random() < 0.5).encode()
        if chance.random() < 0.5:
            place = chance.randrange(len(text))
            mark = chance.choice([b"", b",", b"]", b"}", b'"', b" ", b"[", b"{}", b",]"])
            text = text[:place] + mark + text[place + chance.randrange(2) :]
        expected = outcome(decode_at_once, text)
        refused += expected == "refused"
        assert outcome(lambda text: decode_in_pieces(text, decode_at_once), text) == expected
        if text.strip().startswith(b"[") and expected != "refused":
            assert members_of_list(text) == [bytes(one) for one in decode_texts(text)]
    assert 100 < refused < 700


@pytest.mark.parametrize("element", SMALLEST)
@pytest.mark.parametrize("around", [b'{"TableName":"t","Item":{"a":{"L":[%b]}}}', b' [ [%b] , {"a":1} ] '])
def test_no_piece_of_a_long_list_is_long(element: bytes, around: bytes) -> None:
    text = around % b",".join([element] * 40_000)
    pieces: list[int] = []

    def decode(piece: bytes) -> Any:
        pieces.append(len(piece))
        return decode_at_once(piece)

    assert decode_in_pieces(text, decode) == decode_at_once(text)
    assert max(pieces) <= PIECE_BYTES + len(element) + 2


def test_the_texts_of_members_are_found_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces: list[int] = []

    def decode(piece: bytes) -> list[msgspec.Raw]:
        pieces.append(len(piece))
        return decode_texts(piece)

    monkeypatch.setattr(piecewise, "_tell_list_apart", decode)
    members = [b'{"id":{"N":"%d"}}' % number for number in range(20_000)]
    assert members_of_list(b" [%b] " % b" , ".join(members)) == members
    assert max(pieces) <= PIECE_BYTES + 2
    with pytest.raises(msgspec.DecodeError):
        members_of_list(b"[1,2")
    with pytest.raises(msgspec.ValidationError):
        members_of_list(b'{"a":1}')


@pytest.mark.parametrize("between", ["", '"z":{"}":",{"},'])
def test_the_members_of_a_wide_map_behind_a_long_one_are_not_told_apart_in_one_call(
    between: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """400,000 took 0.24 s."""
    most = 0

    def tell_apart(text: bytes) -> dict[str, msgspec.Raw]:
        nonlocal most
        found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        most = max(most, len(found))
        return found

    monkeypatch.setattr(piecewise, "_tell_map_apart", tell_apart)
    long = ",".join(['{"a":[1,2]}'] * 4_000)
    members = [f'"{number:x}":0' + (f",{between}"[:-1] if not number % 1_000 else "") for number in range(60_000)]
    text = f'{{"first":[{long}],{",".join(members)} }}'.encode()
    assert decode_in_pieces(text, decode_at_once) == decode_at_once(text)
    assert most <= piecewise.COMMAS_TOLD_MAX + 1
    for wrong in (text[:-1] + b",}", text[:-1], text[:-3] + b"}", text.replace(b'"3e8":0', b'"3e8" 0')):
        assert outcome(lambda text: decode_in_pieces(text, decode_at_once), wrong) == "refused"


def test_no_piece_of_a_long_map_is_long() -> None:
    text = json.dumps({"Item": {f"a{number}": {"N": "1"} for number in range(40_000)}}).encode()
    pieces: list[int] = []

    def decode(piece: bytes) -> Any:
        pieces.append(len(piece))
        return decode_at_once(piece)

    assert decode_in_pieces(text, decode) == decode_at_once(text)
    assert max(pieces) <= PIECE_BYTES + 10


def test_deep_nesting_takes_no_square_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level is scanned once; below a limit of levels, the rest is decoded in one call."""
    monkeypatch.setattr(piecewise, "PIECE_BYTES", 8)
    asked: list[int] = []

    def decode(piece: bytes) -> Any:
        asked.append(len(piece))
        return decode_at_once(piece)

    text = b"[1," * 500 + b"]" * 500
    assert outcome(lambda text: decode_in_pieces(text, decode), text) == "refused"
    text = b"[1," * 499 + b"[2]" + b"]" * 499
    assert decode_in_pieces(text, decode) == decode_at_once(text)
    assert max(asked) > 1_000


def test_numbers_that_only_the_slow_decoder_reads_are_read_in_pieces_too() -> None:
    texts = [b'{"N":"1"}'] * 20_000
    texts[7_000] = b'{"N":1e999}'
    body = b'{"a":[%b]}' % b",".join(texts)
    assert decode_object(body) == json.loads(body)


class PutLike(msgspec.Struct):
    Item: dict[str, dict[str, Any]]
    Name: str = ""


def test_a_dense_body_gives_way_while_it_is_decoded_and_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[None] = []
    monkeypatch.setattr(steps, "_look", lambda: looks.append(None))
    body = b'{"Name":"x","Item":{"a":{"L":[%b]}}}' % b",".join([b'{"L":[]}'] * 100_000)
    request = decode_large(body, msgspec.json.Decoder(PutLike))
    assert request == msgspec.json.decode(body, type=PutLike)
    assert len(looks) > 20
    looks.clear()
    free_request(request)
    assert len(looks) >= 100_000 // piecewise.FREED_TOGETHER
    assert request.Item == {"a": {"L": []}}


def test_a_dense_body_of_other_types_is_refused() -> None:
    body = b'{"Item":[%b]}' % b",".join([b'{"L":[]}'] * 100_000)
    with pytest.raises(msgspec.ValidationError):
        decode_large(body, msgspec.json.Decoder(PutLike))


def test_what_is_short_is_left_as_it_is() -> None:
    """Short values must stay: the cache of compiled expressions may hold names of a request."""
    names = {f"#{number}": "a" for number in range(2_048)}
    value = {"names": names, "long": list(range(5_000)), "deep": [[{"x": {str(n): n for n in range(5_000)}}]]}
    free(value)
    assert value == {"names": names, "long": [], "deep": [[{"x": {}}]]}
    assert len(names) == 2_048


def test_only_what_is_long_and_not_shared_is_freed() -> None:
    count = LEFT_MEMBERS_MAX + 1
    inner = ["1"] * count
    decoded = {
        "list": [{"NS": inner}] * count,
        "map": {str(number): inner for number in range(count)},
        "shared": ["a"] * count,
        "short": [{"NS": inner}],
        "text": "a" * count,
    }
    request = {"list": [{"NS": inner}], "shared": decoded["shared"]}
    free_unshared(decoded, request)
    assert decoded == {"list": [], "map": {}, "shared": ["a"] * count, "short": [{"NS": inner}], "text": "a" * count}
    assert request == {"list": [{"NS": ["1"] * count}], "shared": ["a"] * count}
