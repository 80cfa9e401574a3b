"""Structs that read a few attributes are classes, which nothing frees while clients are connected: they are bounded."""

from collections.abc import Iterator

import msgspec
import pytest

from hashrange.items import member_decoders
from hashrange.items.member_decoders import MemberDecoders, forget_structs
from hashrange.items.rows import attributes_reader, decode_attributes, encode_row
from hashrange.tables.expiry import number_reader
from tests.support.garbage import garbage_made

pytestmark = pytest.mark.usefixtures("only_new_garbage")

WIDE = {f"a{number}": {"S": "x" * 500} for number in range(30)} | {"n": {"N": "7"}}
ROW = encode_row(WIDE, 15_100)


@pytest.fixture(autouse=True)
def few_structs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(member_decoders, "SETS_MAX", 5)
    forget_structs()
    yield
    forget_structs()


def test_many_sets_of_names_leave_no_classes_to_the_collector() -> None:
    with garbage_made() as garbage:
        for number in range(30):
            names = (f"a{number}", "n")
            assert decode_attributes(ROW, names) == {name: WIDE[name] for name in names}
            assert attributes_reader(names)(ROW) == [msgspec.json.encode(WIDE[name]) for name in names]
            assert number_reader(f"a{number}")(ROW) is None
        assert number_reader("n")(ROW) == "7"
        assert [one for one in garbage() if isinstance(one, type)] == []


def test_the_first_sets_keep_their_structs_and_others_are_read_without() -> None:
    decoders = MemberDecoders(int, None)
    found = [decoders.find((f"m{number}",)) for number in range(7)]
    assert [one is not None for one in found] == [True] * 5 + [False] * 2
    assert decoders.find(("m0",)) is found[0]
    forget_structs()
    assert decoders.find(("m6",)) is not None
    assert len(decoders) == 1


@pytest.mark.parametrize(
    "names",
    [
        ('quoted"',),
        ("back\\slash",),
        ("line\n",),
        tuple(f"n{number}" for number in range(member_decoders.NAMES_MAX + 1)),
        ("n" * (member_decoders.NAMES_LENGTH_MAX + 1),),
    ],
)
def test_odd_long_and_many_names_get_no_struct(names: tuple[str, ...]) -> None:
    assert MemberDecoders(int).find(names) is None
