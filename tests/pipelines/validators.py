"""Which programs validate the files for pipelines? Pinned ones, in an environment of their own;
they carry all schemas that they need.

docs/adr/0050-pipelines.md says why these. A validator's verdict is what it printed: nothing, if the file is valid.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.clients.programs import go, node, program, python

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent
PRINT_YAML_AS_JSON = "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(sys.stdin))))"


def command(name: str) -> str:
    """Path of an installed program of requirements.txt."""
    return str(Path(python(FOLDER)).parent / (f"{name}.exe" if os.name == "nt" else name))


def yaml_documents(text: str) -> list[Any]:
    """The documents of a YAML text. (The on of a workflow is the key true.)"""
    words = [python(FOLDER), "-c", PRINT_YAML_AS_JSON]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60, check=True)
    documents: list[Any] = json.loads(done.stdout)
    return documents


def schema_verdict(schema: str, path: Path) -> str:
    """What is wrong with the file by a schema that check-jsonschema carries, such as compose-spec."""
    return _verdict([command("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", str(path)])


def workflow_verdict(path: Path) -> str:
    """What actionlint finds wrong with a workflow, with shellcheck for its scripts."""
    return _verdict([go(FOLDER / "actionlint"), "-no-color", "-shellcheck", command("shellcheck"), str(path)])


def shell_verdict(path: Path) -> str:
    """What shellcheck finds wrong with a shell script."""
    return _verdict([command("shellcheck"), "--enable=all", "--exclude=SC2250,SC2292,SC2312,SC2310,SC2154", str(path)])


def kubernetes_verdict(path: Path) -> str:
    """What is wrong with resources by Kubernetes' own schemas; unknown members are wrong too."""
    return _verdict([command("kubernetes-validate"), "--strict", "--quiet", str(path)])


def systemd_verdict(path: Path) -> str:
    """What systemd itself says of a unit, whose programs must exist."""
    return _verdict([program("systemd-analyze"), "verify", "--man=no", str(path)])


DOCKER = """#!/bin/sh
# Stands in for Docker, of which the command line of Dev Containers asks what a compose file and an image have.
case "$*" in
  *version*) echo 2.30.0 ;;
  "compose -f "*" config"*) cat "$3" ;;
  "inspect --type image"*) echo '[{"Id": "sha256:0", "Architecture": "amd64", "Os": "linux", "Config": {"User": "", "Env": [], "Labels": {}}}]' ;;
  ps*|inspect*) ;;
  *) exit 1 ;;
esac
"""  # noqa: E501


def devcontainer_verdict(workspace: Path) -> str:
    """What the command line of Dev Containers finds wrong with the configuration in the folder
    .devcontainer of a workspace.
    """
    docker = workspace / "docker"
    docker.write_text(DOCKER, encoding="utf-8")
    docker.chmod(0o755)
    folder = FOLDER / "devcontainers"
    words = [
        node(folder),
        str(folder / "node_modules" / "@devcontainers" / "cli" / "devcontainer.js"),
        "read-configuration",
    ]
    places = ["--workspace-folder", str(workspace), "--docker-path", str(docker)]
    return _verdict([*words, *places, "--include-merged-configuration"])


def _verdict(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    said = (done.stdout + done.stderr).strip()
    return "" if done.returncode == 0 else said or f"{words[0]} ended with {done.returncode}"
