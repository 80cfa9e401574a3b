"""Jars are fetched once, compared each time, and never used if they are others."""

import os
import re
from pathlib import Path

import pytest

from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.jars import CASSANDRA_VERSION, jar_folder, listed_digests, require_jars
from tests.unit.local_cluster.stand_ins import JARS

FOLDER = f"hashrange/cassandra-{CASSANDRA_VERSION}"


def calls_of_maven(machine: Path) -> int:
    path = machine / "shelf" / "calls"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_jars_are_fetched_once(machine: Path) -> None:
    told: list[str] = []
    found = require_jars(os.environ, told.append)
    assert {os.path.basename(path): Path(path).read_bytes() for path in found} == JARS
    assert {os.path.dirname(path) for path in found} == {str(machine / "cache" / FOLDER)}
    assert require_jars(os.environ, told.append) == found
    assert calls_of_maven(machine) == 1
    assert len(told) == 1


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_jar_is_named_and_fetched_again(damage: str, machine: Path) -> None:
    first, second = (Path(path) for path in require_jars(os.environ, print))
    kept = second.stat().st_ino
    if damage == "changed":
        first.write_bytes(b"half of it")
    else:
        first.unlink()
    told: list[str] = []
    require_jars(os.environ, told.append)
    assert first.read_bytes() == JARS[first.name]
    assert second.stat().st_ino == kept
    assert any(str(first) in line for line in told) == (damage == "changed")
    assert calls_of_maven(machine) == 2


def test_a_wrong_jar_of_maven_is_refused(machine: Path) -> None:
    (machine / "shelf" / "jamm-0.4.0.jar").write_bytes(b"an attack")
    with pytest.raises(ClusterFailure, match=r"^jamm-0\.4\.0\.jar, as Maven has it, is not the file"):
        require_jars(os.environ, print)
    assert os.listdir(machine / "cache" / FOLDER) == []
    assert os.listdir(machine / "cache" / "hashrange") == [os.path.basename(FOLDER)]


def test_a_failure_of_maven_is_told(machine: Path) -> None:
    (machine / "shelf" / "fails").touch()
    with pytest.raises(ClusterFailure, match=r"mvn could not fetch Cassandra's jars: \[ERROR\] the network is down"):
        require_jars(os.environ, print)


def test_a_cache_that_cannot_be_written_is_told(machine: Path) -> None:
    (machine / "cache").write_text("a file")
    with pytest.raises(ClusterFailure, match=r"cannot be written: .* Name another cache folder in XDG_CACHE_HOME"):
        require_jars(os.environ, print)


def test_without_maven_it_is_told_how_to_get_the_jars(machine: Path) -> None:
    (machine / "mvn").unlink()
    with pytest.raises(ClusterFailure, match="mvn was not found") as failure:
        require_jars(os.environ | {"PATH": str(machine)}, print)
    assert jar_folder(os.environ) in str(failure.value)


def test_the_cache_is_the_users() -> None:
    assert jar_folder({"XDG_CACHE_HOME": "/cache"}) == f"/cache/{FOLDER}"
    assert jar_folder({}) == f"{os.path.expanduser('~')}/.cache/{FOLDER}"


def test_the_list_has_each_jar_once_by_its_digest() -> None:
    found = listed_digests()
    assert f"cassandra-all-{CASSANDRA_VERSION}.jar" in found
    assert sum(name.startswith("jamm-") for name in found) == 1
    assert list(found) == sorted(found)
    assert all(name.endswith(".jar") and re.fullmatch("[0-9a-f]{64}", digest) for name, digest in found.items())
