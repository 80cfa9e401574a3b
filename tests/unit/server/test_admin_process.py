"""The admin API of a server process: present only when enabled, it moves the clock of the running server."""

import json
from pathlib import Path

import pytest

from hashrange.messages.http import UNKNOWN_OPERATION_BODY
from tests.support.raw_client import RawClient, Reply
from tests.unit.cli.test_serve import Serving

DAY_SECONDS = 86_400


def send(serving: Serving, method: str, path: str, members: object = None) -> Reply:
    client = RawClient("127.0.0.1", int(serving.endpoint.rpartition(":")[2]))
    return client.send(method, f"/_hashrange/v1/{path}", {}, b"" if members is None else json.dumps(members).encode())


def test_it_is_off_by_default(tmp_path: Path) -> None:
    serving = Serving(tmp_path, ["serve", "--port", "0", "--in-memory"])
    for method, path in (("GET", "ready"), ("POST", "clock/advance")):
        answer = send(serving, method, path, {"seconds": 1})
        assert (answer.status, answer.body) == (404, UNKNOWN_OPERATION_BODY)
    assert serving.stop() == (0, "", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_it_serves_its_own_machine(tmp_path: Path, host: str) -> None:
    serving = Serving(tmp_path, ["serve", "--port", "0", "--host", host, "--admin"])
    assert send(serving, "GET", "ready").json() == {"ready": True}
    info = send(serving, "GET", "info").json()
    assert info["data_dir"] == "./hashrange-data"
    moved = send(serving, "POST", "clock/advance", {"seconds": DAY_SECONDS}).json()["service_time"]
    later = send(serving, "GET", "info").json()["service_time"]
    assert info["service_time"] + DAY_SECONDS <= moved <= later
    assert send(serving, "POST", "ttl/expire").json() == {"expired": 0}
    assert send(serving, "POST", "tables/none/split").status == 404
    assert serving.stop() == (0, "", "")
