"""Is the size of a vector's list the same, however it is measured?"""

import random
from typing import Any

import pytest

from hashrange.items.values import check_item
from hashrange.tables.vector_entries import MOST_BYTES, own_vector, packed_vector

OTHERS: dict[str, Any] = {
    "key": {"S": "ä"},
    "größe": {"N": "12.50"},
    "map": {"M": {"a": {"L": [{"N": "1"}, {"BOOL": True}]}, "b": {"NULL": True}}},
    "set": {"NS": ["1", "2.5"]},
    "blob": {"B": "AAEC"},
}


def number(chosen: random.Random) -> str:
    digits = chosen.choice([1, 4, 17, 38])
    return chosen.choice(["", "-"]) + f"{chosen.random():.{digits}f}" + chosen.choice(["", "e-20", "e5"])


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["v", "vektor-für-alles"])
def test_the_size_of_a_list_is_what_others_leave(seed: int, name: str) -> None:
    chosen = random.Random(seed)
    dimensions = chosen.choice([1, 3, 50])
    others = {one: OTHERS[one] for one in chosen.sample(sorted(OTHERS), chosen.randrange(len(OTHERS) + 1))}
    given = others | {name: {"L": [{"N": number(chosen)} for _ in range(dimensions)]}}
    item, size_bytes = check_item(given)
    counted = packed_vector(item[name], dimensions)
    assert counted is not None
    assert own_vector(item, name, dimensions, size_bytes) == counted
    assert own_vector(item, name, dimensions, MOST_BYTES * dimensions + 1) == counted, "others are not measured"
    assert own_vector(item, name, dimensions + 1, size_bytes) is None
    assert own_vector(item, "none", dimensions, size_bytes) is None
