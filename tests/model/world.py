"""A table over one of the stores, driven operation by operation, and the model with which it is compared."""

import shutil
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from hashrange.clock import SystemClock
from hashrange.errors import ApiError
from hashrange.operations.registry import OPERATIONS
from hashrange.soon import Soon
from hashrange.store.embedded import EmbeddedStore, open_store
from hashrange.store.interface import WholeStore
from tests.model.item_model import ModelTable, Refused
from tests.support.asking import run_operation
from tests.support.scopes import scope_of
from tests.support.stores import as_distributed

TABLE = "model"


def drive(soon: Soon[Any]) -> Any:
    """Run an operation to its end, however often it gives way."""
    if not isinstance(soon, Coroutine):
        return soon
    while True:
        try:
            waits_for = soon.send(None)
        except StopIteration as stop:
            body: bytes = stop.value
            return body
        assert waits_for is None


class World:
    """A table over a store, and its model."""

    def __init__(self, kind: str, data_dir: str | None, seed: int, key_types: tuple[str, ...]) -> None:
        self.kind = kind
        self.data_dir = data_dir
        self.seed = seed
        self.restarts = 0
        self.model = ModelTable(len(key_types) == 2)
        self.key_types = key_types
        self.open()
        names = self.model.key_names
        self.ask("CreateTable", {
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind} for name, kind in zip(names, key_types, strict=True)
            ],
            "KeySchema": [
                {"AttributeName": name, "KeyType": role} for name, role in zip(names, ("HASH", "RANGE"), strict=False)
            ],
            "BillingMode": "PAY_PER_REQUEST",
        })  # fmt: skip

    def open(self) -> None:
        self.embedded: EmbeddedStore = open_store(self.data_dir, SystemClock(), None)
        store: WholeStore = self.embedded
        if self.kind == "suspending":
            store = as_distributed(self.embedded, self.seed)
        self.scope = scope_of(store, SystemClock())

    def restart(self) -> None:
        """Close and open the store, every second time as after a kill; not in memory, where the data would be lost."""
        if self.data_dir is None:
            return
        self.restarts += 1
        if self.restarts % 2:
            self.embedded.close_now()
            self.open()
            return
        killed, folder = self.embedded, self.data_dir
        self.data_dir = f"{folder}-"
        shutil.copytree(folder, self.data_dir)
        self.open()
        killed.close_now()
        shutil.rmtree(folder)

    def ask(self, name: str, members: dict[str, Any]) -> Any:
        """The reply of an operation; raises its refusal."""
        operation = OPERATIONS[name]
        request: Any = msgspec.convert({"TableName": TABLE} | members, operation.request)
        return drive(run_operation(self.scope, operation, request))

    def expect(self, name: str, members: dict[str, Any], outcome: Callable[[], Any]) -> Any:
        """The reply, or None where both refuse; fails when only one refuses, or for different reasons."""
        try:
            expected = outcome()
        except Refused as refused:
            try:
                reply = self.ask(name, members)
            except ApiError as heard:
                assert heard.message in refused.messages, (heard.message, refused.messages)
                return None
            raise AssertionError(f"{reply} instead of a refusal: {refused.messages}") from None
        return self.ask(name, members), expected
