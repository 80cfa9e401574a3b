"""Any document as a model: it is run and reported, or refused in sentences; nothing else happens.

Documents are the exported template, small models and a model of NoSQL Workbench: with values changed, moved, doubled or
stretched, or with bytes changed. `HASHRANGE_FUZZ_REQUESTS` sets their number, `HASHRANGE_FUZZ_SEED` the first seed.
"""

import copy
import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.cli.model import FOUND
from hashrange.toolkit.models.files import TEMPLATE
from tests.fuzz.mutations import places, spoil_bytes, spoil_value
from tests.unit.toolkit.models.documents import NOTES, SHOP
from tests.unit.toolkit.models.test_workbench import WITH_FACETS

DOCUMENTS = int(os.environ.get("HASHRANGE_FUZZ_REQUESTS", "125")) // 2
SEED = int(os.environ.get("HASHRANGE_FUZZ_SEED", "1"))
FIGURES = (0, 1, -1, 2, 0.5, 10**6, 10**12, 10**18, 10**40, 1e9, 1e15, 1e308, True)
TEXTS = ("", "#", "{", "}", "{a}", "{a}#{b}", "{customer}", "X#{created}", "\u202e\x1b[2J", "é" * 99, "NaN", "-1e400")
SEEDS: list[tuple[str, Any]] = [
    ("model.json", json.loads(files("hashrange.toolkit").joinpath(*TEMPLATE).read_bytes())),
    ("model.json", SHOP),
    ("model.json", NOTES),
    ("--from-workbench=model.json", WITH_FACETS),
]
"""How the command is told of a document, and the document."""


def mutants() -> Iterator[tuple[str, bytes]]:
    """How the command is told of a document, and its text."""
    generator = random.Random(SEED)
    for _ in range(DOCUMENTS):
        word, document = copy.deepcopy(generator.choice(SEEDS))
        for _ in range(generator.choice((1, 1, 1, 2, 4))):
            generator.choice((spoil_value, spoil_figure, spoil_figure, spoil_text, stretch, move))(document, generator)
        text = json.dumps(document).encode()
        yield word, spoil_bytes(text, generator) if generator.random() < 0.1 else text


def _change_one(document: Any, generator: random.Random, types: Any, values: tuple[Any, ...]) -> None:
    found = [(container, key) for container, key in places(document) if type(container[key]) in types]
    if found:
        container, key = generator.choice(found)
        container[key] = generator.choice(values)


def spoil_figure(document: Any, generator: random.Random) -> None:
    """Another number instead of one."""
    _change_one(document, generator, (int, float), FIGURES)


def spoil_text(document: Any, generator: random.Random) -> None:
    """Another text instead of one."""
    _change_one(document, generator, (str,), TEXTS)


def stretch(document: Any, generator: random.Random) -> None:
    """A text, a list or an object that is several times as long, or is inside of many lists."""
    found = [(container, key) for container, key in places(document) if isinstance(container[key], str | list | dict)]
    if found:
        container, key = generator.choice(found)
        if isinstance(container[key], str | list):
            container[key] = container[key] * generator.choice((2, 3, 50, 700))
        else:
            for _ in range(generator.choice((1, 20, 90, 400))):
                container[key] = [container[key]]


def move(document: Any, generator: random.Random) -> None:
    """A value also at the place of another one."""
    found = places(document)
    if len(found) > 1:
        (source, name), (container, key) = generator.sample(found, 2)
        container[key] = copy.deepcopy(source[name])


def test_any_document_is_reported_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`main` lets through what is a fault of the command itself, and that fails the test."""
    monkeypatch.chdir(tmp_path)
    codes: Counter[int] = Counter()
    for number, (word, text) in enumerate(mutants()):
        Path("model.json").write_bytes(text)
        code = main(["model", word, "--html", f"{number}.html", "--to-workbench", f"{number}.json"])
        printed = capsys.readouterr()
        assert code in (DONE, FOUND, WRONG_USE, FAILED), text
        assert "Traceback" not in printed.err, text
        assert not {"\x1b", "\u202e"} & {*printed.err, *printed.out}, text
        codes[code] += 1
    assert codes[FOUND] > 0
    assert codes[WRONG_USE] > 0
