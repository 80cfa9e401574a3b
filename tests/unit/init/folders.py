"""Init folders for tests: files with given content, and databases that begin with them."""

import json
from pathlib import Path
from typing import Any

from hashrange.settings import Settings
from hashrange.testing import server
from hashrange.testing.database import StartingDatabase

USERS: dict[str, Any] = {
    "TableName": "Users",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def make_folder(folder: Path, files: dict[str, object]) -> Path:
    """Make a folder of these files: path → bytes, text, or what becomes JSON."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder


def begun(folder: Path, data_dir: Path | None = None, **settings: Any) -> StartingDatabase:
    """A database that begins with the folder, in memory unless `data_dir` is given."""
    place = None if data_dir is None else str(data_dir)
    return server(Settings(data_dir=place, init=str(folder), **settings))


def users_in(client: Any) -> dict[str, Any]:
    """Key → item of everybody in the table Users, in DynamoDB JSON."""
    return {item["id"]["S"]: item for item in client.scan(TableName="Users")["Items"]}
