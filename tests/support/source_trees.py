"""Syntax trees of all files of the package, for tests that read its code."""

import ast
import gc
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hashrange"


@cache
def source_trees() -> dict[str, ast.Module]:
    """File below `src/hashrange`, in order → its tree. Parsing takes a second: call it in a test,
    not when tests are collected.
    """
    paths = sorted(SOURCE.rglob("*.py"))
    return parsed({path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in paths})


def parsed(texts: dict[str, str]) -> dict[str, ast.Module]:
    """The tree of each text. Meanwhile no garbage is collected: to look at the growing trees again and again
    takes longer than parsing.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return {file: ast.parse(text) for file, text in texts.items()}
    finally:
        if was_enabled:
            gc.enable()
