"""Do all ways to encode a key give the same bytes? Keys of lookups (fast path and others),
of items, of index entries, of queries.
"""

from base64 import b64encode
from random import Random

import pytest

from hashrange.errors import ValidationException
from hashrange.items.types import Item, Key, Value
from hashrange.items.values import check_item
from hashrange.tables.entry_keys import entry_key_function, partition_bytes
from hashrange.tables.keys import key_functions
from hashrange.tables.schema import KeySchema, KeyType

TYPES: tuple[KeyType, ...] = ("S", "N", "B")
CHARACTERS = "a\x00\x01\x7f\u00e9\uffee\U0001f600"
LENGTHS = (0, 1, 2, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 2047, 2048, 2049)
"""Lengths around every limit at which another way of encoding is used."""
NO_ITEM_KEY = Key(b"")


def random_value(chance: Random, key_type: KeyType) -> Value:
    """A value of this type, or, rarely, of another one."""
    if chance.random() < 0.02:
        key_type = chance.choice(TYPES)
    if key_type == "N":
        return {"N": f"{chance.choice(('', '-'))}{chance.randrange(10**6)}.{chance.randrange(10**6)}"}
    length = chance.choice(LENGTHS) if chance.random() < 0.3 else chance.randrange(1, 6)
    if key_type == "B":
        return {"B": b64encode(chance.randbytes(length)).decode()}
    return {"S": "".join(chance.choices(CHARACTERS if chance.random() < 0.5 else "abc", k=length))}


@pytest.mark.parametrize("partition_type", TYPES)
@pytest.mark.parametrize("sort_type", [None, *TYPES])
def test_every_way_gives_the_same_key(partition_type: KeyType, sort_type: KeyType | None) -> None:
    seed = f"keys {partition_type} {sort_type}"
    chance = Random(seed)
    keys = KeySchema(
        ("pk",), (partition_type,), () if sort_type is None else ("sk",), () if sort_type is None else (sort_type,)
    )
    functions, entry_key = key_functions(keys), entry_key_function(keys)
    usual_count = 0
    for _ in range(500):
        key_map: Item = {"pk": random_value(chance, partition_type)}
        if sort_type is not None and chance.random() < 0.98:
            key_map["sk"] = random_value(chance, sort_type)
        usual = functions.usual(key_map)
        item = check_item(key_map)[0]
        further = {**item, "more": {"S": "x"}}
        try:
            key = functions.lookup(item)
        except ValidationException:
            assert usual is None, (seed, key_map)
            assert entry_key(further, NO_ITEM_KEY) is None, (seed, key_map)
            with pytest.raises(ValidationException):
                functions.item(further)
            continue
        usual_count += usual is not None
        assert usual in (None, key), (seed, key_map)
        assert functions.item(further) == key, (seed, key_map)
        assert entry_key(further, Key(b"own")) == key + b"own", (seed, key_map)
        assert key.startswith(partition_bytes(keys, [item["pk"][partition_type]])), (seed, key_map)
    assert (usual_count > 100) == ({partition_type, sort_type} <= {"S", None})
