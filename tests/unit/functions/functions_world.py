"""Functions with documents in memory, whose operations are called as the protocol calls them:
decoded, and without a task.
"""

import asyncio
import io
import json
import zipfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import Caller
from hashrange.aws_services.tagging import Tagging
from hashrange.errors import StorageError
from hashrange.functions.api.operation import LambdaError, LambdaReply
from hashrange.functions.api.registry import OPERATIONS
from hashrange.functions.api.tags import added_tags, find_tagged_function, store_function_tags
from hashrange.functions.description import FunctionOptions
from hashrange.functions.functions import Functions
from hashrange.service.drive import in_turns
from hashrange.service.workers import Workers
from hashrange.store.documents import NOTHING_READ
from hashrange.triggers.api import mapping_tags
from tests.support.clocks import VirtualClock
from tests.support.waiting import PATIENCE_SECONDS, until, wait_until
from tests.unit.functions.world import PYTHON, children, descriptors, open_globals

CALLER = Caller("000000000000", "eu-west-1")
ROLE = "arn:aws:iam::000000000000:role/service-role/handlers"
ECHO = "def handler(event, context):\n    return event\n"
_TAGGING = Tagging(find_tagged_function, added_tags, store_function_tags)
_ON_TAGS = {"TagResource": _TAGGING.tag, "UntagResource": _TAGGING.untag, "ListTags": _TAGGING.list_tags}
"""As for functions alone."""
BY_NAME = {operation.name: operation for operation in OPERATIONS} | {
    operation.name: msgspec.structs.replace(operation, run=_ON_TAGS[operation.name])
    for operation in mapping_tags.OPERATIONS
}


def make_zip(**files: str) -> bytes:
    """A zip of files, always the same bytes: `app_py="…"` is app.py."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(".".join(name.rsplit("_", 1))), text)
    return buffer.getvalue()


class MemoryDocuments:
    """Documents in a dict; a write may be held up, or fail."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.generation = 1
        self.gate = asyncio.Event()
        """Writes wait until this is set."""
        self.gate.set()
        self.failure: StorageError | None = None
        """Raised by each write, which has no effect."""
        self.lost_outcome: StorageError | None = None
        """Raised by each write, which has taken place."""

    def get(self, name: str) -> bytes | None:
        return self.content.get(name)

    async def read(self, name: str) -> bytes | None:
        return self.get(name)

    def below(self, prefix: str) -> Sequence[tuple[str, bytes]]:
        return sorted((name, value) for name, value in self.content.items() if name.startswith(prefix))

    def some_below(self, prefix: str, after: str | None, count: int) -> Sequence[tuple[str, bytes]]:
        return [one for one in self.below(prefix) if after is None or one[0] > after][:count]

    async def write(
        self,
        changes: Mapping[str, bytes | None],
        generation: int | None = None,
        read: Mapping[str, bytes | None] = NOTHING_READ,
    ) -> bool:
        await asyncio.sleep(0)
        await self.gate.wait()
        if self.failure is not None:
            raise self.failure
        if generation not in {None, self.generation} or any(self.get(one) != read[one] for one in read):
            return False
        for name, value in changes.items():
            if value is None:
                self.content.pop(name, None)
            else:
                self.content[name] = value
        if self.lost_outcome is not None:
            raise self.lost_outcome
        return True

    def replace(self, content: Mapping[str, bytes]) -> None:
        """Replace the whole content, as a restore does."""
        self.content = dict(content)
        self.generation += 1


class FunctionsWorld:
    """A server's functions, and a client that calls their operations."""

    def __init__(self, **options: Any) -> None:
        self.clock = VirtualClock()
        self.documents = MemoryDocuments()
        self.functions = Functions(self.documents, self.clock, FunctionOptions(**{"runs_code": True, **options}))
        self._workers = Workers(self.clock)
        self._is_closed = False

    async def close(self) -> None:
        """Close the functions, unless the test has."""
        if not self._is_closed:
            self._is_closed = True
            await self.functions.close()

    async def call(self, name: str, caller: Caller = CALLER, /, **members: Any) -> Any:
        """Call an operation; returns the members of its reply. Bytes are sent as base64, as SDKs do."""
        return (await self.reply(name, caller, **members))[1]

    async def reply(self, name: str, caller: Caller = CALLER, /, **members: Any) -> tuple[int, Any, Mapping[str, str]]:
        """Call an operation; returns status, members of the reply or its bytes, and headers."""
        operation = BY_NAME[name]
        request = msgspec.convert(msgspec.to_builtins(members), operation.request)
        running = in_turns(operation.run(self.functions, caller, request), self._workers)
        async with asyncio.timeout(2 * PATIENCE_SECONDS):
            reply = await running
        if isinstance(reply, LambdaReply):
            return reply.status, reply.body, reply.headers
        return operation.wire.status, None if reply is None else json.loads(msgspec.json.encode(reply)), {}

    async def create(self, name: str = "orders", code: str = ECHO, **members: Any) -> Any:
        """Create a function with this app.py."""
        usual: dict[str, Any] = {
            "FunctionName": name, "Runtime": PYTHON, "Role": ROLE, "Handler": "app.handler",
            "Code": {"ZipFile": make_zip(app_py=code)}, "Timeout": 60,
        }  # fmt: skip
        return await self.call("CreateFunction", **usual | members)

    async def invoke(self, name: str = "orders", event: Any = None, **members: Any) -> Any:
        """What a function returns."""
        status, body, _ = await self.reply("Invoke", FunctionName=name, Payload=json.dumps(event).encode(), **members)
        return json.loads(body) if status == 200 else status

    async def refused(self, name: str, caller: Caller = CALLER, /, **members: Any) -> tuple[int, str, str]:
        """Status, code and message of the error of an operation."""
        try:
            await self.reply(name, caller, **members)
        except LambdaError as error:
            return error.http_status, error.code, error.message
        raise AssertionError("it was not refused")


FunctionsTest = Callable[[FunctionsWorld], Coroutine[Any, Any, None]]


def run_functions(test: FunctionsTest, **options: Any) -> None:
    """Run a test in a loop, close its functions, and see that no process, task or descriptor is left."""
    open_globals("asyncio")
    open_before, children_before = descriptors(), children()

    async def main() -> None:
        world = FunctionsWorld(**options)
        try:
            await test(world)
        finally:
            await world.close()
        await until(lambda: asyncio.all_tasks() <= {asyncio.current_task()})
        await until(lambda: children() <= children_before)

    with asyncio.Runner() as runner:
        runner.run(main())
    wait_until(lambda: descriptors() <= open_before)  # a look at the memory may go on, on its thread
