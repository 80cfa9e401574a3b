"""Draws docstrings and comments of the source by a seed, to be read afresh: `python docs/draw.py SEED [COUNT]`.

Each should be understood by itself, with no more than the file and the name that it documents.
The same seed and the same source draw the same texts.
"""

import ast
import io
import random
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parent.parent / "src" / "hashrange"
COUNT = 100
_NO_TEXT = ("# noqa", "# type:", "# fmt:", "# ---")


class Text(NamedTuple):
    """A docstring or comment, and what it documents."""

    file: str
    line: int
    subject: str
    """The module, class, function or constant; of a comment, the line of code that follows it."""
    words: str


def docstrings(tree: ast.AST, name: str, file: str) -> Iterator[Text]:
    """The docstrings below a node: those of modules, classes and functions, and those that follow an assignment."""
    body: list[ast.stmt] = getattr(tree, "body", [])
    subject = name
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant(value=str(words))):
                yield Text(file, node.lineno, subject, words)
            case ast.Assign(targets=[target, *_]) | ast.AnnAssign(target=target):
                subject = f"{name}.{ast.unparse(target)}" if name else ast.unparse(target)
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from docstrings(node, f"{name}.{node.name}" if name else node.name, file)


def comments(text: str, file: str) -> Iterator[Text]:
    """The comments of a file, lines that follow each other as one."""
    lines = text.splitlines()
    found: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(_NO_TEXT):
            if found and (token.start[0] != found[-1].start[0] + 1 or token.start[1] != found[-1].start[1]):
                yield _comment(found, lines, file)
                found = []
            found.append(token)
    if found:
        yield _comment(found, lines, file)


def _comment(found: list[tokenize.TokenInfo], lines: list[str], file: str) -> Text:
    first, last = found[0].start[0], found[-1].start[0]
    before = lines[first - 1][: found[0].start[1]].strip()
    subject = before or next((line.strip() for line in lines[last:] if line.strip(" )]}")), "")
    return Text(file, first, subject, " ".join([token.string.removeprefix("#").strip() for token in found]))


def all_texts() -> list[Text]:
    """Every docstring and comment of the package, by file and line."""
    found: list[Text] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text, file = path.read_text(encoding="utf-8"), path.relative_to(SOURCE).as_posix()
        found += docstrings(ast.parse(text), "", file)
        found += comments(text, file)
    return sorted(found)


def main(arguments: list[str]) -> int:
    """Print the drawn texts, numbered."""
    if not 1 <= len(arguments) <= 2 or not all(one.isdigit() for one in arguments):
        print("usage: python docs/draw.py SEED [COUNT]")
        return 2
    texts = all_texts()
    count = int(arguments[1]) if len(arguments) > 1 else COUNT
    for number, text in enumerate(random.Random(int(arguments[0])).sample(texts, min(count, len(texts))), 1):
        print(f"{number}. {text.file}:{text.line}  {text.subject or 'the file'}")
        print("   " + "\n   ".join(text.words.strip().splitlines()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
