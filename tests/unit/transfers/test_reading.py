"""How are the lines of an object read? Many at once, with the result of reading them one by one."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from hashrange.operations.transfers.import_records import ReadingPlace, S3BucketSource
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.ion_reading import IonLineReader
from hashrange.transfers.formats.json_lines import JsonLineReader
from hashrange.transfers.formats.lines import LineReader
from hashrange.transfers.reading import LinePlace, ObjectReader, ObjectsToRead, place_before

LINES = [b'{"Item":{"id":{"S":"%d"}}}'] * 8 + [
    b"",
    b" \t",
    b"{}",
    b'{"Item":{"id":{"S":"%d"}}} {"Item":{"id":{"S":"%d-2"}}}',
    b'{"Item":[]}\r',
]
DAMAGED = [b'{"Item":{"id":{"S":"x"}}', b'{"Item":', b"}", b"\xff", b'{"Item":{"id":{"S":"\xff"}}}']


class Found(NamedTuple):
    """What has been read of an object."""

    items: list[tuple[LinePlace, Any]]
    damage: tuple[LinePlace, str] | None
    text_bytes: int
    places: list[tuple[ReadingPlace, int]]
    """Where the reader was behind each item, and the text before that."""


def read(
    text: bytes,
    place: ReadingPlace,
    sizes: list[int],
    lines_together: int,
    new_reader: Callable[[], LineReader] = JsonLineReader,
) -> Found:
    """Read an object in chunks of these sizes."""
    wanted = ObjectsToRead(S3BucketSource(S3Bucket="bucket"), "NONE", new_reader, lines_together)
    reader = ObjectReader("key", wanted, place)
    found: list[tuple[LinePlace, Any]] = []
    places: list[tuple[ReadingPlace, int]] = []
    damage = None
    try:
        for begin, end in pairwise([0, *sizes]):
            for some in reader.feed(text[begin:end]):
                found += [(some.place(number), item) for number, item in enumerate(some.items)]
                places.append((place_before(reader.next_at, place), reader.bytes_before))
        for some in reader.feed(b""):
            found += [(some.place(number), item) for number, item in enumerate(some.items)]
    except DamagedObject as error:
        damage = reader.next_at, str(error)
    return Found(found, damage, reader.text_bytes, places)


def made_object(chance: random.Random) -> tuple[bytes, list[int]]:
    """The text of an object, and where its chunks end."""
    lines = [line.replace(b"%d", b"%d" % number) for number, line in enumerate(chance.choices(LINES, k=90))]
    if chance.random() < 0.5:
        lines.insert(chance.randrange(90), chance.choice(DAMAGED))
    text = b"\n".join(lines) + chance.choice([b"", b"\n"])
    ends = sorted(chance.sample(range(1, len(text)), k=chance.randrange(6)))
    return text, [*ends, len(text)]


@pytest.mark.parametrize("seed", range(40))
def test_lines_read_together_are_those_read_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    text, sizes = made_object(chance)
    place = ReadingPlace(lines_read=chance.randrange(4), items_read=chance.randrange(2))
    one_by_one = read(text, place, sizes, 1)
    together = read(text, place, sizes, chance.choice([2, 5, 64]))
    assert together[:3] == one_by_one[:3]
    assert one_by_one.items


@pytest.mark.parametrize("seed", range(20))
def test_reading_goes_on_behind_any_place(seed: int) -> None:
    """No item is missing, and none is read twice, whatever lines were read together before."""
    chance = random.Random(seed)
    text, sizes = made_object(chance)
    whole = read(text, ReadingPlace(), sizes, 5)
    for place, bytes_before in whole.places:
        rest = read(text, place, [len(text)], chance.choice([1, 5]))
        behind = [one for one in whole.items if (one[0].line - 1, one[0].item) > (place.lines_read, place.items_read)]
        assert rest.items == behind
        assert rest.damage == whole.damage
        assert bytes_before + rest.text_bytes == whole.text_bytes


ION = [b'{Item:{id:"%d"}}', b'{\n  Item:{\n    id:"%d"\n  }\n}', b'{Item:{id:"%d"}} {Item:{\nid:"x"}}', b"\n", b"{\n}"]


@pytest.mark.parametrize("seed", range(20))
def test_reading_goes_on_behind_any_place_between_values_of_many_lines(seed: int) -> None:
    chance = random.Random(seed)
    values = [value.replace(b"%d", b"%d" % number) for number, value in enumerate(chance.choices(ION, k=30))]
    text = b"\n".join(values) + chance.choice([b"", b"\n", b"\n{a:\n"])
    ends = sorted(chance.sample(range(1, len(text)), k=chance.randrange(6)))
    whole = read(text, ReadingPlace(), [*ends, len(text)], 5, IonLineReader)
    assert (whole.damage is None) is not text.endswith(b"{a:\n")
    begins = [text[: text.find(b'"%d"' % number)].count(b"\n") + 1 for number in range(30)]
    for at, one in whole.items:
        if isinstance(one, dict) and one["id"]["S"].isdigit():
            assert at.line <= begins[int(one["id"]["S"])] <= at.line + 2
    for place, bytes_before in whole.places:
        rest = read(text, place, [len(text)], 5, IonLineReader)
        behind = [one for one in whole.items if (one[0].line - 1, one[0].item) > (place.lines_read, place.items_read)]
        assert rest.items == behind
        assert rest.damage == whole.damage
        assert bytes_before + rest.text_bytes == whole.text_bytes
