"""Are the examples for compose, dev containers, systemd and Kubernetes valid, and do their commands
and probes work with this server?

No container engine is needed: a test starts the command of each example in a process,
on a free port and in a folder of its own.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import program
from tests.clients.serving import ServerProcess
from tests.pipelines.action_runs import plain_environment
from tests.pipelines.validators import (
    ROOT,
    devcontainer_verdict,
    kubernetes_verdict,
    schema_verdict,
    systemd_verdict,
    yaml_documents,
)

EXAMPLES = ROOT / "docs" / "examples"
COMPOSE = EXAMPLES / "deployment" / "compose.yaml"
DEVCONTAINER = EXAMPLES / "devcontainer" / "devcontainer.json"
DEVCONTAINER_COMPOSE = EXAMPLES / "devcontainer" / "compose.yaml"
BACKUP = EXAMPLES / "deployment" / "hashrange-backup.service"
UNIT = EXAMPLES / "deployment" / "hashrange.service"
KUBERNETES = EXAMPLES / "deployment" / "kubernetes.yaml"
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


class Example:
    """The command of an example, started with --port 0 and a temporary data folder in place of its own."""

    def __init__(self, words: list[str], folder: Path, **environment: str) -> None:
        """`words`: the command behind `hashrange`."""
        self.words = list(words)
        self.port = self.words[self.words.index("--port") + 1]
        self.data = self.words[self.words.index("--data-dir") + 1]
        self.words[self.words.index("--port") + 1] = "0"
        self.words[self.words.index("--data-dir") + 1] = str(folder / "data")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hashrange", *self.words],
            env={**plain_environment(), "PYTHONPATH": os.pathsep.join(sys.path), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)", self._process.stdout.readline())
        assert found, self._process.communicate()[1]
        self.served_port = found[1]

    def here(self, text: str) -> str:
        """A probe of the example, for the port that is served."""
        probe = f"127.0.0.1:{self.port}"
        assert probe in text
        return text.replace(probe, f"127.0.0.1:{self.served_port}")

    def stop(self) -> None:
        self._process.terminate()
        _, errors = self._process.communicate(timeout=30)
        assert (self._process.returncode, errors) == (0, "")


NO_PROXY_THERE = "http://127.0.0.1:1"


def status(words: list[str]) -> int:
    """Exit status of a health check, in a container in which the engine has set a proxy."""
    environment = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    environment |= {"http_proxy": NO_PROXY_THERE, "HTTP_PROXY": NO_PROXY_THERE}
    return subprocess.run(words, env=environment, capture_output=True, timeout=60, check=False).returncode


def compose_server(path: Path) -> dict[str, Any]:
    (document,) = yaml_documents(path.read_text())
    service: dict[str, Any] = document["services"]["dynamodb"]
    return service


@pytest.mark.parametrize("path", [COMPOSE, DEVCONTAINER_COMPOSE], ids=["compose", "devcontainer"])
def test_compose_files_are_valid_and_their_health_checks_see_the_server(path: Path, tmp_path: Path) -> None:
    assert schema_verdict("compose-spec", path) == ""
    service = compose_server(path)
    example = Example(service["command"], tmp_path)
    kind, python, *words = service["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    check = [sys.executable, words[0], *map(example.here, words[1:])]
    try:
        assert status(check) == 0
    finally:
        example.stop()
    assert status(check) != 0
    (volume,) = service["volumes"]
    assert volume == f"hashrange-data:{example.data}"
    assert f"VOLUME {example.data}" in DOCKERFILE
    (document,) = yaml_documents(path.read_text())
    environment = document["services"]["application"]["environment"]
    assert environment["AWS_ENDPOINT_URL_DYNAMODB"] == f"http://dynamodb:{example.port}"
    assert environment["AWS_ENDPOINT_URL_DYNAMODB_STREAMS"] == environment["AWS_ENDPOINT_URL_DYNAMODB"]


def test_a_broken_compose_file_is_found(tmp_path: Path) -> None:
    broken = tmp_path / "compose.yaml"
    broken.write_text(COMPOSE.read_text().replace("healthcheck:", "healtcheck:"))
    assert "healtcheck" in schema_verdict("compose-spec", broken)


def test_the_dev_container_names_what_its_compose_file_has() -> None:
    container = json.loads(DEVCONTAINER.read_text())
    (document,) = yaml_documents((DEVCONTAINER.parent / container["dockerComposeFile"]).read_text())
    assert container["service"] in document["services"]
    workspace = document["services"][container["service"]]["volumes"]
    assert workspace == [f"..:{container['workspaceFolder']}:cached"]
    (forwarded,) = container["forwardPorts"]
    host, port = forwarded.split(":")
    words = document["services"][host]["command"]
    assert words[words.index("--port") + 1] == port
    assert list(container["portsAttributes"]) == [forwarded]
    assert set(container) <= {
        "name",
        "dockerComposeFile",
        "service",
        "workspaceFolder",
        "forwardPorts",
        "portsAttributes",
    }


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with the example of a dev container."""
    shutil.copytree(DEVCONTAINER.parent, tmp_path / ".devcontainer")
    return tmp_path


def test_dev_containers_read_the_example(workspace: Path) -> None:
    assert devcontainer_verdict(workspace) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"service": "application"', '"service": "aplication"'),
        ("dockerComposeFile", "dockerComposeFil"),
        ("compose.yaml", "compos.yaml"),
        ('"service"', "service:"),
    ],
)
def test_a_broken_dev_container_is_found(workspace: Path, right: str, wrong: str) -> None:
    path = workspace / ".devcontainer" / "devcontainer.json"
    path.write_text(path.read_text().replace(right, wrong))
    assert devcontainer_verdict(workspace) != ""


def unit_value(name: str) -> str:
    (value,) = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    return str(value)


def test_systemd_accepts_the_unit_and_its_probe_sees_the_server(tmp_path: Path) -> None:
    command, *words = shlex.split(unit_value("ExecStart"))
    installed = tmp_path / "hashrange.service"
    installed.write_text(UNIT.read_text().replace(command, sys.executable))
    assert systemd_verdict(installed) == ""
    example = Example(words, tmp_path)
    assert example.data == f"/var/lib/{unit_value('StateDirectory')}"
    _, *probe = shlex.split(unit_value("ExecStartPost"))
    check = [program("curl"), *probe[:-1], example.here(probe[-1])]
    try:
        assert status(check) == 0
    finally:
        example.stop()


def test_systemd_accepts_the_backup_and_its_command_makes_a_copy(tmp_path: Path) -> None:
    command, *words = shlex.split(re.findall(r"^ExecStart=(.*)$", BACKUP.read_text(), re.MULTILINE)[0])
    for path in (BACKUP, BACKUP.with_suffix(".timer")):
        (tmp_path / path.name).write_text(path.read_text().replace(command, sys.executable))
    assert systemd_verdict(tmp_path / "hashrange-backup.timer") == ""
    assert f"/var/lib/{re.findall('^StateDirectory=(.*)$', BACKUP.read_text(), re.MULTILINE)[0]}" in words
    server = ServerProcess(tmp_path / "data", "--admin")
    try:
        here = [server.endpoint if "://" in word else word.replace("/var/lib", str(tmp_path)) for word in words]
        assert status([sys.executable, "-m", "hashrange", *here]) == 0
    finally:
        server.stop()
    assert len(list((tmp_path / "hashrange-copies" / "manifests").iterdir())) == 1


def test_a_broken_unit_is_found(tmp_path: Path) -> None:
    broken = tmp_path / "hashrange.service"
    broken.write_text("[Service]\nType=executable\nExecStart=/no/such/program\n")
    assert "/no/such/program" in systemd_verdict(broken)


def stateful_set() -> dict[str, Any]:
    (found,) = [one for one in yaml_documents(KUBERNETES.read_text()) if one["kind"] == "StatefulSet"]
    specification: dict[str, Any] = found["spec"]["template"]["spec"]
    return specification


def test_kubernetes_resources_are_valid_and_their_probes_see_the_server(tmp_path: Path) -> None:
    assert kubernetes_verdict(KUBERNETES) == ""
    (container,) = stateful_set()["containers"]
    example = Example(container["args"], tmp_path)
    try:
        for name in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[name]["httpGet"]
            assert asked["port"] == "http"
            with urllib.request.urlopen(f"http://127.0.0.1:{example.served_port}{asked['path']}", timeout=10) as reply:
                assert reply.status == 200
    finally:
        example.stop()
    assert container["ports"] == [{"name": "http", "containerPort": int(example.port)}]
    assert example.data in [mount["mountPath"] for mount in container["volumeMounts"]]
    user = stateful_set()["securityContext"]["runAsUser"]
    assert f"--uid {user} " in DOCKERFILE


def test_broken_resources_are_found(tmp_path: Path) -> None:
    broken = tmp_path / "kubernetes.yaml"
    broken.write_text(KUBERNETES.read_text().replace("readinessProbe", "readynessProbe"))
    assert "readynessProbe" in kubernetes_verdict(broken)
