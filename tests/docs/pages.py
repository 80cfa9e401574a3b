"""Which examples does a page of the documentation hold? Its fenced blocks, each with its language and line.

An example whose first line is a comment with the name of a file belongs into that file.
In a `diff`, the lines that stay and the new ones are the example.
"""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in [*sorted(ROOT.glob("docs/testing/*.md")), ROOT / "docs" / "switching.md", ROOT / "docs" / "init.md"]
}

RUN = {"python", "sh", "toml", "json"}
"""Languages of examples that the tests run or read."""
NOT_RUN = {
    "diff": "old and new lines; they are run if the new ones are a Python file, or commands",
    "text": "output, commands that install something, and lines for other programs",
    "js": "excerpts of the projects that tests/clients/test_recipes.py runs",
    "java": "likewise",
    "go": "likewise",
}

_block = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
_file_name = re.compile(r"# ([\w./-]+\.(?:py|toml))\n")
_is_test = re.compile(r"^\s*(?:async )?def test_|^@pytest\.fixture", re.MULTILINE)
_is_command = re.compile(r"(?:hashrange|curl|export) ")


class Example(NamedTuple):
    """A fenced block of a page."""

    language: str
    """Of a diff whose new side can be run: the language of that side."""
    text: str
    line: int
    """Number of the text's first line in the page."""

    @property
    def file(self) -> str:
        """Name of the file into which the example belongs."""
        named = _file_name.match(self.text)
        return named[1] if named else f"test_line_{self.line}.{'py' if self.language == 'python' else self.language}"

    @property
    def content(self) -> str:
        """Content of that file, whose lines have the numbers of the page; a program becomes a test that has run it."""
        text = "\n" * (self.line - 1) + self.text
        is_program = self.file.startswith("test_line_") and not _is_test.search(self.text)
        return f"{text}\n\ndef test_that_it_runs(): pass\n" if is_program else text


def examples_of(page: str) -> list[Example]:
    """All fenced blocks of a page's text, in order."""
    return [_example(block[1], block[2], page.count("\n", 0, block.start(2)) + 1) for block in _block.finditer(page)]


def _example(language: str, text: str, line: int) -> Example:
    if language == "diff":
        kept = [one[2:] for one in text.splitlines() if not one.startswith("-")]
        after = "".join(f"{one}\n" for one in kept)
        if _file_name.match(after):
            return Example("python", after, line)
        if all(_is_command.match(one) for one in kept):
            return Example("sh", after, line)
    return Example(language, text, line)
