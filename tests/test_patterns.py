"""Which patterns repeat a group? Python's `re` takes 0.1 µs for each repetition of one, in a call that lets nobody else
run: 100 ms for a text of 1 MB. A repeated class of characters takes a fiftieth of that.
"""

import ast
from collections.abc import Iterator
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

from tests.support.source_trees import source_trees

BOUNDED = {
    "dax/api/members.py": "the length of a cluster's name is checked first",
    "server/host_names.py": "a setting, and a Host header, which is short",
    "cloudwatch/alarms/rule.py": "an AlarmRule has at most 10,240 characters",
    "cloudwatch/math/program.py": "an expression has at most 2,048 characters",
    "cloudwatch/math/search.py": "it is part of an expression",
    "sts/api/members.py": "a RoleArn has at most 2,048 characters",
    "init/files.py": "a name in a file of the server's owner",
    "cli/settings_sources.py": "the command line",
    "s3/key_paths.py": "a file's name",
    "expressions/partiql/lexer.py": "a statement has at most 8,192 characters",
    "triggers/api/requests.py": "a pattern of the service model; the length of an ARN is checked first",
    "vectors/floats.py": "128 texts of at most 4,096 characters are matched together",
}
"""File → why none of its texts is long."""


REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT)
INNER = (_constants.SUBPATTERN, _constants.ATOMIC_GROUP, _constants.ASSERT, _constants.ASSERT_NOT)
"""Operations whose argument, or the last part of it, is a pattern."""
MATCHING = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
"""Functions of `re` whose first argument is a pattern."""


def repeated_groups(pattern: str | bytes) -> int:
    """How many groups a pattern repeats without a bound."""
    return sum(_walk(_parser.parse(pattern)))


def _walk(parts: Any) -> Iterator[int]:
    for operation, argument in parts:
        if operation in REPEATS:
            _, most, repeated = argument
            is_group = len(repeated) > 1 or repeated[0][0] in (*INNER, *REPEATS, _constants.BRANCH)
            yield int(most == _constants.MAXREPEAT and is_group)
            yield from _walk(repeated)
        elif operation in INNER:
            yield from _walk(argument if operation is _constants.ATOMIC_GROUP else argument[-1])
        elif operation is _constants.BRANCH:
            for branch in argument[1]:
                yield from _walk(branch)


def patterns(tree: ast.Module) -> Iterator[str | bytes]:
    """The patterns in a file, as far as they are constants, or constants with the values of variables in them."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MATCHING):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
            yield first.value
        elif isinstance(first, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "x" for part in first.values]
            yield "".join(map(str, parts))


def test_a_repeated_group_is_found() -> None:
    assert repeated_groups("[a-z]([a-z0-9])+") == repeated_groups("a(?:-?b)*") == repeated_groups("(a|(b+)*)") == 1
    assert (
        repeated_groups(rb'"(?:[^"\\]|\\.)*+"|[\[\]]')
        == repeated_groups("(?>(?:ab|c)+)")
        == repeated_groups("(?=(ab)*)a")
        == 1
    )
    assert repeated_groups("[a-z]+(?:-[a-z]{2}){1,3}") == repeated_groups(rb"[a-z]*+(?<=a)[^a]") == 0


def test_patterns_of_every_kind_are_read() -> None:
    source = 're.compile(rb"a", re.A); re.sub("b", f, text); re.fullmatch(f"{part}c", text); text.split("d")'
    assert list(patterns(ast.parse(source))) == [b"a", "b", "xc"]


def test_no_pattern_repeats_a_group_of_a_text_that_may_be_long() -> None:
    found = {file for file, tree in source_trees().items() for pattern in patterns(tree) if repeated_groups(pattern)}
    assert found - BOUNDED.keys() == set()
