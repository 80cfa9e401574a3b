"""A template with anything anywhere in it is read, or refused in one sentence; nothing else happens."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hashrange.templates.companion_requests import companion_reading, companion_requests
from hashrange.templates.reading import read_stacks
from hashrange.templates.requests import scaling_bounds, table_requests
from hashrange.templates.stack import Locality, Stack
from hashrange.templates.texts import TemplateError, parse_template
from hashrange.templates.wanted import wanted_of
from tests.scripts.cases import FOLDER, CaseFile

HERE = Locality("111122223333", "eu-west-1")
ANYTHING: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, "", "x", "a.b", [], ["a"], [[]], [{}], {}, {"a": 1}, {"Ref": "x"}, {"Ref": "AWS::NoValue"},
    {"Fn::Sub": []}, {"Fn::Sub": "${"}, {"Fn::If": ["a", 1, 2]}, {"Fn::GetAtt": "a"}, {"Fn::Select": [9, []]},
)  # fmt: skip
MUTANTS = 80


def texts() -> list[bytes]:
    """The templates of the cases."""
    files = [CaseFile(FOLDER / name) for name in ("templates.case", "template_functions.case")]
    lines = [case.input.split("\n") for file in files for case in file.cases]
    return ["\n".join(line for line in one if not line.startswith("parameter ")).encode() for one in lines]


def documents() -> list[Any]:
    """What can be read of them."""
    found = []
    for text in texts():
        try:
            found.append(parse_template(text))
        except TemplateError:
            continue
    assert len(found) > 20
    return found


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each place of a document: what holds it, and its name or number there."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from spots(value[key])


def use(document: Any) -> None:
    """All that is done with a template before a request is sent."""
    wanted = wanted_of(Stack("shop", document, "."), HERE, {})
    for table in wanted.tables:
        table_requests(table, None, "shop", scaling_bounds(wanted.companions))
    for companion in wanted.companions:
        companion_reading(companion)
        companion_requests(companion, None, "s")


@pytest.mark.parametrize("seed", range(3))
def test_anything_anywhere(seed: int) -> None:
    generator, originals = random.Random(seed), documents()
    for _ in range(MUTANTS):
        mutant = copy.deepcopy(generator.choice(originals))
        for _ in range(generator.choice([1, 1, 2])):
            holder, key = generator.choice([*spots(mutant)])
            holder[key] = copy.deepcopy(generator.choice(ANYTHING))
        try:
            use(mutant)
        except TemplateError as error:
            assert str(error)
        except Exception as error:
            raise AssertionError(json.dumps(mutant)) from error


@pytest.mark.parametrize("seed", range(3))
def test_spoiled_texts(seed: int) -> None:
    generator, originals = random.Random(seed), texts()
    for _ in range(MUTANTS):
        text = bytearray(generator.choice(originals))
        for _ in range(generator.randrange(1, 4)):
            place = generator.randrange(len(text))
            text[place : place + generator.randrange(3)] = generator.choice(
                b"{}[]:,-!&*|>\"'%@`#?\n\t \x00\xff"
            ).to_bytes()
        try:
            use(parse_template(bytes(text)))
        except TemplateError as error:
            assert str(error)
        except Exception as error:
            raise AssertionError(bytes(text)) from error


@pytest.mark.parametrize("seed", range(3))
def test_spoiled_assemblies(seed: int, tmp_path: Path) -> None:
    generator = random.Random(seed)
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": "aws://a/b",
        "properties": {"templateFile": "t.template.json"},
    }
    inner = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "."}}
    assets = {"files": {"a": {"source": {"path": "x"}, "destinations": {"d": {"objectKey": "k"}}}}}
    files = {"manifest.json": {"artifacts": {"A": artifact, "B": inner}}, "t.assets.json": assets}
    (tmp_path / "t.template.json").write_text('{"Resources": {"T": {"Type": "X"}}}', encoding="utf-8")
    for _ in range(MUTANTS):
        mutants = copy.deepcopy(files)
        holder, key = generator.choice([*spots(mutants)][2:])
        holder[key] = copy.deepcopy(generator.choice(ANYTHING))
        for name, content in mutants.items():
            (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
        try:
            read_stacks(str(tmp_path))
        except TemplateError as error:
            assert str(error)
