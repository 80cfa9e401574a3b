"""`hashrange doctor` in many environments: what it finds, what it never shows, and that it changes nothing."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Self

import pytest

from hashrange.clock import SystemClock
from hashrange.operations.registry import ALL_OPERATIONS
from hashrange.settings import Settings
from hashrange.store.embedded.opening import open_store
from hashrange.testing import server
from tests.support.servers import ThreadServer

TLS = Path(__file__).parents[2] / "data" / "tls"
SECRET = "s3cr3t-of-nobody"
CLIENT: dict[str, Any] = {
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
Found = dict[str, tuple[str, str]]
"""Subject → verdict and sentence; of several, the last."""


class Doctor:
    """Runs `hashrange doctor` as a process, in a home and a folder of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / ".aws").mkdir()

    def __call__(self, *words: str, expected: int = -1, **environment: Any) -> Found:
        """`expected`: the exit code; -1: any."""
        variables = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-m", "hashrange", "doctor", "--json", *words]
        done = subprocess.run(
            command, cwd=self.home, env=variables | environment, capture_output=True, text=True, check=False
        )
        assert SECRET not in done.stdout + done.stderr
        assert done.stderr == ""
        if expected >= 0:
            assert done.returncode == expected, done.stdout
        return {one["subject"]: (one["verdict"], one["sentence"]) for one in json.loads(done.stdout)}

    def write(self, name: str, text: str) -> None:
        (self.home / ".aws" / name).write_text(text, encoding="utf-8")


@pytest.fixture
def doctor(tmp_path: Path) -> Doctor:
    return Doctor(tmp_path)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with server(Settings(data_dir=None, port=0)) as database:
        yield database.endpoint


@pytest.fixture
def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@contextmanager
def listener(settings: Settings) -> Iterator[str]:
    """The endpoint of a server with a listener of these settings, TLS and credentials included."""
    running = ThreadServer(lambda: open_store(None, SystemClock(), None), ALL_OPERATIONS, settings=settings)
    yield running.endpoint
    running.stop()


class Answering:
    """A server that answers every request in the same way."""

    def __init__(self, status: int, body: bytes, **headers: str) -> None:
        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = headers.pop("server", "Other"), ""

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def test_a_sound_environment(doctor: Doctor, endpoint: str) -> None:
    streams: dict[str, Any] = {"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint}
    found = doctor(expected=0, AWS_ENDPOINT_URL_DYNAMODB=endpoint, **streams, **CLIENT)
    assert {subject: verdict for subject, (verdict, _) in found.items()} == {
        "version": "ok",
        "engine": "ok",
        "settings": "ok",
        "data": "ok",
        "endpoint": "ok",
        "region": "ok",
        "credentials": "ok",
        "server": "ok",
        "clock": "ok",
        "request": "hint",
    }
    assert found["server"][1] == f"Hashrange answers at {endpoint}."
    assert found["request"][1].startswith("ListTables works, and there are no tables in eu-west-1")


def test_an_empty_environment(doctor: Doctor, free_port: int) -> None:
    found = doctor(expected=1, HASHRANGE_PORT=str(free_port))
    wrong = {subject for subject, (verdict, _) in found.items() if verdict == "wrong"}
    assert wrong == {"endpoint", "region", "credentials", "server"}
    assert f"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:{free_port}" in found["endpoint"][1]
    assert f"hashrange serve --port {free_port}" in found["server"][1]
    assert sorted(one.name for one in doctor.home.iterdir()) == [".aws"]


def test_it_is_readable_in_a_terminal(doctor: Doctor, free_port: int) -> None:
    command = [sys.executable, "-m", "hashrange", "doctor", "--endpoint-url", f"http://127.0.0.1:{free_port}"]
    variables = {"HOME": str(doctor.home), "PYTHONPATH": os.pathsep.join(sys.path), **CLIENT}
    told = subprocess.run(command, cwd=doctor.home, env=variables, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "\nwrong  server       Nothing answers at 127.0.0.1, port" in told.stdout
    assert told.stdout.endswith("\n1 fault, 0 hints.\n")


@pytest.mark.parametrize(
    ("config", "environment", "source"),
    [
        ("", {"AWS_ENDPOINT_URL": "{url}", "AWS_ENDPOINT_URL_DYNAMODB": "http://other"}, "AWS_ENDPOINT_URL_DYNAMODB"),
        ("[default]\nendpoint_url = http://other\n", {"AWS_ENDPOINT_URL": "{url}"}, "AWS_ENDPOINT_URL"),
        ("[default]\nendpoint_url = {url}\n", {}, "the profile default"),
        (
            "[profile shop]\nservices = local\nendpoint_url = http://other\n[services local]\ndynamodb =\n  endpoint_url = {url}\n",
            {"AWS_PROFILE": "shop"},
            "the services of the profile shop",
        ),
    ],
)
def test_where_clients_find_their_endpoint(
    doctor: Doctor, endpoint: str, config: str, environment: dict[str, Any], source: str
) -> None:
    doctor.write("config", config.replace("{url}", endpoint))
    found = doctor(**{name: value.replace("{url}", endpoint) for name, value in environment.items()}, **CLIENT)
    expected = "http://other" if source == "AWS_ENDPOINT_URL_DYNAMODB" else endpoint
    assert found["endpoint"] == ("ok", f"Clients call {expected}, by {source}.")


def test_endpoints_that_are_ignored(doctor: Doctor, endpoint: str) -> None:
    found = doctor(AWS_ENDPOINT_URL=endpoint, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true", **CLIENT)
    assert found["endpoint"][0] == "wrong"
    assert "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS" in found["endpoint"][1]


def test_aws_itself_is_never_called(doctor: Doctor) -> None:
    found = doctor(AWS_ENDPOINT_URL="https://dynamodb.eu-west-1.amazonaws.com", **CLIENT)
    assert found["endpoint"][0] == "hint"
    assert "server" not in found


@pytest.mark.parametrize(
    ("environment", "subject", "verdict", "words"),
    [
        ({"AWS_DEFAULT_REGION": ""}, "region", "hint", "boto3 does not read"),
        ({"AWS_REGION": "us-east-1"}, "region", "hint", "AWS_DEFAULT_REGION is eu-west-1"),
        ({"AWS_ACCESS_KEY_ID": "111122223333"}, "credentials", "hint", "has 12 digits"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "credentials", "wrong", "an access key without its secret"),
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "credentials", "wrong", "Clients find no keys"),
        ({"AWS_PROFILE": "missing"}, "profile", "wrong", "no profile missing"),
        ({"HTTP_PROXY": f"http://me:{SECRET}@proxy:3128"}, "proxy", "wrong", "the proxy http://proxy:3128"),
        ({"HASHRANGE_PROT": "1"}, "settings", "hint", "Did you mean HASHRANGE_PORT?"),
        ({"HASHRANGE_PORT": "web"}, "settings", "wrong", 'HASHRANGE_PORT is "web"'),
        ({"HASHRANGE_IN_MEMORY": "true"}, "data", "ok", "in memory"),
        ({"HASHRANGE_DATA_DIR": "/dev/null/data"}, "data", "wrong", "/dev/null is no folder"),
    ],
)
def test_what_surprises_people(
    doctor: Doctor, endpoint: str, environment: dict[str, Any], subject: str, verdict: str, words: str
) -> None:
    found = doctor(AWS_ENDPOINT_URL=endpoint, **CLIENT | environment)
    assert found[subject][0] == verdict
    assert words in found[subject][1]


def test_a_proxy_that_is_not_used(doctor: Doctor, endpoint: str) -> None:
    proxy: dict[str, Any] = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "localhost, 127.0.0.1"}
    assert "proxy" not in doctor(AWS_ENDPOINT_URL=endpoint, **proxy, **CLIENT)


@pytest.mark.parametrize("text", ["[default]\naws_access_key_id = any\n", "aws_access_key_id\n", "[default\n", "\xff"])
def test_shared_files_that_are_wrong(doctor: Doctor, endpoint: str, text: str) -> None:
    doctor.write("credentials", "")
    (doctor.home / ".aws" / "credentials").write_bytes(text.encode("latin-1"))
    found = doctor(AWS_ENDPOINT_URL=endpoint, AWS_REGION="eu-west-1", expected=1)
    assert {found[subject][0] for subject in ("profile", "credentials") if subject in found} == {"wrong"}


def test_keys_of_a_profile(doctor: Doctor, endpoint: str) -> None:
    doctor.write("credentials", f"[shop]\naws_access_key_id = any\naws_secret_access_key = {SECRET}\n")
    doctor.write("config", "[profile shop]\nregion = us-west-2\n")
    found = doctor("--profile", "shop", AWS_ENDPOINT_URL=endpoint)
    assert found["credentials"] == ("ok", "The access key is that of the profile shop.")
    assert "us-west-2" in found["region"][1]
    doctor.write("config", "[default]\nsso_session = work\nregion = us-west-2\n")
    assert doctor(AWS_ENDPOINT_URL=endpoint)["credentials"][0] == "hint"


def test_a_server_with_a_credentials_file(doctor: Doctor, tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('[[credential]]\naccess_key = "AKIDEXAMPLE"\nsecret_key = "known"\n', encoding="utf-8")
    with listener(Settings(data_dir=None, port=0, credentials=str(keys))) as endpoint:
        found = doctor("--endpoint-url", endpoint, expected=1, **CLIENT)
        assert found["server"][0] == "ok"
        assert found["request"][0] == "wrong"
        assert "UnrecognizedClientException" in found["request"][1]
        known = CLIENT | {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "known"}
        assert doctor("--endpoint-url", endpoint, expected=0, **known)["request"][0] == "hint"


def test_tables_and_the_version_are_told(doctor: Doctor) -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        database.client(region_name="eu-west-1").create_table(
            TableName="Users",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        found = doctor("--endpoint-url", database.endpoint, **CLIENT)
    assert found["request"] == ("ok", "ListTables works: 1 table in eu-west-1.")
    assert found["server"][1].startswith("Hashrange 0.")


def test_http_and_https_are_told_apart(doctor: Doctor, endpoint: str) -> None:
    found = doctor("--endpoint-url", endpoint.replace("http:", "https:"), expected=1, **CLIENT)
    assert "does not speak HTTPS" in found["server"][1]
    files: dict[str, Any] = {"tls_cert": str(TLS / "localhost.pem"), "tls_key": str(TLS / "localhost.key")}
    with listener(Settings(data_dir=None, port=0, **files)) as encrypted:
        port = encrypted.rpartition(":")[2]
        plain = doctor("--endpoint-url", f"http://localhost:{port}", expected=1, **CLIENT)
        assert "speaks HTTPS" in plain["server"][1]
        strange = doctor("--endpoint-url", f"https://localhost:{port}", expected=1, **CLIENT)
        assert "Clients do not trust the certificate" in strange["server"][1]
        bundle: dict[str, Any] = {"AWS_CA_BUNDLE": files["tls_cert"]}
        assert (
            doctor("--endpoint-url", f"https://localhost:{port}", expected=0, **bundle, **CLIENT)["server"][0] == "ok"
        )


@pytest.mark.parametrize(
    ("status", "body", "headers", "verdict", "words"),
    [
        (400, b"{}", {"server": "Jetty(11.0.17)"}, "hint", "DynamoDB Local"),
        (200, b'{"services": {"dynamodb": "running"}, "edition": "localstack"}', {}, "hint", "LocalStack"),
        (404, b"", {"server": "Werkzeug/3.0"}, "hint", "moto's server"),
        (200, b"<html>hello</html>", {}, "hint", "no sign of being Hashrange"),
        (200, b"healthy: dynamodb.eu-west-1.amazonaws.com ", {}, "ok", "A DynamoDB answers"),
    ],
)
def test_other_programs_are_named(
    doctor: Doctor, status: int, body: bytes, headers: dict[str, str], verdict: str, words: str
) -> None:
    with Answering(status, body, **headers) as other:
        found = doctor("--endpoint-url", other.url, expected=1, **CLIENT)
    assert found["server"][0] == verdict
    assert words in found["server"][1]
    assert found["request"][0] == "wrong"


def test_a_clock_that_is_wrong(doctor: Doctor) -> None:
    with Answering(200, b"{}", Date="Thu, 01 Jan 2015 00:00:00 GMT") as other:
        told = doctor("--endpoint-url", other.url, expected=1, **CLIENT)
    assert "request" in told


def test_a_port_that_is_no_http(doctor: Doctor) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def hang_up() -> None:
            for _ in range(3):
                try:
                    accepted, _ = listening.accept()
                except OSError:
                    return
                accepted.sendall(b"220 ftp\r\n")
                accepted.close()

        thread = Thread(target=hang_up, daemon=True)
        thread.start()
        found = doctor("--endpoint-url", f"http://127.0.0.1:{listening.getsockname()[1]}", expected=1, **CLIENT)
    assert "does not speak HTTP" in found["server"][1]


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://localhost", "http://", "http://[::1", "http://a:port"])
def test_texts_that_are_no_endpoint(doctor: Doctor, url: str) -> None:
    assert "no URL of an endpoint" in doctor("--endpoint-url", url, expected=1, **CLIENT)["server"][1]


def test_a_folder_that_a_server_uses(doctor: Doctor, tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with server(Settings(data_dir=folder, port=0)) as database:
        found = doctor(HASHRANGE_DATA_DIR=folder, AWS_ENDPOINT_URL=database.endpoint, **CLIENT)
        assert found["data"][0] == "hint"
        assert f"process {os.getpid()}" in found["data"][1]
    assert "no server uses it now" in doctor(HASHRANGE_DATA_DIR=folder, **CLIENT)["data"][1]
