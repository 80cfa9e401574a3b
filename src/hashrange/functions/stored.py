"""Which functions are stored? Documents, with all descriptions in memory; a change is one commit,
and changes follow one another.

A change is a function from the old description to the new one, as the plan of an item's write is: it sees what earlier
changes have left, and may refuse. It may be called again if another change of the function came before it, or the
store's whole content was replaced meanwhile.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.errors import RecordsChanged, StorageCorruption
from hashrange.functions.description import FUNCTION_PREFIX, FunctionDescription, code_document, without_overlong_waits
from hashrange.functions.names import FunctionKey
from hashrange.functions.refusals import FunctionMissing, conflict_refusal
from hashrange.messages import functions_api as messages
from hashrange.soon import kept_until_done, shielded
from hashrange.store.documents import Documents
from hashrange.store.records import KeptRecords, RecordChange, RememberedRecords, again_if_changed

ChangedT = TypeVar("ChangedT", FunctionDescription, FunctionDescription | None)
ChangeFunction = Callable[[FunctionDescription | None], ChangedT]
"""Returns the new description of a function, or None to delete it. Raises LambdaError to refuse; pure."""


class StoredFunctions:
    """The functions in the documents of one store, for all callers. Every method raises StorageError."""

    def __init__(self, documents: Documents, clock: Clock, state_delay_seconds: float = 0.0) -> None:
        """`state_delay_seconds`: how long a function stays Pending, and an update InProgress, in service time."""
        self._documents = documents
        self._stored = KeptRecords(documents, FUNCTION_PREFIX, FunctionDescription, "function")
        self._functions = RememberedRecords(
            self._stored,
            lambda one: one.key,
            groups_of=lambda one: (one.key[:2],),
            groups_of_path=lambda path: (tuple(path.split("/")[:2]),),
            correct=lambda one: without_overlong_waits(one, clock.service_time(), state_delay_seconds),
        )
        self._changing: set[asyncio.Task[Any]] = set()
        self._turn = asyncio.Lock()
        """A lock that is held while a change is made: who is overtaken would write a zip of many MB in vain."""

    def get(self, key: FunctionKey) -> FunctionDescription | None:
        """The function, or None if there is none."""
        return self._functions.get(*key)

    def all_of(self, caller: Caller) -> Sequence[FunctionDescription]:
        """All functions of a caller, in no order."""
        return list(self._functions.among((caller.account, caller.region)).values())

    def zip_of(self, description: FunctionDescription) -> bytes:
        """The function's zip. Raises LambdaError if another one has been stored since,
        StorageCorruption if it is missing.
        """
        zipped = self._documents.get(code_document(description))
        if zipped is None:
            if self._require_changed(description) is None:
                raise FunctionMissing(messages.function_missing(description.arn))
            raise conflict_refusal(messages.UPDATE_IN_PROGRESS.format(arn=description.arn))
        return zipped

    async def read_zip(self, description: FunctionDescription) -> bytes | None:
        """As `zip_of`, for tasks. None if another zip has been stored since, or the function deleted."""
        zipped = await self._documents.read(code_document(description))
        if zipped is None:
            self._require_changed(description)
        return zipped

    def _require_changed(self, description: FunctionDescription) -> FunctionDescription | None:
        """The function as of the last commit. Raises StorageCorruption if it still has the zip of this description,
        which was not found.
        """
        current = self._stored.get(*description.key)
        if current is not None and current.code_sha256 == description.code_sha256:
            raise StorageCorruption(f"the document {code_document(description)}, a function's code, is missing")
        return current

    async def change(self, key: FunctionKey, change: ChangeFunction[ChangedT], zipped: bytes | None = None) -> ChangedT:
        """Create, change or delete a function, and return its new description. `zipped`: the new code, if it changes.

        A change that has begun is completed even if the caller is cancelled.
        """
        return await shielded(kept_until_done(asyncio.ensure_future(self._change(key, change, zipped)), self._changing))

    async def settle(self) -> None:
        """Wait until no change is being made."""
        while self._changing:
            await asyncio.wait(self._changing)

    @again_if_changed
    async def _change(self, key: FunctionKey, change: ChangeFunction[ChangedT], zipped: bytes | None) -> ChangedT:
        async with self._turn:
            while True:
                old = self.get(key)
                new = change(old)
                if old == new:
                    return new
                try:
                    is_written = await self._functions.write(*self._changes(old, new, zipped))
                except RecordsChanged:
                    raise
                except BaseException:
                    self._functions.forget()  # whether it was written is found out by reading
                    raise
                if is_written:
                    return new

    def _changes(
        self, old: FunctionDescription | None, new: FunctionDescription | None, zipped: bytes | None
    ) -> list[RecordChange]:
        """What a change does to the function's document and that of its zip. Both zips may have the same name."""
        old_code = [] if old is None else [RecordChange(code_document(old), None)]
        if new is None:
            return [] if old is None else [*old_code, self._functions.removal(old)]
        assert not new.is_declared
        code = [] if zipped is None else [*old_code, RecordChange(code_document(new), zipped)]
        return [*code, self._functions.change(new)]
