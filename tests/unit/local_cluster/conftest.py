"""A machine with stand-ins for Java, Maven and the servers of a cluster."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hashrange.local_cluster.cluster import LocalCluster
from tests.unit.local_cluster.stand_ins import list_jars, program, put_java, put_maven

SERVER = f"""#!{sys.executable}
import http.server, pathlib, sys
words = sys.argv[1:]
if pathlib.Path("broken").exists():
    sys.exit("hashrange: the store is broken.")
beside = pathlib.Path("..", "s2" if pathlib.Path.cwd().name == "s1" else "s1", "output.log")
print("beside", beside.exists(), file=sys.stderr)
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *words):
        pass
listener = http.server.HTTPServer(("127.0.0.1", int(words[words.index("--port") + 1])), Healthy)
print(*words, file=sys.stderr)
print(f"Hashrange serves DynamoDB at http://127.0.0.1:{{listener.server_port}}, data there.", flush=True)
listener.serve_forever()
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with Java's home, Maven and a cache of jars, which the variables name."""
    put_java(tmp_path / "java")
    put_maven(tmp_path)
    list_jars(tmp_path / "digests", monkeypatch)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "server", SERVER)))
    return tmp_path


@pytest.fixture
def cluster(machine: Path) -> Iterator[LocalCluster]:
    """A cluster that is not made yet; it is ended after the test."""
    found = LocalCluster(str(machine / "my cluster"))
    yield found
    if found.exists:
        found.down(is_deleting=True)
