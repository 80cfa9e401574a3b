"""Which functions are stored? Documents, with all descriptions in memory; a change is one commit,
and changes follow one another.

A change is a function from the old description to the new one, as the plan of an item's write is:
it is called when the commit is made, so it sees what earlier changes have left, and may refuse.
It may be called again if the store's whole content was replaced meanwhile.
"""

import asyncio
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.errors import StorageCorruption
from hashrange.functions.description import (
    FunctionDescription,
    code_document,
    decode_description,
    encode_description,
    function_document,
    functions_prefix,
    without_overlong_waits,
)
from hashrange.functions.names import FunctionKey
from hashrange.functions.refusals import FunctionMissing, conflict_refusal
from hashrange.messages import functions_api as messages
from hashrange.soon import kept_until_done, shielded
from hashrange.store.documents import Documents

CALLERS_MAX = 4096
"""Callers whose functions are in memory; a client may name any number of Regions."""

ChangeFunction = Callable[[FunctionDescription | None], FunctionDescription | None]
"""Returns the new description of a function, or None to delete it. Raises LambdaError to refuse; pure."""


class _FunctionsOfCaller:
    """All stored functions of one account and Region."""

    def __init__(self, descriptions: Sequence[FunctionDescription]) -> None:
        self.by_name = {one.name: one for one in descriptions}
        self.names = sorted(self.by_name)

    def put(self, name: str, description: FunctionDescription | None) -> None:
        """Take over the outcome of a change."""
        if description is None:
            if self.by_name.pop(name, None):
                self.names.remove(name)
            return
        if name not in self.by_name:
            insort(self.names, name)
        self.by_name[name] = description


class StoredFunctions:
    """The functions in the documents of one store, for all callers. Every method raises StorageError."""

    def __init__(self, documents: Documents, clock: Clock, state_delay_seconds: float = 0.0) -> None:
        """`state_delay_seconds`: how long a function stays Pending, and an update InProgress, in service time."""
        self._documents = documents
        self._clock = clock
        self.state_delay_seconds = state_delay_seconds
        self._generation = documents.generation
        self._callers: dict[Caller, _FunctionsOfCaller] = {}
        self._order = asyncio.Lock()
        """A lock that is held while a change is made, so that the next one sees its outcome."""
        self._changing: set[asyncio.Task[FunctionDescription | None]] = set()

    @property
    def generation(self) -> int:
        """Another number once the store's whole content has been replaced."""
        return self._documents.generation

    def get(self, key: FunctionKey) -> FunctionDescription | None:
        """The function, or None if there is none."""
        return self._of(key.caller).by_name.get(key.name)

    def names(self, caller: Caller, after: str = "") -> Sequence[str]:
        """The names of the caller's functions that follow `after`, in order."""
        names = self._of(caller).names
        return names[bisect_right(names, after) :]

    def all_of(self, caller: Caller) -> Sequence[FunctionDescription]:
        """All functions of a caller, in no order."""
        return list(self._of(caller).by_name.values())

    def zip_of(self, description: FunctionDescription) -> bytes:
        """The function's zip. Raises LambdaError if another one has been stored since,
        StorageCorruption if it is missing.
        """
        zipped = self._documents.get(code_document(description))
        if zipped is None:
            self._require_changed(description)
            if self._documents.get(function_document(description.key)) is None:
                raise FunctionMissing(messages.function_missing(description.arn))
            raise conflict_refusal(messages.update_in_progress(description.arn))
        return zipped

    async def read_zip(self, description: FunctionDescription) -> bytes | None:
        """As `zip_of`, for tasks. None if another zip has been stored since, or the function deleted."""
        zipped = await self._documents.read(code_document(description))
        if zipped is None:
            self._require_changed(description)
        return zipped

    def _require_changed(self, description: FunctionDescription) -> None:
        """Raise StorageCorruption if the function still has the zip of this description, which was not found."""
        name = function_document(description.key)
        current = self._documents.get(name)
        if current is not None and decode_description(name, current).code_sha256 == description.code_sha256:
            raise StorageCorruption(f"the document {code_document(description)}, a function's code, is missing")

    async def change(
        self, key: FunctionKey, change: ChangeFunction, zipped: bytes | None = None
    ) -> FunctionDescription | None:
        """Create, change or delete a function, and return its new description. `zipped`: the new code, if it changes.

        A change that has begun is completed even if the caller is cancelled.
        """
        return await shielded(kept_until_done(asyncio.ensure_future(self._change(key, change, zipped)), self._changing))

    async def settle(self) -> None:
        """Wait until no change is being made."""
        while self._changing:
            await asyncio.wait(self._changing)

    async def _change(
        self, key: FunctionKey, change: ChangeFunction, zipped: bytes | None
    ) -> FunctionDescription | None:
        async with self._order:
            while True:
                generation = self._documents.generation
                old = self.get(key)
                new = change(old)
                documents = _documents_of(key, old, new, zipped)
                if not documents:
                    return new
                try:
                    is_written = await self._documents.write(documents, generation)
                except BaseException:
                    self._callers.pop(key.caller, None)  # whether it was written is found out by reading
                    raise
                if is_written:
                    self._of(key.caller).put(key.name, new)
                    return new

    def _of(self, caller: Caller) -> _FunctionsOfCaller:
        if self._generation != self._documents.generation:
            self._generation = self._documents.generation
            self._callers.clear()
        found = self._callers.get(caller)
        if found is None:
            if len(self._callers) >= CALLERS_MAX:
                self._callers.clear()
            now_seconds = self._clock.service_time()
            found = self._callers[caller] = _FunctionsOfCaller(
                [
                    without_overlong_waits(decode_description(name, document), now_seconds, self.state_delay_seconds)
                    for name, document in self._documents.below(functions_prefix(caller))
                ]
            )
        return found


def _documents_of(
    key: FunctionKey, old: FunctionDescription | None, new: FunctionDescription | None, zipped: bytes | None
) -> dict[str, bytes | None]:
    """The documents that a change puts and, with None, deletes; none if nothing changes."""
    if old == new:
        return {}
    documents: dict[str, bytes | None] = {}
    if old is not None:
        documents[code_document(old)] = None
    if new is not None:
        if zipped is not None:
            documents[code_document(new)] = zipped
        else:
            documents.pop(code_document(new), None)
    documents[function_document(key)] = None if new is None else encode_description(new)
    return documents
