"""A smoke with the AWS SDK for Go v2: a waiter, batches, pages of an index, transactions and refusals."""

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
