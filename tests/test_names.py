"""Does one word mean one thing? Public names are unique, and docs/glossary.md says
which file each word belongs to.
"""

import ast
import re
from collections import defaultdict
from functools import cache

import pytest

from tests.support.source_trees import ROOT, source_trees

BY_CONVENTION = {"run", "build_parser"}
"""Names that every command of `cli` defines."""
TYPE_VARIABLES = re.compile(r"[A-Z]")


@cache
def public_names() -> dict[str, list[str]]:
    """Public class, function or type of a module → the files that define it."""
    found = defaultdict(list)
    for file, tree in source_trees().items():
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    names = [name]
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                    names = [name] if name[0].isupper() and not name.isupper() else []
                case _:
                    names = []
            for one in names:
                if not one.startswith("_"):
                    found[one].append(file)
    return found


def words_of(name: str) -> set[str]:
    """`AccessPath` → access, path; `plan_put` → plan, put."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+", name)}


def glossary() -> dict[str, tuple[str, list[str]]]:
    """Term of the glossary → its home, `file.py` and name, and the other files whose public
    names may contain the word.
    """
    terms = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").split("\n## ", 1)[0]
    found = {}
    for row in re.findall(r"^\|(.+)\|$", terms, re.MULTILINE)[2:]:
        term, _, home, others = [cell.strip() for cell in row.split("|")]
        found[term] = (home.strip("`"), re.findall(r"`([^`]+)`", others))
    return found


GLOSSARY = glossary()


def test_a_public_name_is_defined_once() -> None:
    several = {
        name: files
        for name, files in public_names().items()
        if len(files) > 1 and name not in BY_CONVENTION and not TYPE_VARIABLES.fullmatch(name)
    }
    assert not several, "these names mean several things"


@pytest.mark.parametrize("term", sorted(GLOSSARY))
def test_a_word_of_the_glossary_stays_at_home(term: str) -> None:
    home, others = GLOSSARY[term]
    file, name = home.split(":")
    assert file in public_names().get(name, []), f"the glossary looks for {name} in {file}"
    if not others:
        return
    words = set(term.split())
    strays = [
        f"{file}:{name}"
        for name, files in public_names().items()
        for file in files
        if words <= words_of(name)
        and not any(file == one or file.startswith(one) for one in (home.split(":")[0], *others))
    ]
    assert not strays, f"{term} is one thing (docs/glossary.md); these names use the word too: {strays}"
