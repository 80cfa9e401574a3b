"""Go: a smoke test with the AWS SDK v2 (a waiter, batches, pages of an index, transactions and refusals),
and a diary with guregu/dynamo.
"""

from typing import Any

import pytest

from tests.clients.programs import go, heard
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

EMPTY_KEY = (
    "One or more parameter values are not valid. "
    "The AttributeValue for a key attribute cannot contain an empty string value."
)

pytestmark = pytest.mark.packaging


def test_a_league(server: ServerProcess) -> None:
    folder = HERE / "go"
    assert heard([go(folder), server.endpoint], folder) == {
        "open": {"status": "ACTIVE", "index": "ACTIVE"},
        "loaded": 40,
        "won": [[37, 35, 31, 29, 25], [23]],
        "awarded": {"awarded": [2, 4]},
        "cancelled": {"reasons": ["None", "ConditionalCheckFailed"], "held": ["Wanderers"]},
        "game": {
            "League": "north",
            "Number": 4,
            "Winner": "Wanderers",
            "Goals": {"home": 1},
            "Tags": None,
            "Played": "2027-01-15T08:00:00Z",
            "Notes": None,
        },
        "mistakes": [
            "ResourceNotFoundException: Requested resource not found: Table: gomes not found",
            f"ValidationException: {EMPTY_KEY} Key: league",
        ],
    }


def test_a_diary_by_key_conditions_and_filters(server: ServerProcess) -> None:
    def projected(day: int, words: int) -> dict[str, Any]:
        """An entry of a query that projects only these members: the others are Go's zero values."""
        return {"Author": "", "Day": day, "Mood": "", "Words": words, "Tags": None}

    folder = HERE / "guregu"
    assert heard([go(folder), server.endpoint], folder) == {
        "loaded": 20,
        "read": {
            "one": {"Author": "ann", "Day": 3, "Mood": "merry", "Words": 3, "Tags": ["sun"]},
            "filtered": [4, 5, 7, 8],
            "ranged": [6, 3],
            "projected": [projected(0, 0), projected(1, 1)],
            "both": [projected(9, 0)],
            "count": 6,
            "index": [0, 3, 6],
            "pages": [[2, 3], [4, 5, 6, 7], [8, 9]],
        },
        "changed": {"words": 8, "refused": True, "missing": True},
    }
