"""A shop through each client of DAX, unmodified, and directly: what both hear is equal,
byte for byte where the client shows it so.
"""

import json
from decimal import Decimal
from typing import Any
from urllib.request import urlopen

import pytest

from tests.clients.dax.conftest import JAVA_OPTIONS
from tests.clients.programs import go, heard, java, node, python
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

FOLDER = HERE / "dax"

pytestmark = pytest.mark.packaging


def both(command: list[str], folder: Any, cluster: ServerProcess, *more: str) -> tuple[list[Any], list[Any]]:
    """What a program hears through DAX, and directly."""
    told = heard([*command, cluster.endpoint, str(cluster.dax_endpoint), *more], folder)
    return told["through"], told["directly"]


@pytest.mark.parametrize("way", ["endpoints", "endpoint_url", "plain_url", "resource"])
def test_python(cluster: ServerProcess, way: str) -> None:
    folder = FOLDER / "python"
    through, directly = both([python(folder), "shop.py"], folder, cluster, way)
    assert through == directly
    assert len(through) == (6 if way == "resource" else 35)


@pytest.mark.parametrize("program", ["v2.mjs", "v3.mjs"])
def test_javascript(cluster: ServerProcess, program: str) -> None:
    folder = FOLDER / "javascript"
    through, directly = both([node(folder), "--no-warnings", program], folder, cluster)
    assert through == directly
    assert len(through) == 35


def test_go(cluster: ServerProcess) -> None:
    """The client in Go shows a number as its digits and their exponent, and an empty page as one of no items."""
    folder = FOLDER / "go"
    through, directly = both([go(folder)], folder, cluster)
    assert plain(through) == plain(directly)
    assert len(through) == 33


@pytest.mark.parametrize("way", ["blocking", "async"])
def test_java(cluster: ServerProcess, way: str) -> None:
    folder = FOLDER / "java"
    command = [java(folder), *JAVA_OPTIONS, "dax.Shop"]
    through, directly = both(command, folder, cluster, way)
    assert [without_codes(one) for one in through] == directly
    assert len(through) == 33


def without_codes(heard_one: Any) -> Any:
    """An error without DAX's codes, which the client for Java shows before its message: `[4.37.38.39.46] …`."""
    if isinstance(heard_one, list) and len(heard_one) == 2 and str(heard_one[1]).startswith("[4."):
        return [heard_one[0], heard_one[1].partition("] ")[2]]
    return heard_one


def plain(value: Any) -> Any:
    """A value without the ways of the client in Go."""
    if isinstance(value, dict):
        return {
            name: plain(inner or None if name in {"Items", "UnprocessedKeys"} else inner)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str):
        if value.startswith("api error "):
            return value.partition(": ")[2]
        if value.replace("E-", "").lstrip("-").isdigit() and "E-" in value:
            return format(Decimal(value), "f")
    return value


def test_reads_through_dax_are_hits(cluster: ServerProcess) -> None:
    """The programs read most items after they were written through the node."""
    folder = FOLDER / "python"
    both([python(folder), "shop.py"], folder, cluster, "endpoints")
    with urlopen(f"{cluster.endpoint}/_hashrange/v1/dax") as reply:
        (state,) = json.load(reply)["nodes"]
    assert state["counts"]["ItemCacheHits"] > state["counts"]["ItemCacheMisses"]
