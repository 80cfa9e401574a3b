"""`hashrange serve` as a process: it prints one line, stops cleanly, locks its folder, and leaves no memory behind."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange import __version__
from tests.support.raw_client import RawClient
from tests.support.signing import ACCESS_KEY, REGION, SECRET_KEY
from tests.unit.cli.doctor_visits import Answering

SOURCE = Path(__file__).parents[3] / "src"
START_TIMES_MAX = 8
"""A start may take at most this multiple of the time to import LIBRARIES, measured in the same run.
Detects excessive imports. The target, 150 ms on a quiet machine (measured by `make bench`), is twice that time."""
LIBRARIES = "import asyncio, ssl, uvloop, httptools, msgspec, rocksdict"


def begin_process(folder: Path, words: list[str]) -> subprocess.Popen[str]:
    """Start `hashrange WORDS`, and wait for nothing."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "hashrange", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Serving:
    """A started `hashrange` process, and the two lines that it printed."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        self.process = begin_process(folder, words)
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline() + self.process.stdout.readline()
        self.endpoint = next((word.rstrip(",") for word in self.line.split() if "://" in word), "")

    def stop(self, signal_number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal to the process; return its exit code, further output and errors."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors


class Starter:
    """Starts servers in one folder, and stops all of them at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Serving] = []

    def __call__(self, *words: str) -> Serving:
        """Start `hashrange WORDS`, and wait until it prints its line or ends."""
        self.started.append(Serving(self.folder, list(words)))
        return self.started[-1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    """A starter of servers in an empty folder."""
    starter = Starter(tmp_path)
    yield starter
    for serving in starter.started:
        serving.stop()


def health(serving: Serving) -> bytes:
    with urllib.request.urlopen(serving.endpoint, timeout=10) as reply:
        body: bytes = reply.read()
    return body


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_stops_cleanly(signal_number: int, start: Starter) -> None:
    serving = start("serve", "--port", "0")
    assert health(serving).startswith(b"healthy")
    assert serving.stop(signal_number) == (0, "", "")
    assert (start.folder / "hashrange-data").is_dir()


@pytest.mark.parametrize("words", [["serve", "--in-memory", "--port", "0"], ["-inMemory", "-port", "0", "-sharedDb"]])
def test_in_memory_leaves_nothing_behind(words: list[str], start: Starter) -> None:
    serving = start(*words)
    assert "in memory" in serving.line
    assert health(serving).startswith(b"healthy")
    assert serving.stop()[0] == 0
    assert list(start.folder.iterdir()) == []


def test_a_second_server_on_the_same_folder_is_refused(start: Starter) -> None:
    start("serve", "--port", "0")
    second = start("serve", "--port", "0")
    code, _, errors = second.stop()
    assert code == 1
    assert "is in use by another Hashrange" in errors
    assert errors.count("\n") == 1


def test_a_taken_port_is_refused(start: Starter) -> None:
    port = start("serve", "--port", "0", "--in-memory").endpoint.rpartition(":")[2]
    code, _, errors = start("serve", "--port", port, "--in-memory").stop()
    assert code == 1
    assert errors == (
        f"hashrange: 127.0.0.1:{port} is taken by another Hashrange. Use that one, stop it, or choose"
        " another port with --port.\n"
    )


def test_a_port_that_another_program_has_is_told_as_such(start: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    with Answering(200, b"I am something else") as other:
        port = other.url.rpartition(":")[2]
        monkeypatch.setenv("HASHRANGE_PORT", port)
        code, _, errors = start("serve", "--in-memory").stop()
    assert code == 1
    assert errors == (
        f"hashrange: 127.0.0.1:{port} is taken by another program. Stop it, or choose another"
        " port with HASHRANGE_PORT.\n"
    )


def test_an_admin_api_tells_the_version_of_the_other_server(start: Starter) -> None:
    port = start("serve", "--port", "0", "--in-memory", "--admin").endpoint.rpartition(":")[2]
    _, _, errors = start("serve", "--port", port, "--in-memory").stop()
    assert f"is taken by another Hashrange {__version__}. Use" in errors


@pytest.mark.parametrize(
    ("words", "expected", "sentence"),
    [
        (["--credentials", "none.toml"], 2, "the credentials file none.toml cannot be used: "),
        (["--tls-cert", "a.pem", "--tls-key", "b.pem"], 2, "TLS cannot start with a.pem and b.pem: "),
        (["--host", "256.0.0.1"], 1, "the server cannot listen on 256.0.0.1:0: "),
    ],
)
def test_what_keeps_it_from_starting_is_one_sentence(
    words: list[str], expected: int, sentence: str, start: Starter, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    code, _, errors = start("serve", "--port", "0", "--data-dir", str(folder), *words).stop()
    assert (code, errors.count("\n")) == (expected, 1), errors
    assert errors.startswith(f"hashrange: {sentence}")
    assert expected == 1 or not folder.exists()


def test_the_access_log_has_its_own_switch(start: Starter) -> None:
    serving = start("serve", "--port", "0", "--in-memory", "--access-log", "--log-level", "error")
    health(serving)
    assert "GET / - 200" in serving.stop()[2]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU time of another process is read from /proc")
def test_a_start_costs_little(start: Starter) -> None:
    import resource

    start("serve", "--port", "0", "--in-memory").stop()
    serving = start("serve", "--port", "0", "--in-memory")
    fields = Path(f"/proc/{serving.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    cpu_seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", LIBRARIES], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    libraries_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert cpu_seconds < START_TIMES_MAX * libraries_seconds


def printed_by(code: str) -> str:
    """What a new interpreter prints that runs the code."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        text=True,
        capture_output=True,
        check=True,
    )
    return done.stdout


def test_help_imports_no_server() -> None:
    code = (
        "import sys, hashrange.cli.serve; print([m for m in ('asyncio', 'rocksdict',"
        " 'hashrange.operations') if m in sys.modules])"
    )
    assert printed_by(code) == "[]\n"


def test_a_server_imports_numpy_only_for_a_search() -> None:
    code = (
        "import sys\nfrom hashrange.testing import server\nwith server() as database:\n"
        "    print('hashrange.store.embedded.vector_search' in sys.modules, 'numpy' in sys.modules)"
    )
    assert printed_by(code) == "True False\n"


def test_the_limit_of_item_collections_is_an_option(start: Starter) -> None:
    serving = start("serve", "--port", "0", "--in-memory", "--item-collection-limit", "100")
    raw = RawClient("127.0.0.1", int(serving.endpoint.rpartition(":")[2]), REGION, ACCESS_KEY, SECRET_KEY)
    keys = [("pk", "HASH"), ("sk", "RANGE"), ("l", "RANGE")]
    schema = [{"AttributeName": name, "KeyType": role} for name, role in keys]
    index = {"IndexName": "local", "KeySchema": [schema[0], schema[2]], "Projection": {"ProjectionType": "ALL"}}
    table = {
        "TableName": "collections",
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
        "KeySchema": schema[:2],
        "LocalSecondaryIndexes": [index],
        "BillingMode": "PAY_PER_REQUEST",
    }
    assert raw("CreateTable", table).status == 200
    put = {"TableName": "collections", "Item": {"pk": {"S": "p"}, "sk": {"S": "s"}, "a": {"S": "x" * 93}}}
    assert raw("PutItem", put).status == 200
    refused = raw("PutItem", put | {"Item": {"pk": {"S": "p"}, "sk": {"S": "t"}}})
    assert refused.json()["__type"].endswith("#ItemCollectionSizeLimitExceededException")
    assert serving.stop()[0] == 0
