"""Which kinds of items can have one key is found in steps that the length of a document bounds."""

from typing import Any

import pytest

from hashrange.toolkit.models import key_collisions
from hashrange.toolkit.models.advice_on_keys import key_findings
from hashrange.toolkit.models.document import SchemaDocument
from hashrange.toolkit.models.faults import document_faults
from hashrange.toolkit.models.finding import ModelFinding
from tests.unit.toolkit.models.documents import Document, read
from tests.unit.toolkit.models.steps import calls_at_most

CALLS_PER_PAIR = 60


def keyed(*keys: str | tuple[str, str], begins: str = "") -> SchemaDocument:
    """A document with an entity of each key, whose places are attributes; values of `a` begin with `begins`."""
    names = ["PK", "SK"] if isinstance(keys[0], tuple) else ["PK"]
    attributes: Document = {one: {"type": "S", "required": True} for one in "ab"}
    attributes["a"]["begins"] = begins
    entities = [
        {
            "name": f"E{number}",
            "key": dict(zip(names, [key] if isinstance(key, str) else key, strict=True)),
            "attributes": attributes,
        }
        for number, key in enumerate(keys)
    ]
    table = {
        "TableName": "Things",
        "AttributeDefinitions": [{"AttributeName": one, "AttributeType": "S"} for one in names],
        "KeySchema": [
            {"AttributeName": one, "KeyType": kind} for one, kind in zip(names, ("HASH", "RANGE"), strict=False)
        ],
    }
    document = read({"name": "things", "tables": [table], "entities": entities})
    assert list(document_faults(document)) == []
    return document


def of_collisions(document: SchemaDocument) -> list[ModelFinding]:
    return [one for one in key_findings(document) if one.rule in {"collision", "not-compared"}]


@pytest.mark.parametrize(
    ("keys", "begins", "is_found"),
    [
        (["{a}y", "{a}z"], "x" * 2000, False),
        (["{a}{a}y", "{a}{a}z"], "x" * 1000, False),
        (["{a}y", "{a}z{a}y"], "x" * 1000, True),
        (["{a}xx" * 400 + "y", "{a}xx" * 400 + "z"], "", False),
        (["{a}x" * 500, "{b}x" * 500], "", True),
        (["{a}" * 600, "x" * 600], "", True),
        (["{a}#" * 500 + "y", "{a}#" * 500 + "z"], "", False),
    ],
)
def test_long_templates_take_few_steps(keys: list[str], begins: str, *, is_found: bool) -> None:
    document = keyed(*keys, begins=begins)
    with calls_at_most(15_000):
        found = of_collisions(document)
    assert [one.rule for one in found] == (["collision"] if is_found else [])


@pytest.mark.parametrize(
    "keys",
    [
        [("TENANT#{a}", f"KIND{number}#{{b}}") for number in range(100)],
        [(f"KIND{number}#{{a}}", "OF#{b}") for number in range(100)],
        [("TENANT#{a}", "xx{b}" * 40 + f"y{number}") for number in range(100)],
    ],
    ids=["sort keys", "partition keys", "long sort keys"],
)
def test_a_hundred_kinds_of_items_take_few_steps(keys: list[tuple[str, str]]) -> None:
    document = keyed(*keys)
    pairs = len(keys) * (len(keys) - 1) // 2
    with calls_at_most(CALLS_PER_PAIR * pairs):
        assert of_collisions(document) == []


def test_a_thousand_kinds_of_items_with_keys_of_their_own_are_not_compared_pair_by_pair() -> None:
    document = keyed(*(("TENANT#{a}", f"KIND{number:03}#{{b}}") for number in range(1000)))
    with calls_at_most(200_000):
        assert of_collisions(document) == []


def test_a_kind_of_items_is_told_once_with_all_that_it_collides_with() -> None:
    found = of_collisions(keyed("A#{a}", "B#{a}", "{a}#1", "A#1", "A#2"))
    assert [(one.place, one.sentence[:62]) for one in found] == [
        ("entity E0", "an item can have the same key as one of E2, E3, E4 in the tabl"),
        ("entities E1 and E2", "an item of each can have the same key in the table Things, and"),
        ("entities E2 and E3", "an item of each can have the same key in the table Things, and"),
    ]


def test_of_many_that_collide_some_are_named() -> None:
    first, *_ = found = of_collisions(keyed(*["{a}"] * 300))
    assert len(found) == 299
    assert first.sentence.startswith("an item can have the same key as one of E1, E2, E3, E4, E5 and 294 others in the")


def test_what_was_not_compared_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three pairs has ten texts."""
    document = keyed("{a}#{b}#1", "{a}#{b}#1", "{a}#{b}#1")
    monkeypatch.setattr(key_collisions, "STEPS_MAX", 30)
    assert [one.rule for one in of_collisions(document)] == ["collision", "collision"]
    monkeypatch.setattr(key_collisions, "STEPS_MAX", 29)
    told = [(one.level, one.rule, one.place) for one in of_collisions(document)]
    assert told == [("wrong", "collision", "entity E0"), ("note", "not-compared", "table Things")]


def test_the_steps_suffice_for_a_hundred_of_the_longest_templates() -> None:
    assert of_collisions(keyed(*("{a}" + "#{a}" * 500 + f"#{number}" for number in range(100)))) == []


def test_a_kind_without_a_key_attribute_of_its_own_is_found_by_either_attribute() -> None:
    keys: list[Any] = [("A#{a}", "ONE"), ("{a}#{b}", "{b}"), ("B#{a}", "TWO")]
    assert [one.place for one in of_collisions(keyed(*keys))] == ["entities E0 and E1", "entities E1 and E2"]
