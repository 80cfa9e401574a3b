"""What is a mutant? The source with one rule broken: a comparison, a number, a truth value, or an operation."""

import ast
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hashrange"
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_COMPUTED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*"}
_ON_ONE_SIDE = (ast.Name, ast.Attribute, ast.Constant, ast.Call, ast.Subscript)
"""Operands that keep their meaning whatever stands beside them."""


class Mutant(NamedTuple):
    """One broken rule. A line of the committed list has these, with tabs between them."""

    file: str
    """Path below the package."""
    place: str
    """Qualified name of the function that holds the rule."""
    number: int
    """Number of the rule among those of the function with the same text, from 0."""
    before: str
    after: str


class Site(NamedTuple):
    """Where the text of a rule stands in its file, in characters."""

    mutant: Mutant
    start: int
    end: int


def mutants_of(file: str, text: str) -> dict[Mutant, str]:
    """All mutants of a file, each with the text of the file that it becomes."""
    return {site.mutant: text[: site.start] + site.mutant.after + text[site.end :] for site in sites_of(file, text)}


def is_of_class(mutant: Mutant) -> bool:
    """True if the rule is evaluated when its class is made, such as the default of a member."""
    return mutant.place.rpartition(".")[2].lstrip("_")[:1].isupper()


def drawn(seed: int, count: int) -> list[Mutant]:
    """Mutants over all packages: each package has a share by the square root of its rules, but at least one."""
    by_package = _by_package()
    draw = random.Random(seed)
    packages = [package for package, found in sorted(by_package.items()) if found]
    weights = [len(by_package[package]) ** 0.5 for package in packages]
    chosen = {draw.choice(by_package[package]) for package in packages}
    while len(chosen) < count:
        (package,) = draw.choices(packages, weights)
        chosen.add(draw.choice(by_package[package]))
    return sorted(chosen)


@cache
def _by_package() -> dict[str, list[Mutant]]:
    found: dict[str, list[Mutant]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        sites = sites_of(file, path.read_text(encoding="utf-8"))
        found.setdefault(file.split("/")[0], []).extend(site.mutant for site in sites)
    return found


def sites_of(file: str, text: str) -> list[Site]:
    """The rules of a file, in the order of its syntax tree."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines()

    def offset(row: int, column: int) -> int:
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    found: list[Site] = []
    seen: dict[tuple[str, str, str], int] = {}
    for place, node in _rules(ast.parse(text), ""):
        start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
        before = text[start:end]
        if "\n" in before or "\t" in before:
            continue
        for after in _broken(node, before):
            number = seen.get((place, before, after), 0)
            seen[place, before, after] = number + 1
            found.append(Site(Mutant(file, place, number, before, after), start, end))
    return found


def _rules(node: ast.AST, place: str) -> Iterator[tuple[str, ast.expr]]:
    """The expressions within functions that may be broken, each with the name of its function."""
    for child in ast.iter_child_nodes(node):
        inner = place
        if isinstance(child, ast.keyword) and isinstance(node, ast.ClassDef):
            continue  # how a struct is made, such as `frozen=True`
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{place}.{child.name}".lstrip(".")
        elif isinstance(child, ast.Raise) or (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            continue  # words of errors, and docstrings
        elif isinstance(child, ast.expr) and place:
            yield place, child
        yield from _rules(child, inner)


def _broken(node: ast.expr, before: str) -> list[str]:
    """The texts that may take the place of an expression's."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return [f"{_side(left)} {_COMPARED[type(op)]} {_side(right)}"]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _COMPUTED and _is_numeric(left, right):
            return [f"{_side(left)} {_COMPUTED[type(op)]} {_side(right)}"]
        case ast.BoolOp(op=op, values=values):
            other = " or " if isinstance(op, ast.And) else " and "
            return ["(" + other.join(f"({ast.unparse(value)})" for value in values) + ")"]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [f"bool({ast.unparse(operand)})"]
        case ast.Constant(value=bool() as value):
            return [str(not value)]
        case ast.Constant(value=int() as value) if before.isdigit() and value > 1:
            return [str(value + 1)]
    return []


def _side(operand: ast.expr) -> str:
    text = ast.unparse(operand)
    return text if isinstance(operand, _ON_ONE_SIDE) else f"({text})"


def _is_numeric(left: ast.expr, right: ast.expr) -> bool:
    """True if neither operand is text for sure."""
    sides = (left, right)
    return all(isinstance(one, _ON_ONE_SIDE) for one in sides) and not any(
        isinstance(one, ast.Constant) and not isinstance(one.value, int | float) for one in sides
    )
