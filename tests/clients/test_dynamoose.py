"""A small helpdesk with Dynamoose: it makes its tables, grows an index, pages, writes batches and transactions."""

import pytest

from tests.clients.programs import heard, node
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging

REFUSED = "ConditionalCheckFailedException: The conditional request failed"
EMPTY_KEY = (
    "One or more parameter values are not valid. A value specified for a secondary index key is not supported. "
    "The AttributeValue for a key attribute cannot contain an empty string value."
)


def test_a_helpdesk(server: ServerProcess) -> None:
    folder = HERE / "dynamoose"
    assert heard([node(folder), "--no-warnings", "tickets.mjs", server.endpoint], folder) == {
        "open": {"status": "ACTIVE", "global": ["by-state"], "local": ["by-date"]},
        "unprocessed": 0,
        "one": {
            "title": "Ticket 7",
            "opened": "2026-01-24T00:00:00.000Z",
            "labels": ["bug", "p1"],
            "file": [0, 255],
            "stamped": True,
        },
        "pages": [[24, 23, 22, 21, 19, 18, 17], [16, 14, 13, 12, 11, 9, 8], [7, 6, 4, 3]],
        "filtered": [1, 10, 13, 16, 19],
        "recent": [2, 1, 0],
        "counted": 5,
        "closed": ["closed", ["ConditionalCheckFailed", "None"]],
        "team": [-1, "closed"],
        "updated": {"title": "Renamed", "history": [{"by": "ada", "text": "Seen."}], "file": None},
        "several": [3, 4],
        "grown": [2],
        "refusals": [REFUSED, f"ValidationException: {EMPTY_KEY} IndexName: by-title, IndexKey: title", REFUSED],
        "deleted": 0,
        "left": 0,
    }
