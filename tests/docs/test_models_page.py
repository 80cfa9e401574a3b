"""The page on models is true: its example gives what is shown, and it names every member and every rule."""

import ast
import re
from pathlib import Path
from typing import Any

import msgspec

from hashrange.toolkit.models.document import SchemaDocument, document_schema
from tests.docs.pages import ROOT, examples_of
from tests.docs.runs import Commands
from tests.support.source_trees import source_trees

PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([^`\n]+)`", PAGE))


def test_the_example_gives_what_is_shown(tmp_path: Path) -> None:
    examples = examples_of(PAGE)
    [document] = [one.text for one in examples if one.language == "json"]
    [commands] = [one.text for one in examples if one.language == "sh"]
    shown = next(one.text for one in examples if one.language == "text")
    (tmp_path / "orders.json").write_text(document, encoding="utf-8")
    with Commands(examples, tmp_path) as running:
        said = running.run(f"{commands.strip()} || [ $? -eq 3 ]")
    assert shown in said
    assert (tmp_path / "orders.html").exists()


def test_every_member_is_told() -> None:
    definitions: dict[str, Any] = document_schema()["$defs"]
    ours = {SchemaDocument.__name__, "Entity", "EntityAttribute", "AccessPattern", "SortCondition", "FilterCondition"}
    ours |= {"PatternSample", "ModelExpiry", "ExpiryDays", "Capacity", "StatedCapacity"}
    members = {name for one in ours for name in definitions[one]["properties"]}
    assert members - NAMED - {"note"} == set()


def test_every_rule_is_told() -> None:
    rules = {
        node.args[0].value
        for file, tree in source_trees().items()
        if file.startswith("toolkit/models/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"wrong", "advice", "note"}
        if isinstance(node.args[0], ast.Constant)
    }
    assert len(rules) > 25
    assert {name for name in NAMED if name in rules} == rules


def test_the_documents_of_the_page_have_one_form() -> None:
    [document] = [one.text for one in examples_of(PAGE) if one.language == "json"]
    assert msgspec.json.decode(document, type=SchemaDocument).name == "orders"
