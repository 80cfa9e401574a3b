"""Any text as a statement: each of the three operations returns a result or an API error, never anything else.

Texts are valid statements with pieces left out, doubled, swapped or inserted, and random sequences of pieces.
`HASHRANGE_FUZZ_REQUESTS` sets their number, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.errors import ApiError, Malformed
from hashrange.operations.operation import Scope
from hashrange.operations.registry import OPERATIONS
from hashrange.store.embedded import open_store
from tests.model.world import drive
from tests.support.asking import run_operation
from tests.support.scopes import scope_of

REQUESTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) * 8
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
CALLS_PER_CHARACTER_MAX = 30
"""Highest number of calls per character: the longest way through the parser takes 8, quadratic time takes thousands."""

PIECES = """
    SELECT * FROM "ttt" ttt WHERE pk = 'a' AND sk = 1 OR NOT IN BETWEEN IS MISSING NULL LIKE ORDER BY ASC DESC INSERT
    INTO VALUE UPDATE SET REMOVE DELETE RETURNING ALL MODIFIED OLD NEW EXISTS ( ) [ ] { } << >> < <= > >= <> != , . : ;
    ? + - / % || ' " ` # -- /* */ begins_with( contains( size( attribute_type( attribute_exists( list_append( set_add(
    set_delete( "iii" "ggg" g h a b.c l[0] m.x IS STRING DOUBLE PRECISION COUNT(*) 'S' 'x''y' true false null 1e5 -1.5
    .5 1e999 1e99999999999 0x1 {'k': 1} [1,'a'] <<1,2>> <<'a'>> <<?>> LIMIT GROUP AS é \U0001f600 \0
""".split()  # noqa: SIM905 - a list literal would be ninety lines
STATEMENTS = [
    "SELECT * FROM \"ttt\" WHERE pk = 'a' AND sk = 1",
    (
        "SELECT a, m.x, l[0] FROM ttt WHERE pk IN ['a', ?] AND sk BETWEEN 0 AND 2 AND ( a IS NOT MISSING OR size( a )"
        " > 1 ) ORDER BY pk , sk DESC"
    ),
    "SELECT * FROM \"ttt\".\"ggg\" WHERE g = 'x' AND h < 5 AND NOT begins_with( a , 'x' )",
    'SELECT * FROM "ttt"."lll" WHERE a IN [ 1 , \'x\' , ? ] OR contains( b , <<1>> )',
    "INSERT INTO \"ttt\" VALUE { 'pk' : 'b' , 'sk' : ? , 'l' : [ 1 , { 'x' : null } ] , 's' : <<1,2>> , 'g' : 'x' }",
    (
        "UPDATE ttt SET a = a + 1 , b.c = list_append( l , [ ? ] ) SET s = set_add( s , <<3>> ) REMOVE m.x WHERE pk ="
        " 'a' AND sk = 1 RETURNING ALL NEW *"
    ),
    (
        "SELECT * FROM ttt WHERE pk = 'a' AND sk > 1 OR ( pk = ? AND attribute_exists( a ) = true ) OR pk"
        " = 'b' AND sk IN [ 1 , 2 ]"
    ),
    'SELECT COUNT(*) , a FROM "ttt"."ggg" WHERE a IS NOT STRING OR begins_with( a , \'x\' ) <> ? OR b IS BAG',
    "FROM ttt WHERE pk = 'a' AND sk = 1 SET a = 1",
    "DELETE FROM ttt WHERE pk = 'a' AND sk = ? AND a <> 3 RETURNING ALL OLD *",
    "EXISTS( SELECT * FROM ttt WHERE pk = 'a' AND sk = 1 AND a = 1 )",
]
PARAMETERS: list[Any] = [
    {"S": "a"}, {"N": "1"}, {"N": "x"}, {"B": "AAE="}, {"SS": ["a"]}, {"NS": []}, {"L": [{"N": "1"}]},
    {"M": {"a": {"S": ""}}}, {"NULL": True},
    {"BOOL": False}, {}, {"S": "a", "N": "1"}, {"X": 1}, {"S": 1}, {"S": "\ud800"},
]  # fmt: skip


def spoil(chance: random.Random) -> str:
    """A spoiled text."""
    if chance.random() < 0.15:
        return " ".join(chance.choices(PIECES, k=chance.randint(1, 40)))
    pieces = chance.choice(STATEMENTS).split(" ")
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        place = chance.randrange(len(pieces))
        match chance.randint(0, 4):
            case 0:
                del pieces[place : place + chance.randint(1, 3)]
            case 1:
                pieces.insert(place, chance.choice(PIECES))
            case 2:
                pieces[place] = chance.choice(PIECES)
            case 3:
                pieces[place:place] = pieces[place : place + chance.randint(1, 6)] * chance.choice([1, 2, 60])
            case 4:
                cut = chance.randint(0, len(pieces[place]))
                pieces[place] = pieces[place][:cut]
        pieces = pieces or [""]
    return (" " if chance.random() < 0.9 else "").join(pieces)[:8192] or " "


@pytest.fixture(name="scope", scope="module")
def make_scope() -> Any:
    """The scope of a store that has a table with indexes and an item."""
    store = open_store(None, SystemClock(), None)
    scope = scope_of(store, SystemClock())
    types = {"pk": "S", "sk": "N", "g": "S", "h": "N"}
    keys = [
        [{"AttributeName": one, "KeyType": "HASH"}, {"AttributeName": two, "KeyType": "RANGE"}]
        for one, two in (("pk", "sk"), ("g", "h"), ("pk", "h"))
    ]
    ask(
        scope,
        "CreateTable",
        {
            "TableName": "ttt",
            "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": keys[0],
            "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()],
            "GlobalSecondaryIndexes": [
                {"IndexName": "ggg", "KeySchema": keys[1], "Projection": {"ProjectionType": "ALL"}}
            ],
            "LocalSecondaryIndexes": [
                {"IndexName": "lll", "KeySchema": keys[2], "Projection": {"ProjectionType": "KEYS_ONLY"}}
            ],
        },
    )
    yield scope
    store.close_now()


def ask(scope: Scope, operation: str, members: dict[str, Any]) -> Any:
    return drive(run_operation(scope, OPERATIONS[operation], members))


def test_any_text_gives_an_answer_or_an_api_error(scope: Scope) -> None:
    chance = random.Random(SEED)
    answered = refused = 0
    for number in range(REQUESTS):
        text = spoil(chance)
        parameters = (
            {"Parameters": chance.choices(PARAMETERS[:2] if chance.random() < 0.7 else PARAMETERS, k=count)}
            if (count := text.count("?") + (chance.random() < 0.03))
            else {}
        )
        statement = {"Statement": text, **parameters}
        choices: list[tuple[str, dict[str, Any]]] = [
            ("ExecuteStatement", statement | {"ReturnConsumedCapacity": "INDEXES"}),
            ("ExecuteStatement", statement | {"Limit": 1}),
            ("BatchExecuteStatement", {"Statements": [statement, {"Statement": chance.choice(STATEMENTS[:1])}]}),
            ("ExecuteTransaction", {"TransactStatements": [statement], "ReturnConsumedCapacity": "TOTAL"}),
        ]  # fmt: skip
        operation, members = chance.choice(choices)
        try:
            ask(scope, operation, members)
            answered += 1
        except (ApiError, Malformed):
            refused += 1
        except Exception as error:
            raise AssertionError(f"seed {SEED}, text {number}: {members!r}") from error
    assert answered > REQUESTS // 20
    assert refused > REQUESTS // 4


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Count function calls, by kind: the same on every machine, under any load."""
    calls: Counter[str] = Counter()

    def count(_frame: object, event: str, _argument: object) -> None:
        calls[event] += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize(
    "piece",
    ["(", "[", "{'a':", "<<", "NOT ", "a.", "size(", "1,", "a = 1 AND ", "- ", "? ", "'' ", "/*", '"', "a IN ["],
)
def test_a_piece_again_and_again(scope: Scope, piece: str) -> None:
    """Long statements must not overflow the stack, nor take quadratic time."""
    for start in ("SELECT * FROM ttt WHERE ", "INSERT INTO ttt VALUE {'a': ", "UPDATE ttt SET a = ", "SELECT ", ""):
        text = (start + piece * 8192)[:8192]
        with counted_calls() as calls, pytest.raises(ApiError):
            ask(scope, "ExecuteStatement", {"Statement": text})
        assert sum(calls.values()) < CALLS_PER_CHARACTER_MAX * len(text), (start, piece)
