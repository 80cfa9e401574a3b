"""What `hashrange doctor` says of what answers at an endpoint: servers of many kinds, clocks,
certificates, hostile replies.
"""

import json
import socket
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from hashrange.cli.checkup import endpoint as checks
from hashrange.settings import Settings
from hashrange.testing import server
from tests.unit.cli.doctor_visits import CLIENT, NEGATIVE_CHUNK, SECRET, Answering, Doctor, Dripping, listener, sending

TLS = Path(__file__).parents[3] / "data" / "tls"
KEYS = checks.ClientKeys("any", SECRET, None, "eu-west-1", None)


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
        (200, b'{"version": 7}', {}, "hint", "no sign of being Hashrange"),
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
    assert told["clock"][0] == "wrong"
    assert "set the clocks" in told["clock"][1]


def test_a_chunk_of_negative_length_is_no_http(doctor: Doctor) -> None:
    with sending(NEGATIVE_CHUNK) as url:
        told = doctor("--endpoint-url", url, expected=1, **CLIENT)
    assert told["server"][1].endswith("does not speak HTTP (HTTPException).")


@pytest.mark.parametrize("date", ["yesterday", "Mon, 01 Jan 99999999999 00:00:00 GMT"])
def test_a_date_that_is_none_says_nothing_of_clocks(doctor: Doctor, date: str) -> None:
    with Answering(200, b"{}", Date=date) as other:
        found = doctor("--endpoint-url", other.url, expected=1, **CLIENT)
    assert "clock" not in found
    assert found["request"] == ("wrong", "ListTables got no reply of DynamoDB (HTTP 200).")


def test_a_clock_that_was_advanced(doctor: Doctor) -> None:
    with server(Settings(data_dir=None, port=0, admin=True)) as database:
        database.clock.advance(172_800)
        found = doctor("--endpoint-url", database.endpoint, expected=0, **CLIENT)
    assert found["clock"][0] == "ok"
    assert found["request"][0] == "hint"


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


def test_certificates_that_cannot_be_read(doctor: Doctor, free_port: int) -> None:
    bundle: dict[str, Any] = {"AWS_CA_BUNDLE": "/dev/null/bundle"}
    found = doctor("--endpoint-url", f"https://127.0.0.1:{free_port}", **bundle, **CLIENT)
    assert found["certificates"][0] == "wrong"


def test_replies_command_no_terminal_and_show_no_token(doctor: Doctor) -> None:
    message = json.dumps({"__type": "a#Refused", "message": f"\x1b[31m{SECRET}\u202e"}).encode()
    with Answering(400, message) as other:
        _, told = doctor.in_process("--endpoint-url", other.url, **CLIENT | {"AWS_SESSION_TOKEN": SECRET})
    assert "ListTables is refused: Refused: \\x1b[31m…\\u202e The keys" in told


def test_a_reply_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "WAIT_SECONDS_MAX", 0.2)
    found = list(checks.look_at_answers(Dripping().url, KEYS))
    assert [one.verdict for one in found] == ["wrong"]
    assert "gave no reply within 0.2 seconds" in found[0].sentence


def test_a_name_whose_first_address_is_unused(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    port = int(endpoint.rpartition(":")[2])

    def found_addresses(host: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
        addresses = ["127.0.0.2", "127.0.0.1"] if host == "localhost" else [host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found_addresses)
    found = list(checks.look_at_answers(f"http://localhost:{port}", KEYS))
    assert [one.subject for one in found] == ["server", "server", "clock", "request"]
    assert found[0].verdict == "hint"
    assert "localhost is 127.0.0.2 first, where nothing listens" in found[0].sentence
