"""A small lending library with ElectroDB: collections, overloaded indexes, cursors, batches and transactions."""

import pytest

from tests.clients.programs import heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging

REFUSED = "ConditionalCheckFailed"


def test_a_library(server: ServerProcess) -> None:
    folder = HERE / "electrodb"
    assert heard([node(folder), "--no-warnings", "library.mjs", server.endpoint], folder) == {
        "open": ["gsi1"],
        "unprocessed": 0,
        "works": [[1978, 1976, 1974, 1972], [1970, 1968, 1966, 1964], [1962, 1960]],
        "filtered": ["b21", "b23", "b25", "b27", "b29"],
        "lent": ["lent", [REFUSED, "None", "None"], ["None", REFUSED, "None"]],
        "again": "lent",
        "shelf": {"book": [2], "copy": ["c1 ada", "c2 ada"]},
        "account": {"copy": ["2026-05-01", "2026-06-01"], "member": [2]},
        "review": {"title": "Renamed", "genres": ["novel"], "reviews": [{"by": "ada", "stars": 4}]},
        "got": ["Book 3", None, "Book 4"],
        "read": ["Book 5", 2],
        "refusals": [
            f"4001 {REFUSED}Exception",
            f"4001 {REFUSED}Exception",
            "4001 ResourceNotFoundException",
        ],
        "removed": 0,
        "left": 0,
    }
