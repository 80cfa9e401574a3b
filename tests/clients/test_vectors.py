"""Vector indexes and searches with the SDKs for JavaScript, Java and Go: all hear the same.

Each is given an endpoint, so that it sends searches there, too. boto3: tests/conformance/test_search_vectors.py.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.clients.programs import go, heard, java, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging

EXPECTED: dict[str, Any] = {
    "found": [["near", ["id", "shelf"], 0], ["far", ["id", "shelf"], 5]],
    "bytes": 1024,
    "refused": [
        "ValidationException",
        "Input search vector dimension 1 does not match vector index dimension 2",
    ],
}


def test_javascript(server: ServerProcess) -> None:
    folder = HERE / "javascript"
    assert heard([node(folder), "--no-warnings", "vectors.mjs", server.endpoint], folder) == EXPECTED


def test_java(server: ServerProcess) -> None:
    folder = HERE / "java"
    classes = os.pathsep.join(("target/classes", str(Path("target/lib/*"))))
    command = [java(folder), "-XX:TieredStopAtLevel=1", "-cp", classes, "shop.Vectors", server.endpoint]
    assert heard(command, folder) == EXPECTED


def test_go(server: ServerProcess) -> None:
    folder = HERE / "go"
    assert heard([go(folder), server.endpoint, "vectors"], folder) == EXPECTED
