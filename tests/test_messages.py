"""Is each sentence that clients hear made in `messages`? Whoever refuses names it, and words nothing."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from string import Formatter

import pytest

from tests.support.source_trees import source_trees

PEOPLE = ("cli/", "testing/", "functions/runtimes/", "templates/", "toolkit/")
"""What runs in a terminal or a test of people, who get no reply of a service, or reads the templates that they wrote,
and what runs as a program by itself.
"""
HEARD = {"ApiError", "Malformed", "MathError", "MemberFault", "RuleError"}
"""Roots of the errors whose text becomes a reply, or a part of it.

Not those about bytes that no client of AWS sends (`BadBytes`, `ChunksError`, `ContentEncodingError`): they say what is
wrong at a place of a format, as those of msgspec do, and belong to the reader of that format. Nor those that the person
hears who keeps the server (StorageError), or who wrote a file of settings, faults, triggers or initial content.
"""
HAS_WORDS = re.compile(r"\w\W*\s\W*\w").search


def own_files() -> Iterator[tuple[str, ast.Module]]:
    """The files that must not word what clients hear."""
    return ((file, tree) for file, tree in source_trees().items() if not file.startswith(("messages/", *PEOPLE)))


@cache
def heard_errors() -> frozenset[str]:
    """The errors of HEARD, and all that are derived from them."""
    found = set(HEARD)
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for _, tree in own_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    while more := {name for name, of in bases.items() if not of.isdisjoint(found)} - found:
        found |= more
    return frozenset(found)


@cache
def refusing_functions() -> frozenset[str]:
    """The names of functions that return such an error, or always raise."""
    refusing = {*heard_errors(), "NoReturn"}
    return frozenset(
        node.name
        for _, tree in own_files()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.returns is not None
        and not refusing.isdisjoint(re.findall(r"\w+", ast.unparse(node.returns)))
    )


def texts_of(tree: ast.Module) -> Mapping[str, ast.expr]:
    """The texts to which a file gives a name."""
    found = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() | ast.JoinedStr() | ast.BinOp() as value):
                found[name] = value
    return found


def worded_in(tree: ast.Module, named: Mapping[str, ast.expr]) -> Iterator[str]:
    """The errors that a file gives a text of its own. `named`: texts that have names outside of `messages`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).rpartition(".")[2]
        if called not in heard_errors() and called not in refusing_functions():
            continue
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        parts = [part for argument in arguments for part in ast.walk(argument)]
        parts += [
            part for one in parts if isinstance(one, ast.Name) and one.id in named for part in ast.walk(named[one.id])
        ]
        if any(isinstance(one, ast.Constant) and isinstance(one.value, str) and HAS_WORDS(one.value) for one in parts):
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_nobody_words_what_clients_hear_but_messages() -> None:
    named = {name: text for _, tree in own_files() for name, text in texts_of(tree).items()}
    found = [f"{file}:{place}" for file, tree in own_files() for place in worded_in(tree, named)]
    assert not found, "these sentences belong to hashrange/messages"


def fields_of(text: str) -> set[str]:
    """The names that a text wants from `str.format`."""
    return {field.partition(".")[0].partition("[")[0] for _, field, _, _ in Formatter().parse(text) if field}


def wrongly_filled(tree: ast.Module, messages: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """The calls of `format` whose names are not those of the message. `messages`: by module and name."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    modules = {
        one.asname or one.name: messages[one.name]
        for node in imports
        for one in node.names
        if node.module == "hashrange.messages"
    }
    texts = {
        one.asname or one.name: messages[node.module.rpartition(".")[2]][one.name]
        for node in imports
        for one in node.names
        if node.module and node.module.startswith("hashrange.messages.")
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id=module), attr=name), attr="format")):
                text = modules.get(module, {}).get(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="format")):
                text = texts.get(name)
            case _:
                continue
        given = {keyword.arg for keyword in node.keywords}
        if isinstance(text, str) and not node.args and None not in given and given != fields_of(text):
            yield f"{node.lineno}: {name} wants {sorted(fields_of(text))}"


def test_messages_are_given_the_values_that_they_name() -> None:
    files = [file.removesuffix(".py") for file in source_trees() if file.startswith("messages/")]
    names = [file.removeprefix("messages/") for file in files]
    messages = {name: vars(import_module(f"hashrange.messages.{name}")) for name in names if name != "__init__"}
    found = [f"{file}:{place}" for file, tree in source_trees().items() for place in wrongly_filled(tree, messages)]
    assert not found


@pytest.mark.parametrize(
    ("source", "is_wrong"),
    [
        ("say.GONE.format(name=1)", False),
        ("say.GONE.format(name=1, place=2)", True),
        ("say.GONE.format(table=1)", True),
        ("GONE.format()", True),
        ("GONE.format(name=1)", False),
        ("other.GONE.format()", False),
    ],
)
def test_a_wrong_value_is_told(source: str, *, is_wrong: bool) -> None:
    imports = "from hashrange.messages import tables as say\nfrom hashrange.messages.tables import GONE\n"
    found = list(wrongly_filled(ast.parse(imports + source), {"tables": {"GONE": "{name!r:>5} is gone"}}))
    assert bool(found) == is_wrong


@pytest.mark.parametrize(
    ("source", "is_worded"),
    [
        ("raise ValidationException('No such table')", True),
        ("raise ValidationException(f'No table {name}')", True),
        ("raise errors.ValidationException(TEXT)", True),
        ("raise parameter_refusal(say.unsupported('A version of it', REASON))", True),
        ("reader.fail('it ends')", True),
        ("raise ValidationException(say.NO_TABLE.format(name=', '.join(names)))", False),
        ("raise ServiceError('ThrottlingException', RATE_EXCEEDED)", False),
        ("raise StorageError('the disk is full')", False),
    ],
)
def test_what_is_worded_is_told_apart(source: str, *, is_worded: bool) -> None:
    named = {"TEXT": ast.Constant("No such table")}
    assert bool(list(worded_in(ast.parse(source), named))) == is_worded
