"""The reader of Dockerfiles, with which the image is tested:
it knows every instruction that we use, and overlooks none.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.settings import Settings
from hashrange.testing import server
from tests.support.dockerfile import is_in_context, read_dockerfile, read_image

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
