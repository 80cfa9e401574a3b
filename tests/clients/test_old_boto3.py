"""CloudWatch with boto3 of 2024, before the CBOR form: it sends forms and reads XML."""

import pytest

from tests.clients.programs import heard, python
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging


def test_metrics_and_alarms_in_the_query_form(server: ServerProcess) -> None:
    folder = HERE / "old_boto3"
    told = heard([python(folder), "metrics.py", server.endpoint], folder)
    mistakes = told.pop("mistakes")
    assert told == {
        "botocore": "1.34.162",
        "form": "query",
        "metrics": ["Seen", "Sold"],
        "sold": [[float(minute), float(minute), "Count"] for minute in range(5)],
        "first": True,
        "data": [
            ["Sold", [0.0, 1.0, 2.0, 3.0, 4.0], "Complete"],
            ["twice", [0.0, 2.0, 4.0, 6.0, 8.0], "Complete"],
        ],
        "alarm": ["busy", 1000.0, [{"Name": "Shop", "Value": "lamps & <pens>"}], True],
        "tags": [{"Key": "of", "Value": "shop"}],
        "history": ["Alarm updated from INSUFFICIENT_DATA to ALARM"],
        "consumed": 1.0,
    }
    assert [code for code, _ in mistakes] == ["ResourceNotFound", "InvalidParameterValue", "ValidationError"]
