"""How does a composite action run without GitHub? Its steps run one after another with bash, as the runner does.

Of GitHub's expressions only the forms `${{ inputs.x }}`, `${{ github.action_path }}` and
`${{ steps.x.outputs.y }}` are known.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.pipelines.validators import ROOT, yaml_documents

EXPRESSION = re.compile(r"\$\{\{ *([a-z_]+)\.([a-z_.-]+) *\}\}")


class ActionRun:
    """One run of action.yml with these inputs."""

    def __init__(self, folder: Path, inputs: dict[str, str], environment: dict[str, str]) -> None:
        """`folder`: the runner's temporary files. `environment`: what steps see beside the variables of the runner."""
        (self._action,) = yaml_documents((ROOT / "action.yml").read_text(encoding="utf-8"))
        unknown = set(inputs) - set(self._action["inputs"])
        assert not unknown, unknown
        self._inputs = {name: inputs.get(name, what["default"]) for name, what in self._action["inputs"].items()}
        self._folder = folder
        self._environment = environment
        self._steps: dict[str, dict[str, str]] = {}
        self.exported: dict[str, str] = {}
        self.printed = ""

    def run(self) -> int:
        """Run the steps until one fails; returns the exit status of the last one."""
        for step in self._action["runs"]["steps"]:
            assert step["shell"] == "bash"
            status = self._run_step(step)
            if status:
                return status
        return 0

    def outputs(self) -> dict[str, str]:
        """The outputs of the action."""
        return {name: self._text(output["value"]) for name, output in self._action["outputs"].items()}

    def _run_step(self, step: dict[str, Any]) -> int:
        files = {name: self._folder / f"{name}-{step['id']}" for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        for file in files.values():
            file.touch()
        environment = {
            **self._environment,
            "RUNNER_TEMP": str(self._folder),
            **{name: str(file) for name, file in files.items()},
            **{name: self._text(value) for name, value in step["env"].items()},
        }
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", self._text(step["run"])]
        with (self._folder / "printed").open("a+") as printed:
            done = subprocess.run(
                words, env=environment, cwd=self._folder, stdout=printed, stderr=printed, timeout=200, check=False
            )
            printed.seek(0)
            self.printed = printed.read()
        self._steps[step["id"]] = _assignments(files["GITHUB_OUTPUT"])
        self.exported |= _assignments(files["GITHUB_ENV"])
        return done.returncode

    def _text(self, text: str) -> str:
        def value(found: re.Match[str]) -> str:
            context, name = found.groups()
            if context == "inputs":
                return str(self._inputs[name])
            if context == "github":
                assert name == "action_path"
                return str(ROOT)
            step, _, output = name.partition(".outputs.")
            assert context == "steps", found[0]
            return self._steps[step].get(output, "")

        replaced = EXPRESSION.sub(value, text)
        assert "${{" not in replaced, f"unknown expression: {replaced}"
        return replaced


def _assignments(file: Path) -> dict[str, str]:
    lines = [line.partition("=") for line in file.read_text().splitlines()]
    return {name: value for name, _, value in lines}


def plain_environment() -> dict[str, str]:
    """What programs need of this process's environment, without Python's and AWS's variables."""
    kept = ("PATH", "HOME", "LANG", "PIP_", "UV_", "SSL_", "HTTP", "NO_PROXY", "http", "https", "no_proxy")
    return {name: value for name, value in os.environ.items() if name.startswith(kept)}
