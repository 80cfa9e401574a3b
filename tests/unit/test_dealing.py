"""Are tests distributed to processes correctly? Tests that need the machine share one process,
groups stay whole, the longest start first.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.dealing import BY_THEMSELVES, MACHINE, SECONDS, TOGETHER, group_of
from tests.support.times import folder_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/unit/test_clock.py::test_a[machine]", "tests/unit/test_clock.py"),
        ("tests/clients/test_go.py::test_a_league", MACHINE),
        ("tests/clients/test_mcp.py::test_a", "tests/clients/test_mcp.py"),
        ("tests/clients/dax/test_dax_clients.py::test_a", "DAX"),
        ("tests/docs/test_pages.py::test_a", "documents"),
        ("tests/unit/testing/test_mock_moto.py::test_a", "documents"),
        ("tests/unit/testing/test_mock.py::test_a", "tests/unit/testing/test_mock.py"),
        ("tests/performance/test_harness.py::test_a", MACHINE),
        ("tests/performance/test_report.py::test_a", "tests/performance/test_report.py"),
        ("tests/pipelines/test_action.py::test_a", "tests/pipelines"),
        ("tests/torture/test_share.py::test_a", "tests/torture/test_share.py"),
        ("tests/conformance/test_scan.py::test_a[embedded-1]", "conformance, embedded"),
        ("tests/conformance/test_scan.py::test_a[suspending]", "conformance, suspending"),
        ("tests/conformance/test_scan.py::test_a[1-suspending-x]", "conformance, suspending"),
        ("tests/conformance/test_scan.py::test_unsuspending", "conformance, embedded"),
    ],
)
def test_every_test_has_its_group(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


@pytest.mark.parametrize("group", SECONDS)
def test_only_groups_that_exist_have_a_place_in_the_order(group: str) -> None:
    nodeid = f"{group}::test_a"
    if group.startswith("conformance, "):
        nodeid = f"tests/conformance/test_scan.py::test_a[{group.removeprefix('conformance, ')}]"
    elif group in TOGETHER:
        nodeid = f"{TOGETHER[group][0]}test_a.py::test_a"
    assert group_of(nodeid) == group
    assert not group.startswith("tests/") or group in TOGETHER or (ROOT / group).is_file()


@pytest.mark.parametrize("beginning", [*(one for begin in TOGETHER.values() for one in begin), *sorted(BY_THEMSELVES)])
def test_what_is_dealt_together_is_there(beginning: str) -> None:
    assert (ROOT / beginning).exists()


@pytest.mark.parametrize(
    ("nodeid", "folder"),
    [("tests/unit/store/test_a.py::test_b", "tests/unit"), ("tests/test_a.py::test_b[/]", "tests")],
)
def test_times_are_told_by_folder(nodeid: str, folder: str) -> None:
    assert folder_of(nodeid) == folder


@pytest.mark.slow
@pytest.mark.parametrize("words", ["-n 2", "-n 0", ""])
def test_times_are_the_same_in_several_processes_and_in_one(words: str, tmp_path: Path) -> None:
    files = ["tests/unit/test_clock.py", "tests/unit/tables/test_capacity.py"]
    own_folder = f"--basetemp={tmp_path / 'inner'}"  # that of all runs is being tidied by others
    options = ["-p", "no:hypothesispytest", "-vv", "--times", own_folder, *words.split()]
    command = [sys.executable, "-m", "pytest", *options, *files]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (counted,) = re.findall(r"\| `tests/unit` \| (\d+) \|", done.stdout)
    assert re.search(rf"\b{counted} passed", done.stdout)
    processes = {file: set(re.findall(rf"^\[(gw\d)\].* {file}::", done.stdout, re.MULTILINE)) for file in files}
    if words == "-n 2":
        assert sorted(map(len, processes.values())) == [1, 1], "a file is dealt as a whole"
        assert len(set.union(*processes.values())) == 2
    else:
        assert not any(processes.values())
