"""Random conditions give the result of a plain evaluator, and random texts give a result or an ApiError."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hashrange.errors import ApiError
from hashrange.expressions.condition import compile_condition
from hashrange.expressions.projection import compile_projection
from hashrange.expressions.update import compile_update
from tests.support.compiling import read_and_compile_key_condition

PATHS = ["a", "b", "c", "m.x", "m.y", "l[0]", "l[1]", "l[7]", "gone", "gone.x"]
VALUES: dict[str, Any] = {
    ":s": {"S": "ab"},
    ":t": {"S": "b"},
    ":n": {"N": "3"},
    ":k": {"N": "12.5"},
    ":b": {"B": "YWI="},
    ":y": {"BOOL": True},
    ":set": {"SS": ["ab", "b"]},
}
ORDERED = [":s", ":t", ":n", ":k", ":b"]

scalars = st.sampled_from([*VALUES.values(), {"S": ""}, {"N": "-4"}, {"NULL": True}, {"NS": ["3", "12.5"]}])
items = st.fixed_dictionaries(
    {},
    optional={
        "a": scalars,
        "b": scalars,
        "c": scalars,
        "m": st.dictionaries(st.sampled_from(["x", "y"]), scalars).map(lambda members: {"M": members}),
        "l": st.lists(scalars, max_size=3).map(lambda elements: {"L": elements}),
    },
)

Tree = tuple[Any, ...]
paths = st.sampled_from(PATHS)
leaves = st.one_of(
    st.tuples(st.just("compare"), paths, st.sampled_from(["=", "<>"]), st.sampled_from(list(VALUES))),
    st.tuples(st.just("compare"), paths, st.sampled_from(["<", "<=", ">", ">="]), st.sampled_from(ORDERED)),
    st.tuples(st.just("between"), paths, st.sampled_from([(":s", ":t"), (":n", ":k")])),
    st.tuples(st.just("in"), paths, st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4)),
    st.tuples(st.just("exists"), paths, st.booleans()),
    st.tuples(st.just("contains"), paths, st.sampled_from(list(VALUES))),
    st.tuples(st.just("begins"), paths, st.sampled_from([":s", ":t", ":b"])),
    st.tuples(st.just("size"), paths, st.sampled_from(["=", "<", ">="]), st.sampled_from([":n", ":k"])),
)
trees: st.SearchStrategy[Tree] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("not"), inner),
        st.tuples(st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=8,
)


def render(tree: Tree, around: int = 0) -> str:
    """The condition as text, with only the parentheses that precedence requires (OR 1, AND 2, NOT 3)."""
    kind = tree[0]
    if kind == "compare":
        return f"{tree[1]} {tree[2]} {tree[3]}"
    if kind == "between":
        return f"{tree[1]} BETWEEN {tree[2][0]} AND {tree[2][1]}"
    if kind == "in":
        return f"{tree[1]} IN ({', '.join(tree[2])})"
    if kind == "exists":
        return f"attribute_{'' if tree[2] else 'not_'}exists({tree[1]})"
    if kind in ("contains", "begins"):
        return f"{'begins_with' if kind == 'begins' else kind}({tree[1]}, {tree[2]})"
    if kind == "size":
        return f"size({tree[1]}) {tree[2]} {tree[3]}"
    if kind == "not":
        return f"NOT {render(tree[1], 3)}"
    level = 2 if kind == "and" else 1
    # AND and OR are associative: a chain nested in a chain of the same operator needs no parentheses
    text = f" {kind.upper()} ".join(render(part, level) for part in tree[1])
    return f"({text})" if level < around else text


def look_up(item: dict[str, Any], path: str) -> Any:
    value: Any = {"M": item}
    for step in path.replace("[", ".[").split("."):
        if step.startswith("["):
            elements = value.get("L", [])
            position = int(step[1:-1])
            value = elements[position] if position < len(elements) else None
        else:
            value = value.get("M", {}).get(step)
        if value is None:
            return None
    return value


def comparable(value: Any) -> tuple[str, Any]:
    ((kind, content),) = value.items()
    return kind, float(content) if kind == "N" else content


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
    ">": lambda a, b: bool(a > b),
    ">=": lambda a, b: bool(a >= b),
    "=": lambda a, b: bool(a == b),
}


def holds(operator: str, left: Any, right: Any) -> bool:
    if operator == "<>":
        return not (left is not None and left == right)
    if left is None:
        return False
    (left_kind, a), (right_kind, b) = comparable(left), comparable(right)
    return left_kind == right_kind and COMPARE[operator](a, b)


def decide(tree: Tree, item: dict[str, Any]) -> bool:  # noqa: C901 - a branch for each operator
    kind = tree[0]
    if kind == "not":
        return not decide(tree[1], item)
    if kind == "and":
        return all(decide(part, item) for part in tree[1])
    if kind == "or":
        return any(decide(part, item) for part in tree[1])
    value = look_up(item, tree[1])
    if kind == "compare":
        return holds(tree[2], value, VALUES[tree[3]])
    if kind == "between":
        return holds(">=", value, VALUES[tree[2][0]]) and holds("<=", value, VALUES[tree[2][1]])
    if kind == "in":
        return any(holds("=", value, VALUES[token]) for token in tree[2])
    if kind == "exists":
        return (value is not None) is tree[2]
    if value is None:
        return False
    ((type_name, content),) = value.items()
    if kind == "size":
        if type_name in ("N", "NULL", "BOOL"):
            return False
        length = 2 if type_name == "B" else len(content)
        return holds(tree[2], {"N": str(length)}, VALUES[tree[3]])
    ((wanted_type, wanted),) = VALUES[tree[2]].items()
    if kind == "begins":
        return bool(type_name == wanted_type and content.startswith(wanted))
    if type_name in ("SS", "NS"):
        return type_name == wanted_type + "S" and wanted in content
    return bool(type_name == wanted_type and type_name in ("S", "B") and wanted in content)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(trees, items)
def test_a_condition_means_what_its_tree_says(tree: Tree, item: dict[str, Any]) -> None:
    text = render(tree)
    assert compile_condition("FilterExpression", text, None, VALUES).test(item, VALUES) is decide(tree, item), text


WORDS = [
    "a",
    "b",
    "#n",
    "#zz",
    ":s",
    ":n",
    ":zz",
    "name",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "AND",
    "OR",
    "NOT",
    "BETWEEN",
    "IN",
    "SET",
    "REMOVE",
    "ADD",
    "DELETE",
    "size",
    "contains",
    "attribute_exists",
    "attribute_type",
    "begins_with",
    "if_not_exists",
    "list_append",
    "foo",
    "0",
    "7",
    "_",
    "é",
    "'",
    "\u2028",
    "99999999999999999999",
]
texts = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=25).map("".join),
    st.text(max_size=40),
    trees.map(render),
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(texts, st.integers(min_value=0, max_value=3), items)
def test_any_text_gives_a_result_or_an_api_error(text: str, room: int, item: dict[str, Any]) -> None:
    names = {"#n": "n.n"}
    try:
        if room == 0:
            compile_condition("ConditionExpression", text, names, VALUES).test(item, VALUES)
        elif room == 1:
            update = compile_update(text, names, VALUES)
            update.statement_size_bytes(VALUES, None)
            new = update.apply(item, VALUES)
            update.updated_old(item)
            update.updated_new(new)
        elif room == 2:
            compile_projection(text, names).project(item)
        else:
            read_and_compile_key_condition(text, names, VALUES)
    except ApiError as refusal:
        assert refusal.message


clauses = st.lists(
    st.sampled_from(
        [
            "SET a = :s",
            "SET m.x = if_not_exists(a, :n)",
            "SET l[1] = :k, l[0] = :t",
            "SET c = a + :n",
            "REMOVE b",
            "REMOVE l[0]",
            "REMOVE m.y",
            "ADD b :n",
            "ADD m.y :set",
            "DELETE c :set",
        ]
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda clause: clause.split()[0],
)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(clauses, items)
def test_the_order_of_clauses_does_not_matter(parts: list[str], item: dict[str, Any]) -> None:
    results = []
    for text in (" ".join(parts), " ".join(reversed(parts))):
        try:
            results.append(compile_update(text, None, VALUES).apply(item, VALUES))
        except ApiError as refusal:
            results.append({"refused": {"S": type(refusal).__name__}})
    assert results[0] == results[1]
