"""Does `docs/draw.py` draw every kind of text, and the same texts for the same seed?"""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.draw import Text, all_texts, main

Draw = Callable[..., str]
DRAW = Path(__file__).parents[2] / "docs" / "draw.py"


def draw(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(DRAW), *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    """All texts, which take seconds to read."""
    return all_texts()


@pytest.fixture
def draw_here(texts: list[Text], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Draw:
    """A function that draws in this process."""
    monkeypatch.setattr("docs.draw.all_texts", lambda: texts)

    def drawn(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return drawn


def test_the_same_seed_draws_the_same_texts(draw_here: Draw) -> None:
    one, again, other = draw("7", "5"), draw_here("7", "5"), draw_here("8", "5")
    assert one.returncode == 0
    assert one.stdout == again != other
    assert [line for line in again.splitlines() if line[:2] in ("1.", "2.", "3.", "4.", "5.")]


def test_all_texts_are_there_to_be_drawn(draw_here: Draw) -> None:
    drawn = draw_here("1", "1000000")
    kinds = {
        "a file": "soon.py:1  the file\n",
        "a method": "  Store.get\n",
        "a constant": "  LOOK_STEPS\n",
        "an attribute": "  ReadSource.source_id\n",
    }
    assert not [kind for kind, shown in kinds.items() if shown not in drawn]
    assert re.search(r"^\d+\. \S+  if .*\n   [A-Z]", drawn, re.MULTILINE), "no comment before a line of code"


@pytest.mark.parametrize("arguments", [(), ("x",), ("1", "2", "3"), ("1", "-1")])
def test_anything_else_is_refused_with_the_form(arguments: tuple[str, ...]) -> None:
    refused = draw(*arguments)
    assert refused.returncode == 2
    assert "usage: python docs/draw.py SEED [COUNT]" in refused.stdout
