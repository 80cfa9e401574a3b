"""An example that is wrong makes the test of its page fail; one that is right does not."""

from pathlib import Path

import pytest

from tests.docs.pages import examples_of
from tests.docs.runs import run_commands, run_python


def page(language: str, *lines: str) -> str:
    text = "\n".join(lines)
    return f"# A page\n\n```{language}\n{text}\n```\n\nAnd so on.\n"


RIGHT = (
    page("python", "# shop.py", "PRICE = 7")
    + page("diff", "  # test_shop.py", "- import mart", "+ import shop")
    + page(
        "diff",
        "  # test_shop.py",
        "  def test_price():",
        "-     assert mart.PRICE == 7",
        "+     assert shop.PRICE == 7",
    )
)


def test_files_are_put_together() -> None:
    files = [(example.file, example.text) for example in examples_of(RIGHT)]
    assert files == [
        ("shop.py", "# shop.py\nPRICE = 7\n"),
        ("test_shop.py", "# test_shop.py\nimport shop\n"),
        ("test_shop.py", "# test_shop.py\ndef test_price():\n    assert shop.PRICE == 7\n"),
    ]


@pytest.mark.parametrize("wrong", [False, True])
def test_a_suite(wrong: bool, tmp_path: Path) -> None:
    text = RIGHT.replace("PRICE = 7", "PRICE = 8") if wrong else RIGHT
    if wrong:
        with pytest.raises(AssertionError, match=r"test_shop\.py:\d+: AssertionError"):
            run_python(examples_of(text), tmp_path)
    else:
        run_python(examples_of(text), tmp_path)


def test_a_program_that_fails_is_told_with_its_line_of_the_page(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"test_line_4\.py:5: in <module>"):
        run_python(examples_of(page("python", "one = 1", "one / 0")), tmp_path)


def test_a_skipped_example_has_not_run(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="1 skipped"):
        run_python(examples_of(page("python", "import pytest", "def test_it():", "    pytest.skip()")), tmp_path)


SERVER = "hashrange serve --in-memory --admin --port 8001"
INFO = "curl http://localhost:8001/_hashrange/v1/ready"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (page("sh", SERVER, INFO) + page("json", '{"ready": false}'), ""),
        (page("diff", "- java -jar DynamoDBLocal.jar", f"+ {SERVER}") + page("sh", INFO), ""),
        (page("sh", "curl -X POST http://127.0.0.1:PORT/_hashrange/v1/reset"), ""),
        (page("sh", SERVER, INFO) + page("json", '{"is_ready": true}'), r'"ready":true'),
        (page("sh", SERVER.replace(" --admin", ""), INFO), "The requested URL returned error"),
        (page("sh", INFO), "no server of the page"),
        (page("sh", "hashrange serve --in-memory --on-disk"), "on-disk"),
        (page("sh", "hashrange version", "hashrange no-such-command"), "no-such-command"),
    ],
)
def test_commands(text: str, fault: str, tmp_path: Path) -> None:
    if fault:
        with pytest.raises(AssertionError, match=fault):
            run_commands(examples_of(text), tmp_path)
    else:
        run_commands(examples_of(text), tmp_path)
