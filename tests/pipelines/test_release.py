"""Is the release workflow valid, with as few rights as it needs, and does its script build what a release holds?"""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hashrange
from tests.pipelines.action_runs import plain_environment
from tests.pipelines.validators import ROOT, command, schema_verdict, workflow_verdict, yaml_documents

WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
TAG = f"v{hashrange.__version__}"
WHEEL = f"hashrange-{hashrange.__version__}-py3-none-any.whl"


def build(tag: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as the workflow does, in this environment."""
    scripts = str(Path(sys.executable).parent)
    environment = {**plain_environment(), "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    return subprocess.run(
        ["bash", str(ROOT / ".github" / "release" / "build.sh"), tag, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a release."""
    folder = tmp_path_factory.mktemp("release")
    done = build(TAG, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_release_holds_both_archives_and_their_checksums(release: Path) -> None:
    sums = {line.split("  ")[1]: line.split("  ")[0] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert set(sums) == {WHEEL, f"hashrange-{hashrange.__version__}.tar.gz"}
    assert sums == {name: hashlib.sha256((release / name).read_bytes()).hexdigest() for name in sums}


def test_archives_of_the_same_commit_are_equal(release: Path, tmp_path: Path) -> None:
    assert build(TAG, tmp_path).returncode == 0
    assert (tmp_path / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_a_tag_of_another_version_builds_nothing(tmp_path: Path) -> None:
    done = build("v99.0.0", tmp_path)
    assert done.returncode == 1
    assert f"has version {hashrange.__version__}" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_lies_in_the_folder_already_is_not_released(tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    done = build(TAG, tmp_path)
    assert done.returncode == 1
    assert "is not empty" in done.stderr


def test_the_workflow_is_valid(tmp_path: Path) -> None:
    assert workflow_verdict(WORKFLOW) == ""
    assert schema_verdict("github-workflows", WORKFLOW) == ""
    broken = tmp_path / "release.yml"
    text = WORKFLOW.read_text()
    broken.write_text(text.replace("steps.push.outputs.digest", "steps.pull.outputs.digest"))
    assert 'property "pull" is not defined' in workflow_verdict(broken)
    broken.write_text(text.replace('run: echo "name=ghcr.io/${GITHUB_REPOSITORY,,}"', "run: echo $UNQUOTED"))
    assert "SC2086" in workflow_verdict(broken)
    broken.write_text(text.replace("runs-on: ubuntu-24.04", "run-on: ubuntu-24.04"))
    assert "run-on" in schema_verdict("github-workflows", broken)


def test_rights_are_given_job_by_job_and_actions_have_full_versions() -> None:
    text = WORKFLOW.read_text()
    (workflow,) = yaml_documents(text.replace("\non:\n", '\n"on":\n'))
    assert workflow["permissions"] == {}
    jobs: dict[str, Any] = workflow["jobs"]
    assert {
        name: {right for right, how in job["permissions"].items() if how == "write"} for name, job in jobs.items()
    } == {
        "check": set(),
        "build": {"id-token", "attestations"},
        "image": {"packages", "id-token", "attestations"},
        "pypi": {"id-token"},
        "github": {"contents"},
    }
    used = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@v\d+\.\d+\.\d+", one)] == []


def test_nothing_is_published_before_the_checks_have_passed() -> None:
    (workflow,) = yaml_documents(WORKFLOW.read_text())
    needs = {name: job.get("needs", []) for name, job in workflow["jobs"].items()}
    assert needs["image"] == needs["pypi"] == ["check", "build"]
    assert needs["github"] == ["image", "pypi"]


@pytest.mark.parametrize(
    "words",
    [["uv", "tool", "run", "--from"], ["pipx", "run", "--spec"]],
    ids=["uvx", "pipx"],
)
def test_the_wheel_runs_at_once(words: list[str], release: Path, tmp_path: Path) -> None:
    """`uvx hashrange` is `uv tool run hashrange`. The caches are empty, so nothing of an earlier run helps."""
    program, *more = words
    environment = {
        **plain_environment(),
        "HOME": str(tmp_path),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_PYTHON": sys.executable,
        "UV_TOOL_DIR": str(tmp_path / "tools"),
    }
    done = subprocess.run(
        [command(program), *more, str(release / WHEEL), "hashrange", "version"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"hashrange {hashrange.__version__}" in done.stdout.lower()
