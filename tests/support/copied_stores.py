"""What do tests of backups share? A server over a folder, what a data folder holds, and a disk that fails."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest

from hashrange.cli.main import main
from hashrange.clock import MovableClock, SystemClock
from hashrange.items.rows import decode_row
from hashrange.items.types import Row
from hashrange.settings import Settings
from hashrange.store.embedded.offline import read_offline, read_tables
from hashrange.store.embedded.reading import scan_prefix
from hashrange.store.repository.folder import Repository
from hashrange.store.repository.manifests import Manifest
from hashrange.testing.in_process import InProcess
from tests.support.in_process import in_process
from tests.support.raw_client import RawClient

Content = dict[str, dict[str, Any]]
"""Table → key of an item → the item."""
TABLE = {
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


class Shop:
    """A server in this process, over a data folder, with what it should hold."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.content: Content = {}
        self.start()

    def start(self) -> None:
        """Start the server."""
        settings = Settings(data_dir=str(self.data_dir), admin=True, port=0)
        self.process: InProcess = in_process(settings, MovableClock(SystemClock())).start()
        self.endpoint = self.process.listen()
        self.client = RawClient("127.0.0.1", int(self.endpoint.rpartition(":")[2]))

    def stop(self) -> None:
        """Stop the server."""
        self.process.close()

    def call(self, operation: str, **members: Any) -> Any:
        """The reply to a request that is not refused."""
        reply = self.client(operation, members)
        assert reply.status == 200, reply
        return reply.json()

    def make(self, table: str) -> None:
        """Make a table."""
        self.call("CreateTable", TableName=table, **TABLE)
        self.content[table] = {}

    def drop(self, table: str) -> None:
        """Delete a table."""
        self.call("DeleteTable", TableName=table)
        del self.content[table]

    def put(self, table: str, key: str, text: str) -> None:
        """Put an item."""
        item = {"id": {"S": key}, "text": {"S": text}}
        self.call("PutItem", TableName=table, Item=item)
        self.content[table][key] = item

    def delete(self, table: str, key: str) -> None:
        """Delete an item, if there is one."""
        self.call("DeleteItem", TableName=table, Key={"id": {"S": key}})
        self.content[table].pop(key, None)

    def copied_content(self) -> Content:
        """What the server should hold now."""
        return {table: dict(items) for table, items in self.content.items()}

    def snapshots(self) -> list[str]:
        """Numbers of the snapshots that the server keeps."""
        reply = self.client.send("GET", "/_hashrange/v1/snapshots", {}, b"")
        return list(reply.json()["snapshots"])


@contextmanager
def opened_shop(data_dir: Path) -> Iterator[Shop]:
    """A server that is stopped in the end."""
    shop = Shop(data_dir)
    try:
        yield shop
    finally:
        shop.stop()


def content_of(data_dir: Path) -> Content:
    """What a data folder holds."""
    with read_offline(str(data_dir)) as engine:
        found: Content = {}
        for table in read_tables(engine):
            items = [decode_row(Row(row)) for _, row in scan_prefix(engine, table.source_id)]
            found[table.name] = {item["id"]["S"]: item for item in items}
        return found


def copies_in(target: Path) -> dict[str, Manifest]:
    """The copies of a repository without damage, the oldest first."""
    manifests = Repository(str(target)).manifests()
    assert not manifests.damaged
    return manifests.sound


def file_names(target: Path) -> set[str]:
    """Names of all files in a repository, except its lock and its mark."""
    paths = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    return paths - {"lock", "hashrange-repository"}


def needed_names(target: Path) -> set[str]:
    """Names of the files that the copies of a repository consist of."""
    copies = copies_in(target)
    files = {f"files/{one.sha256}" for manifest in copies.values() for one in manifest.files}
    return {f"manifests/{name}.json" for name in copies} | files


def restored(target: Path, data_dir: Path, *words: str) -> Content:
    """What is in a copy, the newest one unless `words` name another. The folder is removed."""
    assert main(["restore", str(target), str(data_dir), *words]) == 0
    content = content_of(data_dir)
    shutil.rmtree(data_dir)
    return content


class Killed(BaseException):
    """The process has been killed: it changes nothing any more."""


class FailingDisk:
    """A disk whose folder `root` cannot be changed any more from the `number`-th change on."""

    def __init__(self, root: Path, number: int, error: BaseException, *, may_remove: bool = False) -> None:
        """`may_remove`: files and folders can still be removed, as on a full disk."""
        self._root = str(root)
        self._left = number
        self._error = error
        self._may_remove = may_remove
        self.has_failed = False

    def __enter__(self) -> Self:
        self._patches = pytest.MonkeyPatch()
        for name in ("mkdir", "replace", "rename", "link", "remove", "unlink", "rmdir", "fsync", "open"):
            self._patches.setattr(os, name, self._failing(name, getattr(os, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.undo()

    def _failing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **named: Any) -> Any:
            is_change = name != "open" or bool(arguments[1] & (os.O_CREAT | os.O_WRONLY))
            if is_change and self._is_within(arguments[0], named.get("dir_fd")):
                self._count(name)
            return call(*arguments, **named)

        return changed

    def _is_within(self, path: Any, folder: int | None) -> bool:
        if isinstance(path, int):
            return os.readlink(f"/proc/self/fd/{path}").startswith(self._root)
        if folder is not None:
            return os.readlink(f"/proc/self/fd/{folder}").startswith(self._root)
        return str(path).startswith(self._root)

    def _count(self, name: str) -> None:
        if self._may_remove and name in {"remove", "unlink", "rmdir"}:
            return
        self._left -= 1
        if self._left < 0:
            self.fail()

    def fail(self) -> NoReturn:
        """Fail, now and whenever something is to be changed."""
        self.has_failed = True
        raise self._error
