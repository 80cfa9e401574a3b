"""Does `docs/draw.py` draw every kind of text, and the same texts for the same seed?"""

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from docs.draw import Text, all_texts, main

Draw = Callable[..., str]
ROOT = Path(__file__).parents[2]
DRAW = ROOT / "docs" / "draw.py"
FEW_SOURCES = ROOT / "src" / "hashrange" / "items"


def draw(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the program; with a folder, on its files instead of all sources."""
    words = [str(DRAW)]
    if folder is not None:
        program = "import sys; from pathlib import Path; from docs import draw; draw.SOURCE = Path(sys.argv.pop(1))"
        words = ["-c", f"{program}; sys.exit(draw.main(sys.argv[1:]))", str(folder)]
    return subprocess.run([sys.executable, *words, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def texts() -> list[Text]:
    """All texts, which take seconds to read."""
    return all_texts()


@pytest.fixture
def draw_here(texts: list[Text], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Draw:
    """A function that draws in this process."""
    monkeypatch.setattr("docs.draw.all_texts", lambda: texts)

    return partial(drawn_here, capsys)


def drawn_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def test_the_same_seed_draws_the_same_texts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = draw("7", "5", folder=FEW_SOURCES)
    monkeypatch.setattr("docs.draw.SOURCE", FEW_SOURCES)
    again, other = (drawn_here(capsys, seed, "5") for seed in ("7", "8"))
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
