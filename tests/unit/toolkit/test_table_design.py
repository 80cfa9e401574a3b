"""What DynamoDB does not take is refused before it becomes a file, with a sentence that says why."""

import pytest

from hashrange.toolkit.design_texts import read_global_index
from hashrange.toolkit.table_design import (
    DesignedCapacity,
    DesignedIndex,
    DesignedKey,
    DesignedUnits,
    TableDesign,
)

KEY = DesignedKey("pk")
SOUND = TableDesign("Orders", KEY, DesignedKey("sk", "N"))


def index(name: str = "by-a", *keys: str, **fields: object) -> DesignedIndex:
    made = DesignedIndex(name, tuple(DesignedKey(key) for key in keys or ("a",)))
    return made._replace(**fields)  # type: ignore[arg-type]


def fixed(units: int, **fields: int) -> DesignedCapacity:
    return DesignedCapacity(DesignedUnits(units, **fields), DesignedUnits(1))


@pytest.mark.parametrize(
    "design",
    [
        SOUND,
        SOUND._replace(name="a.b"),
        SOUND._replace(global_indexes=tuple(index(f"by-{number}") for number in range(20))),
        SOUND._replace(local_indexes=(DesignedIndex("one", (), (DesignedKey("x"),), "INCLUDE", ("y",)),)),
        SOUND._replace(global_indexes=(index("four", "a", "b", "c", "d", sort_keys=(DesignedKey("e"),)),)),
        SOUND._replace(capacity=fixed(1, most=1, target_percent=20)),
        SOUND._replace(recovery_days=1, ttl_attribute="ü" * 127, tags=(("a" * 128, "b" * 256), ("b", ""))),
    ],
)
def test_what_dynamodb_takes_has_no_fault(design: TableDesign) -> None:
    assert design.first_fault() is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": "ab"}, "the table's name 'ab' must have 3 to 255 characters."),
        ({"name": "a b c"}, "the table's name 'a b c' may hold only letters, digits, underscores, dots and hyphens."),
        ({"partition_key": DesignedKey("")}, "the key '' must have 1 to 255 bytes of UTF-8."),
        ({"sort_key": DesignedKey("\udc80")}, "the key '\\udc80' holds bytes that are no UTF-8."),
        ({"sort_key": KEY}, "partition key and sort key are both pk; a table needs two attributes for them."),
        (
            {"global_indexes": (index("by-sk", "sk"),)},
            "the attribute sk has two types, N and S; give it one.",
        ),
        ({"global_indexes": (index("x"),)}, "the index's name 'x' must have 3 to 255 characters."),
        (
            {"global_indexes": (index(),), "local_indexes": (index(),)},
            "two indexes are named by-a; each needs a name of its own.",
        ),
        (
            {"global_indexes": (index("by-5", *"abcde"),)},
            "the index by-5 has 5 partition keys; an index has at most 4.",
        ),
        (
            {"global_indexes": (index("twice", "a", "a"),)},
            "the index twice names an attribute twice in its key; each may be there once.",
        ),
        (
            {"global_indexes": (index(included=("b",)),)},
            "the index by-a must name the attributes that it includes, and only if its projection is include.",
        ),
        (
            {"global_indexes": tuple(index(f"by-{one}") for one in range(21))},
            "a table has at most 20 global secondary indexes, and this one has 21.",
        ),
        (
            {"local_indexes": tuple(index(f"by-{one}") for one in range(6))},
            "a table has at most 5 local secondary indexes, and this one has 6.",
        ),
        (
            {"sort_key": None, "local_indexes": (index(),)},
            "a local secondary index needs a table with a sort key; use a global one, or add a sort key.",
        ),
        (
            {"global_indexes": (index(projection="INCLUDE", included=tuple(map(str, range(101)))),)},
            "all indexes together include at most 100 attributes, and these include 101.",
        ),
        ({"capacity": fixed(0)}, "the table needs at least 1 read unit."),
        (
            {"capacity": fixed(9, most=5)},
            "the read units of the table scale from 9 to 5; the first must be less.",
        ),
        (
            {"global_indexes": (index(capacity=fixed(1, most=5, target_percent=91)),)},
            "the target of read units of the index by-a is 91 %; auto scaling takes 20 to 90 %.",
        ),
        ({"ttl_attribute": ""}, "the attribute of time to live must have 1 to 255 bytes of UTF-8."),
        ({"recovery_days": 36}, "point-in-time recovery reaches 1 to 35 days back, not 36."),
        ({"tags": (("a", "1"), ("a", "2"))}, "two tags have the key a; each key may be given once."),
        ({"tags": (("AWS:x", "1"),)}, "the tag AWS:x begins with aws:, which only AWS may use."),
        (
            {"tags": (("", "1"),)},
            "the tag '' is too short or too long: keys have 1 to 128 characters, values at most 256.",
        ),
        (
            {"tags": tuple((str(one), "") for one in range(51))},
            "a table has at most 50 tags, and this one has 51.",
        ),
    ],
)
def test_the_first_fault_is_told(changes: dict[str, object], sentence: str) -> None:
    assert SOUND._replace(**changes).first_fault() == sentence  # type: ignore[arg-type]


def test_a_key_without_a_type_has_the_type_of_the_same_attribute_before_it() -> None:
    letters: dict[str, object] = {"created": "N"}
    found = read_global_index("by-status=status,kind:B/created", "--gsi", letters)  # type: ignore[arg-type]
    assert found.partition_keys == (DesignedKey("status"), DesignedKey("kind", "B"))
    assert found.sort_keys == (DesignedKey("created", "N"),)
    assert letters == {"created": "N", "status": "S", "kind": "B"}
