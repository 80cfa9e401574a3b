"""Syntax trees of all files of the package, for tests that read its code."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hashrange"


@cache
def source_trees() -> dict[str, ast.Module]:
    """File below `src/hashrange`, in order → its tree. Parsing takes seconds: call it in a test,
    not when tests are collected.
    """
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }
