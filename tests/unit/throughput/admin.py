"""Asks the admin API about the throughput of a table."""

import json
from typing import Any
from urllib.request import Request, urlopen

from hashrange.testing import Database


def buckets_of(database: Database, table: str) -> dict[str, Any]:
    """Terms and buckets of a table."""
    return _ask(Request(f"{database.endpoint}/_hashrange/v1/tables/{table}/throughput"))


def set_throughput(database: Database, table: str, **terms: str) -> dict[str, Any]:
    """Change the terms of a table."""
    body = json.dumps(terms).encode()
    return _ask(Request(f"{database.endpoint}/_hashrange/v1/tables/{table}/throughput", body))


def _ask(request: Request) -> dict[str, Any]:
    with urlopen(request) as reply:
        answer: dict[str, Any] = json.load(reply)
        return answer
