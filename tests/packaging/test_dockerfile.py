"""The reader of Dockerfiles, with which the image is tested:
it knows every instruction that we use, and overlooks none.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.dockerfile import Instruction, is_in_context, read_dockerfile, read_image
from tests.support.image_building import ROOT, ingredients_of, kept_steps
from tests.support.kept_builds import digest_of

TEXT = """
# A comment, and one below that is between two lines of an instruction.
FROM debian:bookworm-slim AS base
ENV PATH=/opt/bin:/bin \\
# in between
    A="b c"
RUN first \\
    && second
FROM base
COPY --from=base /one /two
USER 7:8
WORKDIR /place
VOLUME /place
HEALTHCHECK --interval=10s --retries=3 CMD ["check", "it"]
ENTRYPOINT ["program"]
CMD ["serve"]
"""


def test_stages_and_instructions() -> None:
    first, last = read_dockerfile(TEXT)
    assert (first.base, first.name) == ("debian:bookworm-slim", "base")
    assert [tuple(one) for one in first.instructions] == [
        ("ENV", 'PATH=/opt/bin:/bin A="b c"'),
        ("RUN", "first && second"),
    ]
    assert last.base == "base"
    assert last.instructions[0].words == ["--from=base", "/one", "/two"]
    assert last.instructions[0].without_flags.words == ["/one", "/two"]


def test_how_it_is_started() -> None:
    image = read_image(read_dockerfile(TEXT))
    assert image.environment == {"PATH": "/opt/bin:/bin", "A": "b c"}
    assert (image.user, image.folder, image.volumes) == ("7:8", "/place", ["/place"])
    assert image.entry_point + image.command == ["program", "serve"]
    assert image.health_command == ["check", "it"]


def test_the_image_s_health_check_asks_no_proxy() -> None:
    """Engines set the variables of a proxy in every container, if they are told to."""
    image = read_image(read_dockerfile((Path(__file__).parents[2] / "Dockerfile").read_text(encoding="utf-8")))
    python, *words = image.health_command
    assert python == "python"
    nobody = "http://127.0.0.1:1"
    with server(Settings(data_dir=None, port=0)) as database:
        port = database.endpoint.rpartition(":")[2]
        environment = {"HASHRANGE_PORT": port, "http_proxy": nobody, "HTTP_PROXY": nobody}
        done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def steps_of(text: str) -> list[Instruction]:
    return read_dockerfile(f"FROM debian\n{text}")[0].instructions


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("RUN one\nRUN two\nENV A=b", 2),
        ("RUN one\nCOPY requirements.txt ./\nRUN two\nCOPY src ./src\nRUN three", 3),
        ("RUN one\nCOPY src ./src\nRUN two", 1),
        ("COPY --from=base /one /two\nRUN two", 0),
        ("WORKDIR /place", 0),
    ],
)
def test_steps_are_kept_up_to_the_first_folder_that_is_copied(text: str, count: int) -> None:
    (stage,) = read_dockerfile(f"FROM debian\n{text}")
    assert kept_steps(stage) == stage.instructions[:count]


def test_the_sources_are_never_among_the_steps_that_are_kept() -> None:
    for stage in read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        assert not [one for one in kept_steps(stage) if "src" in one.words]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ("of a command", "RUN other\nCOPY file ./\nENV A=b"),
        ("of a setting", "RUN one\nCOPY file ./\nENV A=c"),
        ("of a place", "RUN one\nCOPY file ./there\nENV A=b"),
        ("of an order", "COPY file ./\nRUN one\nENV A=b"),
        ("of a file", "RUN one\nCOPY file ./\nENV A=b"),
    ],
)
def test_steps_with_a_change_are_run_anew(change: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    before = digest_of(ingredients_of(steps_of("RUN one\nCOPY file ./\nENV A=b"), tmp_path))
    if change == "of a file":
        (tmp_path / "file").write_text("after")
    assert digest_of(ingredients_of(steps_of(text), tmp_path)) != before


@pytest.mark.parametrize("line", ["ADD x /x", "SHELL ['bash']", "FROM --platform=linux/arm64 debian", "run x", "ARG A"])
def test_what_is_not_known_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is no line of a Dockerfile that can be run here"):
        read_dockerfile(f"FROM debian\n{line}\n")


IGNORED = "*\n!src\n!README.md\n**/__pycache__\n**/*.pyc\n"


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("README.md", True),
        ("src/hashrange/cli/main.py", True),
        ("src/hashrange/__pycache__", False),
        ("src/hashrange/__pycache__/main.cpython-311.pyc", False),
        ("src/hashrange/main.pyc", False),
        (".venv/bin/python", False),
        ("pyproject.toml", False),
    ],
)
def test_what_reaches_the_engine(name: str, is_kept: bool) -> None:
    assert is_in_context(name, IGNORED) is is_kept
