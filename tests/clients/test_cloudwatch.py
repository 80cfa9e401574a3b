"""CloudWatch and Application Auto Scaling with boto3: the present one, which asks in JSON, and the last one that
asks in the Query form, hear the same.

CBOR is what JavaScript, Java and Go ask in: `test_capacity.py`.
"""

import sys
from typing import Any

import pytest

from tests.clients.programs import heard, python
from tests.clients.serving import ServerProcess
from tests.clients.stories import HERE

pytestmark = pytest.mark.packaging

FOLDER = HERE / "older_boto3"
SHOP = [{"Name": "Shop", "Value": "Ulm & <Neu-Ulm>"}]
EXPECTED: dict[str, Any] = {
    "put": {
        "label": "Orders",
        "point": [19.0, 6.0, 1.0, 5.0, "Count"],
        "is_time": True,
        "data": [["twice", "Twice & more", [38.0], "Complete"]],
    },
    "listed": {
        "pages": [500, 100],
        "names": 600,
        "shops": [{"Namespace": "shop", "MetricName": "Orders", "Dimensions": SHOP}],
    },
    "alarms": {
        "has_waited": True,
        "described": [["many-orders", "<more> than \"usual\" & 'ever'", "ALARM", 16.5, SHOP]],
        "composite": [["any", "ALARM", False]],
        "of_metric": ["many-orders"],
        "states": ["Alarm updated from ALARM to OK", "Alarm updated from INSUFFICIENT_DATA to ALARM"],
        "set": ["OK", "for now", False],
        "is_time": True,
        "tags": [{"Key": "team", "Value": "shop"}],
        "left": [],
    },
    "errors": {
        "namespace": ["InvalidParameterValue", "Sender", 400, True, True],
        "no alarm": ["ResourceNotFound", "Sender", 404, True, True],
        "period": ["InvalidParameterValue", "Sender", 400, True, True],
        "statistics": ["InvalidParameterCombination", "Sender", 400, True, True],
        "token": ["InvalidNextToken", "Sender", 400, True, True],
        "token of rules": ["InvalidNextToken", "Sender", 400, True, True],
    },
    "scaled": {"units": 5, "alarms": [4, True], "refused": ["ObjectNotFoundException", None, 400]},
}


def test_in_json(server: ServerProcess) -> None:
    assert heard([sys.executable, "metrics.py", server.endpoint], FOLDER) == {"form": "json", **EXPECTED}


def test_in_the_query_form(server: ServerProcess) -> None:
    assert heard([python(FOLDER), "metrics.py", server.endpoint], FOLDER) == {"form": "query", **EXPECTED}
