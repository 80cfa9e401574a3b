"""The shop's story through boto3, its client and its resources: in memory, and on disk with a restart in the middle."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.boto3_client_trade import ClientTrade
from tests.clients.boto3_resource_trade import ResourceTrade
from tests.clients.serving import ServerProcess
from tests.clients.stories import Shop, tell

SHOPS: list[Callable[[str], Shop]] = [ClientTrade, ResourceTrade]


@pytest.mark.parametrize("make_shop", SHOPS)
def test_the_story_in_memory(server: ServerProcess, make_shop: Callable[[str], Shop]) -> None:
    tell(make_shop(server.endpoint), restart=lambda: None)


@pytest.mark.parametrize("make_shop", SHOPS)
def test_the_story_on_disk_with_a_restart(tmp_path: Path, make_shop: Callable[[str], Shop]) -> None:
    server = ServerProcess(tmp_path / "data")
    try:
        tell(make_shop(server.endpoint), server.restart)
    finally:
        server.stop()
