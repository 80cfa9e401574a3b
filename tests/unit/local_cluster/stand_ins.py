"""Programs that stand for Java and Maven in tests of a cluster on this machine."""

import hashlib
import sys
from pathlib import Path

import pytest

from hashrange.local_cluster import jars

NODE = Path(__file__).parent / "fake_node.py"
JARS = {"cassandra-all-5.0.9.jar": b"the database", "jamm-0.4.0.jar": b"the agent"}

JAVA = f"""#!/bin/sh
if [ "$1" = -version ]; then echo 'openjdk version "VERSION" 2025-04-15' >&2; exit; fi
exec {sys.executable} -S {NODE} "$@"
"""
MAVEN = """#!/bin/sh
for word; do case "$word" in -DoutputDirectory=*) out="${word#*=}";; esac; done
echo "$*" >>"SHELF/calls"
if [ -e "SHELF/fails" ]; then echo '[ERROR] the network is down'; exit 1; fi
cp SHELF/*.jar "$out"
"""


def program(path: Path, text: str) -> Path:
    """Write a script that can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def put_java(home: Path, version: str = "17.0.15") -> None:
    """Let a folder be the home of a Java whose nodes are fake_node.py."""
    program(home / "bin" / "java", JAVA.replace("VERSION", version))


def put_maven(folder: Path) -> Path:
    """Put a Maven into a folder of programs; returns the folder of the jars that it fetches."""
    shelf = folder / "shelf"
    shelf.mkdir()
    program(folder / "mvn", MAVEN.replace("SHELF", str(shelf)))
    for name, content in JARS.items():
        (shelf / name).write_bytes(content)
    return shelf


def list_jars(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the digests of JARS stand for those of Cassandra's jars."""
    lines = [f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in JARS.items()]
    path.write_text("".join(lines), encoding="ascii")
    monkeypatch.setattr(jars, "DIGESTS_FILE", str(path))
