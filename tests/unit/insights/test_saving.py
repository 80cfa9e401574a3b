"""What has been counted is kept rule by rule before a copy, and others have their turn in between."""

import pytest

from hashrange.insights import feature
from hashrange.testing.database import Database


def test_others_have_a_turn_between_two_rules(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot behind reads of 100 watched tables held them for 0.2 s."""
    client = database.client()
    for name in ("apples", "pears", "plums"):
        client.create_table(
            TableName=name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.update_contributor_insights(TableName=name, ContributorInsightsAction="ENABLE")
        client.get_item(TableName=name, Key={"id": {"S": "a"}})
    looks: list[None] = []
    monkeypatch.setattr(feature, "look", lambda: looks.append(None))
    database.snapshot().release()
    assert len(looks) == 2
