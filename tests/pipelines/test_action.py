"""Does the GitHub action start a server that the following steps find, and tell what went wrong if it does not?"""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipelines.action_runs import ActionRun, plain_environment
from tests.pipelines.validators import ROOT, schema_verdict, shell_verdict
from tests.support.quick_installs import offline_variables, quick_python

SCRIPTS = [*sorted((ROOT / ".github").glob("*/*.sh")), *sorted((ROOT / "src").rglob("*.sh"))]
NEXT_STEP = """
import boto3, json
database = boto3.client("dynamodb")
database.create_table(TableName="Orders", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
arn = database.describe_table(TableName="Orders")["Table"]["TableArn"]
streams = boto3.client("dynamodbstreams").list_streams(TableName="Orders")["Streams"]
print(json.dumps([arn, len(streams), database.meta.endpoint_url]))
"""  # noqa: E501


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The command that the action's first step has installed."""
    folder, programs = tmp_path_factory.mktemp("install"), tmp_path_factory.mktemp("programs")
    quick_python(programs, "python3.13")  # which the action tries first
    environment = plain_environment() | offline_variables()
    environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    run = ActionRun(folder, {"port": "no port"}, environment)
    assert run.run() == 1
    assert "::error title=Hashrange::The input `port` is 'no port'" in run.printed
    (path,) = folder.glob("hashrange-environment-*/*/hashrange*")
    return str(path)


@pytest.fixture
def started() -> Iterator[list[Path]]:
    """Folders of runners, whose servers are ended afterwards."""
    folders: list[Path] = []
    yield folders
    for folder in folders:
        for log in folder.glob("hashrange-*/hashrange.pid"):
            os.kill(int(log.read_text()), signal.SIGTERM)


def start(folder: Path, command: str, **inputs: str) -> ActionRun:
    """A run in which the first step is done: its command is there already."""
    run = ActionRun(folder, inputs, plain_environment())
    run._action["runs"]["steps"] = run._action["runs"]["steps"][1:]
    run._steps["install"] = {"command": command}
    return run


def next_step(run: ActionRun) -> list[object]:
    """What a step that follows the action sees, with boto3 and no configuration of its own."""
    environment = {**plain_environment(), **run.exported, "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run(
        [sys.executable, "-c", NEXT_STEP], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen: list[object] = json.loads(done.stdout)
    return seen


def test_the_following_step_finds_the_server(command: str, tmp_path: Path, started: list[Path]) -> None:
    started.append(tmp_path)
    run = start(tmp_path, command, port="0", region="eu-west-1", args="--in-memory  --admin\n--access-log")
    assert run.run() == 0, run.printed
    endpoint = run.outputs()["endpoint"]
    assert run.exported["AWS_REGION"] == "eu-west-1"  # which SDKs other than boto3 read
    assert next_step(run) == ["arn:aws:dynamodb:eu-west-1:000000000000:table/Orders", 1, endpoint]
    assert "POST / DynamoDB_20120810.CreateTable 200" in Path(run.outputs()["log"]).read_text()


def test_a_server_that_cannot_start_fails_the_step_with_its_log(command: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        run = start(tmp_path, command, port=str(taken.getsockname()[1]))
        assert run.run() == 1
    assert "::error title=Hashrange::The server did not start" in run.printed
    assert "is taken by another program" in run.printed
    assert run.exported == {}


def test_an_option_that_does_not_exist_fails_the_step(command: str, tmp_path: Path) -> None:
    run = start(tmp_path, command, port="0", args="--in-memroy")
    assert run.run() == 1
    assert "--in-memroy" in run.printed


@pytest.mark.parametrize("region", ["", "eu west", "eu\nX=1"])
def test_values_that_would_spoil_the_environment_are_refused(region: str, tmp_path: Path) -> None:
    run = start(tmp_path, "no-command", region=region)
    assert run.run() == 1
    assert "::error title=Hashrange::The input `region` is " in run.printed
    assert run.exported == {}


def test_without_python_the_step_says_what_to_do(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "mktemp"):
        found = shutil.which(name)
        assert found
        (programs / name).symlink_to(found)
    run = ActionRun(tmp_path, {}, {"PATH": str(programs)})
    assert run.run() == 1
    assert "actions/setup-python" in run.printed


MAKE_LINK = """#!/bin/sh
# Stands in for a Python whose environments take seconds: they are links to one that is there.
case "$1 $2" in
  "-m venv") rmdir "$3" && ln -s {environment} "$3" ;;
  -c*) ;;
  *) exit 1 ;;
esac
"""


def test_a_version_that_is_not_there_fails_the_step(command: str, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    python = programs / "python3.13"  # which the action tries first
    python.write_text(MAKE_LINK.format(environment=shlex.quote(str(Path(command).parents[1]))))
    python.chmod(0o755)
    environment = plain_environment()
    path = os.pathsep.join([str(programs), environment["PATH"]])
    run = ActionRun(tmp_path, {"version": "0.0.0"}, {**environment, "PATH": path, "PIP_NO_INDEX": "1"})
    assert run.run() == 1
    assert "::error title=Hashrange::Version 0.0.0 of hashrange could not be installed" in run.printed
    assert run.exported == {}


def test_the_action_is_valid(tmp_path: Path) -> None:
    assert schema_verdict("github-actions", ROOT / "action.yml") == ""
    broken = tmp_path / "action.yml"
    broken.write_text((ROOT / "action.yml").read_text().replace("using: composite", "using: composed"))
    assert "composed" in schema_verdict("github-actions", broken)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_scripts_pass_shellcheck(script: Path) -> None:
    assert shell_verdict(script) == ""


def test_shellcheck_finds_faults(tmp_path: Path) -> None:
    script = tmp_path / "broken.sh"
    script.write_text("#!/usr/bin/env bash\nrm $1\n")
    assert "SC2086" in shell_verdict(script)
