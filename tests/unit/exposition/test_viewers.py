"""With a credentials file, whose metrics does `GET /metrics` show?
Those of the key's account, or of all accounts if a setting names the key.
"""

import asyncio
import base64
import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from hashrange.clock import SystemClock
from hashrange.cloudwatch.feature import METRICS
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.statistic import of_value
from hashrange.server.exposition.server_state import Viewer, look_at_server
from hashrange.server.listener import Server, read_secrets
from hashrange.service.opening import open_service
from hashrange.settings import Settings, SettingUnusable
from hashrange.testing import server
from tests.unit.testing.music import create

ONE, TWO = "111111111111", "222222222222"
KEYS = [
    {"access_key": "AKIDONE", "secret_key": "secret", "account": ONE},
    {"access_key": "AKIDWEST", "secret_key": "secret", "account": ONE, "regions": ["eu-west-1"]},
    {"access_key": "AKIDTWO", "secret_key": "secret", "account": TWO},
]
PLACES = [(ONE, "us-east-1"), (ONE, "eu-west-1"), (TWO, "us-east-1")]
EVERY = set(PLACES)
_place = re.compile(r'account="(\d+)"[^}]*region="([^"]+)"').search


async def _shown(settings: Settings, key: str | None) -> set[tuple[str, str]]:
    """Accounts and Regions that /metrics shows who gives this key."""
    service = await open_service(settings, SystemClock())
    try:
        listening = Server(service, read_secrets(settings))
        for place in PLACES:
            metric = MetricId(*place, "AWS/DynamoDB", "UserErrors", ())
            service.features.part(METRICS).record(metric, "Count", service.clock.service_time(), of_value(1.0))
        endpoint = await listening.start()
        try:
            return await asyncio.to_thread(_read, endpoint, key)
        finally:
            await listening.stop()
    finally:
        await service.store.close()


def _read(endpoint: str, key: str | None) -> set[tuple[str, str]]:
    headers = {}
    if key is not None:
        headers["Authorization"] = "Basic " + base64.b64encode(f"{key}:secret".encode()).decode()
    with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/metrics", headers=headers)) as reply:
        text = reply.read().decode()
    assert "hashrange_build_info" in text
    return {(found[1], found[2]) for line in text.splitlines() if (found := _place(line))}


@pytest.fixture
def credentials(tmp_path: Path) -> str:
    """A credentials file."""
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"credential": KEYS}))
    return str(file)


@pytest.mark.parametrize(
    ("more", "key", "shown"),
    [
        ({}, "AKIDONE", set(PLACES[:2])),
        ({}, "AKIDWEST", {PLACES[1]}),
        ({}, "AKIDTWO", {PLACES[2]}),
        ({"metrics_from": "AKIDTWO"}, "AKIDTWO", EVERY),
        ({"metrics_from": "AKIDTWO"}, "AKIDONE", set(PLACES[:2])),
        ({"metrics_from": "AKIDWEST, AKIDONE"}, "AKIDONE", EVERY),
        ({"metrics_from": "everyone"}, "AKIDWEST", EVERY),
        ({"shared_db": True}, "AKIDWEST", EVERY),
    ],
)
def test_a_key_sees_its_own_account_unless_the_setting_names_it(
    credentials: str, more: dict[str, Any], key: str, shown: set[tuple[str, str]]
) -> None:
    settings = Settings(port=0, data_dir=None, credentials=credentials, **more)
    assert asyncio.run(_shown(settings, key)) == shown


def test_without_a_credentials_file_nothing_is_protected() -> None:
    assert asyncio.run(_shown(Settings(port=0, data_dir=None), None)) == EVERY


def test_a_setting_that_names_no_key_is_refused(credentials: str) -> None:
    settings = Settings(port=0, data_dir=None, credentials=credentials, metrics_from="AKIDONE,AKIDNONE")
    with pytest.raises(SettingUnusable, match="AKIDNONE"):
        asyncio.run(_shown(settings, None))


def test_tables_and_gauges_of_others_are_not_shown() -> None:
    class Nobody:
        def count_open(self) -> int:
            return 0

    with server(Settings(data_dir=None)) as database:
        for account, region in PLACES:
            units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
            client = database.client(aws_access_key_id=account, region_name=region)
            create(client, BillingMode="PROVISIONED", ProvisionedThroughput=units)
        service, clients = database._process.service, Nobody()
        for viewer, places in (
            (None, EVERY),
            (Viewer(ONE, None), set(PLACES[:2])),
            (Viewer(ONE, ["eu-west-1"]), {PLACES[1]}),
            (Viewer("333333333333", None), set()),
        ):
            state = database._process.run(_looked, service, clients, viewer)
            assert state.tables == len(places)
            assert {metric[:2] for metric in state.gauges} == places
            assert {metric[:2] for metric, _ in state.totals} == places


async def _looked(*arguments: Any) -> Any:
    return look_at_server(*arguments)
