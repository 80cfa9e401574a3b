"""Cases as data: input and expected output as text that can be read, reviewed and rewritten.

Format of a `.case` file (UTF-8):

    # Lines that begin with "#" before a case's first line are comments;
      a comment of its own stands between blank lines.
    == a name, optional
    input, one or more lines
    ---
    expected output, one or more lines, or none

    the next case, behind one or more blank lines
    ---
    …

Names need not be unique; a case without one is named by its first line of input.
No input or output can hold a blank line: a runner shows one in another way (JSON text, say). A runner is one function,
input text → output text, that words the refusals it expects (`refusal` does); anything else it raises fails the test.

    from tests.scripts.cases import case_test
    test_numbers = case_test("numbers.case", evaluate)

`pytest tests/scripts --rewrite` replaces expected outputs by actual ones; then review the diff.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from hashrange.errors import ApiError, HashrangeError, RequestFault

FOLDER = Path(__file__).parent
SEPARATOR = "---"


class Case:
    """One case, and its place in its file."""

    def __init__(self, file: "CaseFile", lines: list[str]) -> None:
        self.file = file
        start = next(place for place, line in enumerate(lines) if not line.startswith("#"))
        is_named = lines[start].startswith("== ")
        split = lines.index(SEPARATOR)
        self.head = lines[: split + 1]
        self.input = "\n".join(lines[start + is_named : split])
        self.expected = "\n".join(lines[split + 1 :])
        self.name = lines[start].removeprefix("== ") if is_named else lines[start]

    def text(self) -> str:
        """The case as it stands in the file."""
        return "\n".join([*self.head, self.expected] if self.expected else self.head)


class CaseFile:
    """A `.case` file: comments and cases, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks: list[Case | str] = []
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            lines = block.strip("\n").split("\n")
            if SEPARATOR in lines:
                self.blocks.append(Case(self, lines))
            elif lines != [""]:
                assert all(line.startswith("#") for line in lines), (
                    f"{path.name}: a case without {SEPARATOR}: {lines[0]}"
                )
                self.blocks.append("\n".join(lines))
        self.cases = [block for block in self.blocks if isinstance(block, Case)]
        assert self.cases, f"{path.name} holds no case"

    def rewrite(self) -> None:
        """Write the file anew, one blank line between blocks."""
        texts = [block.text() if isinstance(block, Case) else block for block in self.blocks]
        self.path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")


def case_test(file_name: str, evaluate: Callable[[str], str]) -> Callable[[Case, pytest.FixtureRequest], None]:
    """A test function, one test per case of a file of this folder: `evaluate(input)` must give the expected output."""
    file = CaseFile(FOLDER / file_name)

    @pytest.mark.parametrize("case", file.cases, ids=[case.name for case in file.cases])
    def test_case(case: Case, request: pytest.FixtureRequest) -> None:
        came_out = evaluate(case.input).rstrip("\n")
        assert "\n\n" not in f"\n{came_out}\n", f"output of {case.name!r} holds a blank line"
        if request.config.getoption("--rewrite", default=False):
            case.expected = came_out
            case.file.rewrite()
        assert came_out == case.expected, case.name

    return test_case


def refusal(error: HashrangeError) -> str:
    """A refusal as cases show it: its class and message, and the older layer's message where it differs.

    A RequestFault (worded per operation) is shown as `fault:`, any other error by the name of its class.
    """
    if not isinstance(error, ApiError):
        return type(error).__name__
    if not isinstance(error, RequestFault):
        return f"{type(error).__name__}: {error.message}"
    older = "" if error.older_message == error.message else f"\nolder: {error.older_message}"
    return f"fault: {error.message}{older}"
