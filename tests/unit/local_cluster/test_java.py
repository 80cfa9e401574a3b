"""Java 17 is found, or its lack is told in a sentence."""

import os
from pathlib import Path

import pytest

from hashrange.local_cluster.failures import ClusterFailure
from hashrange.local_cluster.java import find_java, java_arguments
from tests.unit.local_cluster.stand_ins import program, put_java


def test_the_home_of_java_comes_before_the_path(tmp_path: Path) -> None:
    put_java(tmp_path / "home")
    put_java(tmp_path / "other")
    path = f"{tmp_path / 'other' / 'bin'}:/usr/bin:/bin"
    assert find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": path}) == str(tmp_path / "home" / "bin" / "java")
    assert find_java({"PATH": path}) == str(tmp_path / "other" / "bin" / "java")


@pytest.mark.parametrize("version", ["21.0.2", "11.0.2", "1.8.0_392"])
def test_another_version_is_told(version: str, tmp_path: Path) -> None:
    put_java(tmp_path, version)
    number = version.partition(".")[0]
    with pytest.raises(ClusterFailure, match=rf"runs on Java 17, and .*/java is Java {number}\. Install Java 17"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_a_program_that_is_no_java_is_told(tmp_path: Path) -> None:
    program(tmp_path / "bin" / "java", "#!/bin/sh\necho 'Unable to locate a Java Runtime' >&2; exit 1\n")
    with pytest.raises(ClusterFailure, match=r"no Java that tells its version"):
        find_java({"JAVA_HOME": str(tmp_path)})


@pytest.mark.parametrize("variables", [{"PATH": "/nowhere"}, {"JAVA_HOME": "/nowhere", "PATH": os.environ["PATH"]}])
def test_no_java_is_told(variables: dict[str, str]) -> None:
    with pytest.raises(ClusterFailure, match=r"Cassandra runs on Java, and .*java was not found. Install Java 17"):
        find_java(variables)


def test_a_folder_may_have_any_name() -> None:
    found = java_arguments("/my clusters/100%/node1", ["/jars/a.jar", "/jars/jamm-0.4.0.jar"], 384)
    assert "-Dcassandra.config=file:///my%20clusters/100%25/node1/cassandra.yaml" in found
    assert "-Dcassandra.storagedir=/my clusters/100%/node1" in found
    assert "-javaagent:/jars/jamm-0.4.0.jar" in found
    assert found[found.index("-cp") + 1] == "/jars/a.jar:/jars/jamm-0.4.0.jar"
    assert "-Xmx384m" in found
