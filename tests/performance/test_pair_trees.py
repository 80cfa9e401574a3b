"""Where do two commits run, and is everything removed afterwards? Worktrees, controlled servers,
a whole comparison; no figure is judged.
"""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks import pair, pair_trees
from benchmarks.generator import LoadFailed
from benchmarks.loader import create_table
from benchmarks.pair import Comparison, compare, measure_pairs
from benchmarks.pair_side import HOST, Side, started
from benchmarks.pair_trees import NotComparable, checked_out, packages
from benchmarks.pair_verdict import Limits
from benchmarks.prepare import write_requests
from benchmarks.signing import Signer
from benchmarks.workloads import read_plan

PLAN = read_plan()
ROOT = Path(__file__).resolve().parents[2]
NO_LIMITS = Limits(float("inf"), float("inf"))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository that replaces this one."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    monkeypatch.setattr(pair_trees, "ROOT", folder)
    monkeypatch.setattr(pair_trees, "home", lambda: tmp_path)
    return folder


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str], subject: str = "some change") -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", subject)
    return git(folder, "rev-parse", "HEAD")


def left_behind(root: Path) -> tuple[int, int]:
    """Worktrees other than the repository's own, and folders of runs."""
    worktrees = git(root, "worktree", "list").splitlines()
    return len(worktrees) - 1, len(list((root.parent / "run").iterdir()))


REQUIREMENTS = "# made by uv\nmsgspec==0.19.0 \\\n    --hash=sha256:12\n"


def test_each_commit_has_its_own_sources_and_none_stay(root: Path) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS, "src/x.py": "1"}, "first")
    commit(root, {"src/x.py": "2"}, "second")
    with checked_out("HEAD~1", "HEAD") as trees:
        assert [(tree.sources / "x.py").read_text() for tree in trees] == ["1", "2"]
        assert [tree.title.partition(" ")[2] for tree in trees] == ["first", "second"]
        assert left_behind(root) == (2, 1)
    assert left_behind(root) == (0, 0)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, LoadFailed])
def test_nothing_stays_however_it_ends(root: Path, error: type[BaseException]) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS, "src/x.py": "1"})
    with pytest.raises(error), checked_out("HEAD", "HEAD"):
        raise error
    assert left_behind(root) == (0, 0)


def test_without_a_second_commit_it_is_the_working_tree(root: Path) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS, "src/x.py": "1"})
    (root / "src" / "x.py").write_text("changed")
    (root / "src" / "new.py").write_text("new")
    with checked_out("HEAD", None) as (before, after):
        assert (before.sources / "x.py").read_text() == "1"
        assert (after.sources / "x.py").read_text() == "changed"
        (root / "src" / "new.py").write_text("edited meanwhile")
        assert (after.sources / "new.py").read_text() == "new"
        assert after.title == "the working tree"
    assert left_behind(root) == (0, 0)


def test_other_packages_are_refused_and_other_hashes_are_not(root: Path) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS, "src/x.py": "1"})
    commit(root, {"requirements.txt": REQUIREMENTS.replace("12", "34").replace("by uv", "again")})
    with checked_out("HEAD~1", "HEAD"):
        pass
    commit(root, {"requirements.txt": REQUIREMENTS.replace("0.19.0", "0.20.0")})
    with pytest.raises(NotComparable, match=r"\(msgspec 0\.19\.0 and 0\.20\.0\)"), checked_out("HEAD~1", None):
        pass
    commit(root, {"requirements.txt": REQUIREMENTS + "greenlet==3.5\n"})
    with checked_out("HEAD~2", "HEAD"):  # the earlier commit does not use it
        pass


def test_packages_are_told_from_their_hashes() -> None:
    assert packages(REQUIREMENTS + "x-y==1.0 ; python_version < '4'\n") == {"msgspec": "0.19.0", "x-y": "1.0"}
    assert {"msgspec", "rocksdict"} <= set(packages((ROOT / "requirements.txt").read_text()))


def test_a_name_that_is_no_commit_is_refused(root: Path) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS})
    for name in ("nobody", "--all", "HEAD~7"):
        with pytest.raises(NotComparable, match="there is no commit"), checked_out(name, "HEAD"):
            pass


# --- servers ---------------------------------------------------------------------------------------------------------


def fill_side(side: Side, folder: Path, operation: str = "GetItem") -> None:
    """Give a side the plan's table without items, and 40 requests."""
    create_table(side, PLAN)
    body = b'{"TableName": "bench", "Key": {"pk": {"S": "nobody"}, "sk": {"S": "nothing"}}}'
    write_requests(folder / "some", [Signer(HOST).request(operation, body)] * 40)
    side.load("some", folder / "some")
    side.connect()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_side_answers_and_says_what_it_took(tmp_path: Path, kind: str) -> None:
    with started("this", ROOT / "src", tmp_path / "side", kind, 1, "") as side:
        fill_side(side, tmp_path)
        before_ns = side.used_ns()
        assert 0 < side.run("some", 30, 35) <= side.used_ns() - before_ns
        side.connect()
        assert side.run("some", 0, 1) > 0
        assert side.call("ListTables", {}) == {"TableNames": ["bench"]}
    assert side.process.poll() is not None


@pytest.mark.slow
def test_a_refused_request_and_an_ended_server_are_reported(tmp_path: Path) -> None:
    with started("this", ROOT / "src", tmp_path / "side", "memory", 1, "") as side:
        fill_side(side, tmp_path, "PutItem")
        with pytest.raises(LoadFailed, match=r"this refuses a request of some: HTTP/1\.1 400"):
            side.run("some", 0, 20)
        side.process.kill()
        with pytest.raises(LoadFailed, match="the server of this ended"):
            side.used_ns()


@pytest.mark.slow
def test_the_whole_comparison_and_a_commit_that_is_too_old(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(root, {"requirements.txt": REQUIREMENTS, "src/x.py": "1"}, "too old")
    shutil.copytree(ROOT / "src", root / "src", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    commit(root, {}, "with a server")
    paired: dict[str, Any] = {"turns": 2, "turns_min": 2, "turn_us": 1, "warm_up_us": 1}
    plan = msgspec.structs.replace(
        PLAN, table_items=200, requests_prepared=40, paired=msgspec.structs.replace(PLAN.paired, **paired)
    )
    names = ("get", "delete-2-indexes")
    workloads = {"memory": [plan.named(name) for name in names], "disk": [plan.named("update-2-indexes")]}
    comparison = Comparison(plan, workloads, 2, 8.0, 1, NO_LIMITS, "")
    measured: list[Any] = []

    def measure_once(trees: Any, comparison: Comparison) -> Any:
        measured.extend([] if measured else [measure_pairs(trees, comparison)])
        return measured[0]

    with monkeypatch.context() as patch:
        patch.setattr(pair, "measure_pairs", measure_once)
        assert compare("HEAD", None, comparison) == 0
        assert compare("HEAD", None, comparison._replace(limits=Limits(0.0, 0.0))) == 1
    output = capsys.readouterr().out
    for text in (
        "with a server",
        "the working tree",
        "GetItem; memory",
        "2 GSIs, their keys stay; disk",
        "2 pairs, of 2 to 2 turns",
        "of 3 ratios",
    ):
        assert text in output
    assert compare("HEAD~1", "HEAD", comparison) == 2
    assert "is too old for this" in capsys.readouterr().err
    assert left_behind(root) == (0, 0)
