"""`hashrange cluster` makes a cluster, shows it, and refuses what makes no sense."""

import os
from pathlib import Path

import pytest

from hashrange.cli.cluster import DEFAULTS
from hashrange.cli.main import DONE, FAILED, WRONG_USE, main
from hashrange.local_cluster.cluster import HEAP_MB, REPLICAS, LocalCluster

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def folder(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The folder of a cluster that is not made yet."""
    monkeypatch.chdir(tmp_path)
    return os.path.relpath(cluster.folder)


def test_a_cluster_is_made_shown_and_ended(folder: str, capsys: Printed) -> None:
    assert main(["cluster", "up", "--nodes", "3", "--servers", "1", "--dir", folder]) == DONE
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown[:4]] == ["1", "2", "3", "s1"]
    assert all(line.endswith("  ready") for line in shown[:4])
    assert shown[3].split()[1].startswith("http://127.0.0.1:")
    store = LocalCluster(folder).store_address
    assert shown[4:] == ["", f"The nodes are the store {store}"]

    assert main(["cluster", "status", "--dir", folder]) == DONE
    assert capsys.readouterr().out.splitlines() == shown

    assert main(["cluster", "kill", "2", "s1", "--dir", folder]) == DONE
    assert main(["cluster", "pause", "--dir", folder, "3"]) == DONE
    capsys.readouterr()
    assert main(["cluster", "status", "--dir", folder]) == FAILED
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[:4]] == [
        "ready",
        "ended",
        "paused",
        "ended",
    ]

    assert main(["cluster", "resume", "3", "--dir", folder]) == DONE
    assert main(["cluster", "start", "2", "--dir", folder]) == DONE
    assert main(["cluster", "up", "--nodes", "3", "--dir", folder]) == DONE
    capsys.readouterr()
    assert main(["cluster", "status", "--dir", folder]) == DONE
    assert main(["cluster", "down", "--delete", "--dir", folder]) == DONE
    assert not os.path.exists(folder)


def test_another_wish_for_a_cluster_that_is_there_is_refused(folder: str, capsys: Printed) -> None:
    LocalCluster(folder).make(nodes=1)
    for flag, value, there in (("--nodes", "3", "1"), ("--servers", "2", "0"), ("--heap", "512", "384")):
        assert main(["cluster", "up", flag, value, "--dir", folder]) == WRONG_USE
        assert f"was made with {flag} {there}. Leave the option out" in capsys.readouterr().err
    assert main(["cluster", "up", "--commitlog-sync", "periodic", "--dir", folder]) == WRONG_USE
    assert "was made with --commitlog-sync batch." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["up", "--nodes", "0"], "--nodes is a whole number from 1 to 9; 0 is not."),
        (["up", "--heap", "255"], "--heap is a whole number from 256 to 65536; 255 is not."),
        ([], "`hashrange cluster` needs up|status|down|kill|pause|resume|start;"),
        (["begin"], "does not know begin; say one of up, status, down, kill, pause, resume, start."),
        (["kill"], "`hashrange cluster kill` needs the names of nodes (1 2 3) or servers (s1 s2)."),
        (["up", "1"], "`hashrange cluster up` takes no names: it is for all members."),
        (["down", "1"], "`hashrange cluster down` takes no names: it is for all members."),
        (["status", "--nodes", "3"], "--nodes belongs to `hashrange cluster up`."),
        (["kill", "1", "--delete"], "--delete belongs to `hashrange cluster down`."),
        (["up", "--nodes", "2"], "--nodes is 1, or 3 to 9: of two nodes, none may fail."),
        (["up", "--nodes", "10"], "--nodes is a whole number from 1 to 9; 10 is not."),
        (["up", "--servers", "-1"], "--servers is a whole number from 0 to 99; -1 is not."),
        (["up", "--heap", "1e3"], "--heap is a whole number from 256 to 65536; 1e3 is not."),
        (["up", "--commitlog-sync", "never"], "--commitlog-sync is one of batch, periodic."),
    ],
)
def test_wrong_use_is_told(words: list[str], sentence: str, folder: str, capsys: Printed) -> None:
    assert main(["cluster", *words]) == WRONG_USE
    assert sentence in capsys.readouterr().err
    assert not os.path.exists("hashrange-cluster")


def test_without_a_cluster_it_is_told_how_one_is_made(folder: str, capsys: Printed) -> None:
    assert main(["cluster", "status"]) == FAILED
    told = f"there is no cluster in {os.path.abspath('hashrange-cluster')}. `hashrange cluster up` makes one."
    assert capsys.readouterr().err == f"hashrange: {told}\n"


def test_the_command_and_the_mechanism_have_the_same_defaults() -> None:
    assert (DEFAULTS["heap_mb"], DEFAULTS["nodes"]) == (HEAP_MB, REPLICAS)
