"""Functions are created, changed and deleted whole or not at all; what runs always belongs to what is stored."""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.errors import StorageCorruption, StorageError
from hashrange.functions import loaded
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.functions import Functions
from hashrange.functions.invocation import ConcurrencyExceeded
from hashrange.functions.names import FunctionKey
from hashrange.functions.refusals import FunctionMissing, FunctionsSwitchedOff
from tests.support.stores import make_store
from tests.support.waiting import until
from tests.unit.functions.functions_world import CALLER, ECHO, ROLE, FunctionsWorld, make_zip, run_functions
from tests.unit.functions.world import NODE, PYTHON

ARN = "arn:aws:lambda:eu-west-1:000000000000:function:orders"
ORDERS = FunctionKey(*CALLER, "orders")
PID = "import os\ndef handler(event, context):\n    return os.getpid()\n"
VERSION = "def handler(event, context):\n    return {}\n"
WAITING = """
import os
def handler(event, context):
    os.write(os.open(event + ".began", os.O_CREAT | os.O_APPEND | os.O_WRONLY), b".")
    with open(event) as fifo: fifo.read()
    return os.environ.get("NUMBER")
"""


def fifo(tmp_path: Path) -> str:
    """A path that handlers wait at until the test opens it."""
    path = str(tmp_path / "fifo")
    os.mkfifo(path)
    return path


async def begun(path: str, count: int = 1) -> None:
    """Wait until this many handlers wait."""
    file = Path(path + ".began")
    await until(lambda: file.exists() and len(file.read_bytes()) == count)


async def release(path: str) -> None:
    """Let all waiting handlers go on."""
    await asyncio.to_thread(Path(path).write_text, "")


def folders(world: FunctionsWorld) -> int:
    """Number of folders of unpacked code."""
    root = world.functions._loaded._folders._root
    return 0 if root is None else len(os.listdir(root))


def test_a_function_is_created_and_its_first_environment_is_warm() -> None:
    async def test(world: FunctionsWorld) -> None:
        created = await world.create(code=PID)
        assert created["State"] == "Pending"
        first = await world.invoke()
        assert world.functions._loaded._loaded[ORDERS].idle_count == 1
        assert await world.invoke(ARN) == first
        assert sorted(world.documents.content) == [
            f"code/000000000000/eu-west-1/orders/{hashlib.sha256(make_zip(app_py=PID)).hexdigest()}",
            "function/000000000000/eu-west-1/orders",
        ]

    run_functions(test)


@pytest.mark.parametrize(
    ("code", "members", "message"),
    [
        ("import x", {}, "Runtime.ImportModuleError: Unable to import module 'app': No module named 'x'"),
        (ECHO, {"Handler": "app.other"}, "Runtime.HandlerNotFound: Handler 'other' missing on module 'app'"),
        ("import os\nos.environ['TABLE']", {}, "KeyError: 'TABLE' (app.py, line 2)"),
        ("def handler(event, context)\n    return 1", {}, "expected ':' (app.py, line 1)"),
        ("import sys\nsys.exit(3)", {}, "Runtime exited with error: exit status 3"),
    ],
)
def test_a_broken_handler_is_refused_and_nothing_is_stored(code: str, members: dict[str, str], message: str) -> None:
    async def test(world: FunctionsWorld) -> None:
        with pytest.raises(LambdaError) as refusal:
            await world.create(code=code, **members)
        assert (refusal.value.http_status, refusal.value.code) == (400, "InvalidParameterValueException")
        assert message in refusal.value.message
        assert world.documents.content == {}
        await until(lambda: folders(world) == 0)
        await world.create()
        assert await world.invoke(event=5) == 5

    run_functions(test)


def test_a_runtime_that_is_not_there_is_told_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(LambdaError) as refusal:
            await world.create(Runtime=NODE, Handler="index.handler")
        assert refusal.value.message.startswith(
            "The function's code cannot be loaded: Runtime.InvalidEntrypoint: node could not be started:"
            " it is not on PATH. Install Node.js 20 (https://nodejs.org), or start the server with a PATH that has it"
        )

    run_functions(test)


def test_an_update_that_breaks_the_handler_changes_nothing() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(
            code=f"import os\nNUMBER = os.environ['NUMBER']\n{PID}", Environment={"Variables": {"NUMBER": "1"}}
        )
        before, pid = dict(world.documents.content), await world.invoke()
        for operation, members in (
            ("UpdateFunctionCode", {"ZipFile": make_zip(app_py="import x")}),
            ("UpdateFunctionCode", {"ZipFile": b"PK no zip"}),
            ("UpdateFunctionConfiguration", {"Handler": "app.other"}),
            ("UpdateFunctionConfiguration", {"Environment": {"Variables": {}}}),
        ):
            status, code, _ = await world.refused(operation, FunctionName="orders", **members)
            assert (status, code) == (400, "InvalidParameterValueException")
        assert world.documents.content == before
        assert await world.invoke() == pid, "the environment is still used"

    run_functions(test)


def test_updates_take_effect_and_keep_what_they_do_not_name() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=VERSION.format(1), Tags={"a": "b"}, MemorySize=256)
        code = VERSION.format("[2, __import__('os').environ.get('TABLE')]")
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=code))
        assert await world.invoke() == [2, None]
        await world.call(
            "UpdateFunctionConfiguration", FunctionName="orders", Environment={"Variables": {"TABLE": "t"}}, Timeout=50
        )
        assert await world.invoke() == [2, "t"]
        found = await world.call("GetFunction", FunctionName="orders")
        configuration = found["Configuration"]
        assert (configuration["MemorySize"], configuration["Timeout"], found["Tags"]) == (256, 50, {"a": "b"})
        assert len(world.documents.content) == 2, "the former code is gone"

    run_functions(test)


def test_an_update_that_cannot_break_the_handler_starts_nothing() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=PID)
        pid = await world.invoke()
        await world.call("UpdateFunctionConfiguration", FunctionName="orders", Description="new", Handler="app.handler")
        assert await world.invoke() == pid
        await world.call("UpdateFunctionConfiguration", FunctionName="orders", Timeout=40)
        assert world.functions._loaded._loaded[ORDERS].idle_count == 1
        assert await world.invoke() != pid, "the time-out is another one"

    run_functions(test)


def test_a_dry_run_loads_the_handler_and_changes_nothing() -> None:
    async def test(world: FunctionsWorld) -> None:
        created = await world.create()
        before = dict(world.documents.content)
        dry = {"FunctionName": "orders", "DryRun": True}
        shown = await world.call("UpdateFunctionCode", ZipFile=make_zip(app_py=PID), **dry)
        assert shown["CodeSha256"] != created["CodeSha256"]
        assert (await world.refused("UpdateFunctionCode", ZipFile=make_zip(app_py="import x"), **dry))[0] == 400
        assert world.documents.content == before

    run_functions(test)


def test_invocations_that_run_during_an_update_go_on_with_the_old_code(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = fifo(tmp_path)
        await world.create(code=WAITING, Environment={"Variables": {"NUMBER": "1"}})
        running = asyncio.ensure_future(world.invoke(event=path))
        await begun(path)
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=ECHO))
        assert await world.invoke(event=5) == 5
        await release(path)
        assert await running == "1"

    run_functions(test)


def test_an_invocation_that_runs_goes_on_when_its_function_is_deleted(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = fifo(tmp_path)
        await world.create(code=WAITING)
        running = asyncio.ensure_future(world.invoke(event=path))
        await begun(path)
        await world.call("DeleteFunction", FunctionName="orders")
        assert world.documents.content == {}
        assert (await world.refused("Invoke", FunctionName="orders"))[1] == "ResourceNotFoundException"
        await release(path)
        assert await running is None
        await until(lambda: folders(world) == 0)

    run_functions(test)


def test_the_unpacked_code_of_former_versions_is_removed() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        for number in range(3):
            await world.call(
                "UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=VERSION.format(number))
            )
        await until(lambda: folders(world) == 1)
        root = world.functions._loaded._folders._root
        await world.close()
        assert root is not None
        assert not os.path.exists(root)

    run_functions(test)


# --- at the same time ---------------------------------------------------------------------------


class Unpacking:
    """Holds up the unpacking of code until the test lets it go on."""

    def __init__(self, world: FunctionsWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.gate = asyncio.Event()
        self._unpack = world.functions._loaded._folders.unpack
        monkeypatch.setattr(world.functions._loaded._folders, "unpack", self.unpack)

    async def unpack(self, zipped: bytes) -> str:
        self.count += 1
        await self.gate.wait()
        return await self._unpack(zipped)


def test_only_one_of_several_creations_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        unpacking = Unpacking(world, monkeypatch)
        unpacking.gate.set()
        outcomes = await asyncio.gather(*[world.create() for _ in range(3)], return_exceptions=True)
        refusals = [one for one in outcomes if isinstance(one, LambdaError)]
        assert [(one.http_status, one.message) for one in refusals] == [(409, "Function already exist: orders")] * 2
        assert unpacking.count == 1

    run_functions(test)


def test_a_function_that_a_restore_brings_is_not_replaced_by_a_creation(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=VERSION.format(1))
        restored = dict(world.documents.content)
        await world.call("DeleteFunction", FunctionName="orders")
        unpacking = Unpacking(world, monkeypatch)
        creating = asyncio.ensure_future(world.create(code=VERSION.format(2)))
        await until(lambda: unpacking.count)
        world.documents.replace(restored)
        unpacking.gate.set()
        with pytest.raises(LambdaError, match="Function already exist"):
            await creating
        assert world.documents.content == restored
        assert await world.invoke() == 1

    run_functions(test)


def test_an_update_is_refused_while_another_one_loads_its_handler() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        update = {"FunctionName": "orders", "ZipFile": make_zip(app_py=PID)}
        outcomes = await asyncio.gather(
            *[world.call("UpdateFunctionCode", **update) for _ in range(2)], return_exceptions=True
        )
        (refusal,) = [one for one in outcomes if isinstance(one, LambdaError)]
        assert (refusal.http_status, refusal.code) == (409, "ResourceConflictException")
        assert refusal.message == (
            f"The operation cannot be performed at this time. An update is in progress for resource: {ARN}"
        )

    run_functions(test)


def test_tags_that_are_added_while_an_update_loads_its_handler_are_kept() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        update = asyncio.ensure_future(
            world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=PID))
        )
        await asyncio.sleep(0)
        await world.call("TagResource", Resource=ARN, Tags={"a": "b"})
        assert not update.done()
        await update
        assert (await world.call("ListTags", Resource=ARN))["Tags"] == {"a": "b"}

    run_functions(test)


def test_a_function_that_is_deleted_while_an_update_loads_its_handler_stays_deleted() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        update = asyncio.ensure_future(
            world.refused("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=PID))
        )
        await asyncio.sleep(0)
        await world.call("DeleteFunction", FunctionName="orders")
        assert (await update)[1] == "ResourceNotFoundException"
        assert world.documents.content == {}

    run_functions(test)


def test_first_invocations_at_the_same_time_unpack_the_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        world.functions._loaded.unload_all()
        unpacking = Unpacking(world, monkeypatch)
        invoking = [asyncio.ensure_future(world.invoke(event=number)) for number in range(3)]
        await until(lambda: world.functions._loaded._running.total() == 3)
        unpacking.gate.set()
        assert await asyncio.gather(*invoking) == [0, 1, 2]
        assert unpacking.count == 1

    run_functions(test)


def test_an_invocation_whose_function_is_deleted_while_its_code_is_unpacked_finds_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        world.functions._loaded.unload_all()
        unpacking = Unpacking(world, monkeypatch)
        invoking = asyncio.ensure_future(world.refused("Invoke", FunctionName="orders"))
        await until(lambda: unpacking.count)
        await world.call("DeleteFunction", FunctionName="orders")
        unpacking.gate.set()
        assert (await invoking)[1] == "ResourceNotFoundException"
        assert world.functions._loaded._loaded == {}

    run_functions(test)


def test_an_invocation_whose_function_is_updated_while_its_code_is_unpacked_runs_the_new_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=VERSION.format(1))
        world.functions._loaded.unload_all()
        unpacking = Unpacking(world, monkeypatch)
        invoking = asyncio.ensure_future(world.invoke())
        await until(lambda: unpacking.count)
        monkeypatch.undo()
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=VERSION.format(2)))
        unpacking.gate.set()
        assert await invoking == 2
        assert await world.invoke() == 2
        assert len(world.functions._loaded._loaded) == 1

    run_functions(test)


def test_changes_at_the_same_time_all_take_effect() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        await asyncio.gather(
            *[world.call("TagResource", Resource=ARN, Tags={str(number): ""}) for number in range(10)],
            world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=5),
        )
        shown = await world.call("GetFunction", FunctionName="orders")
        assert (len(shown["Tags"]), shown["Concurrency"]) == (10, {"ReservedConcurrentExecutions": 5})

    run_functions(test)


def test_a_failed_write_leaves_everything_as_it_is() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        world.documents.failure = StorageError("the disk is full")
        for operation, members in (
            ("TagResource", {"Resource": ARN, "Tags": {"a": "b"}}),
            ("DeleteFunction", {"FunctionName": "orders"}),
            ("UpdateFunctionCode", {"FunctionName": "orders", "ZipFile": make_zip(app_py=PID)}),
        ):
            with pytest.raises(StorageError):
                await world.call(operation, **members)
        world.documents.failure = None
        assert (await world.call("ListTags", Resource=ARN))["Tags"] == {}
        assert await world.invoke(event=1) == 1

    run_functions(test)


def test_a_change_is_completed_though_its_client_has_left() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        description = world.functions.find("orders", CALLER)
        world.documents.gate.clear()
        deleting = asyncio.ensure_future(world.functions.delete(description))
        await asyncio.sleep(0)
        deleting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await deleting
        world.documents.gate.set()
        await world.functions.stored.settle()
        with pytest.raises(FunctionMissing):
            world.functions.find("orders", CALLER)

    run_functions(test)


def test_what_is_stored_runs_though_the_client_of_the_update_has_left() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=VERSION.format(1))
        description = world.functions.find("orders", CALLER)
        world.documents.gate.clear()
        code = make_zip(app_py=VERSION.format(2))
        updating = asyncio.ensure_future(world.functions.update(description, {}, code))
        await until(lambda: world.functions.stored._changing)
        updating.cancel()
        with pytest.raises(asyncio.CancelledError):
            await updating
        assert await world.invoke() == 1
        world.documents.gate.set()
        await world.functions.stored.settle()
        assert await world.invoke() == 2

    run_functions(test)


def test_after_a_lost_outcome_the_store_is_read() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        world.documents.lost_outcome = StorageError("the connection broke")
        with pytest.raises(StorageError):
            await world.call("TagResource", Resource=ARN, Tags={"a": "b"})
        world.documents.lost_outcome = None
        assert (await world.call("ListTags", Resource=ARN))["Tags"] == {"a": "b"}

    run_functions(test)


def test_a_damaged_document_concerns_its_function_alone() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create("orders")
        await world.create("other")
        stranger = Caller("111122223333", "us-east-1")
        world.documents.content["function/000000000000/eu-west-1/other"] = b"{}"
        world.documents.replace(world.documents.content)
        assert await world.invoke("orders", 1) == 1
        assert await world.call("ListFunctions", stranger) == {"Functions": []}
        zipped = {"ZipFile": make_zip(app_py=ECHO)}
        usual = {"Runtime": PYTHON, "Role": ROLE, "Handler": "app.handler", "Code": zipped}
        await world.call("CreateFunction", stranger, FunctionName="other", **usual)
        assert len((await world.call("ListFunctions", stranger))["Functions"]) == 1
        await world.call("UpdateFunctionConfiguration", FunctionName="orders", Timeout=5)
        for operation, members in (
            ("GetFunction", {"FunctionName": "other"}),
            ("DeleteFunction", {"FunctionName": "other"}),
            ("ListFunctions", {}),
        ):
            with pytest.raises(StorageCorruption, match="function/000000000000/eu-west-1/other is no function: "):
                await world.call(operation, **members)

    run_functions(test)


def test_a_change_that_a_restore_overtakes_is_made_of_the_restored_function() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(Tags={"old": ""})
        restored = dict(world.documents.content)
        await world.call("TagResource", Resource=ARN, Tags={"lost": ""})
        world.documents.gate.clear()
        tagging = asyncio.ensure_future(world.call("TagResource", Resource=ARN, Tags={"new": ""}))
        await until(lambda: world.functions.stored._changing)
        await asyncio.sleep(0)
        world.documents.replace(restored)
        world.documents.gate.set()
        await tagging
        assert (await world.call("ListTags", Resource=ARN))["Tags"] == {"old": "", "new": ""}
        world.documents.gate.clear()
        refused = asyncio.ensure_future(world.refused("TagResource", Resource=ARN, Tags={"newer": ""}))
        await until(lambda: world.functions.stored._changing)
        await asyncio.sleep(0)
        world.documents.replace({})
        world.documents.gate.set()
        assert (await refused)[0] == 404
        assert world.documents.content == {}

    run_functions(test)


def test_an_update_does_not_change_another_function_that_a_restore_has_brought(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=VERSION.format(1))
        restored = dict(world.documents.content)
        await world.call("DeleteFunction", FunctionName="orders")
        await world.create(code=VERSION.format(2))
        unpacking = Unpacking(world, monkeypatch)
        update = {"FunctionName": "orders", "ZipFile": make_zip(app_py=VERSION.format(3))}
        updating = asyncio.ensure_future(world.refused("UpdateFunctionCode", **update))
        await until(lambda: unpacking.count)
        world.documents.replace(restored)
        unpacking.gate.set()
        assert (await updating)[0] == 404
        assert world.documents.content == restored
        assert await world.invoke() == 1

    run_functions(test)


def test_closing_ends_what_an_update_has_left_running(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = fifo(tmp_path)
        await world.create(code=WAITING)
        running = asyncio.ensure_future(world.invoke(event=path))
        await begun(path)
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=ECHO))
        await world.close()
        assert (await running)["errorType"] == "Runtime.ExitError"

    run_functions(test)


# --- limits -------------------------------------------------------------------------------------


def test_reserved_executions_bound_the_invocations_of_all_versions(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        path = fifo(tmp_path)
        await world.create(code=WAITING)
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=1)
        running = asyncio.ensure_future(world.invoke(event=path))
        await begun(path)
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=ECHO))
        with pytest.raises(LambdaError) as refusal:
            await world.invoke()
        assert (refusal.value.http_status, refusal.value.code) == (429, "TooManyRequestsException")
        assert refusal.value.members == {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}
        await release(path)
        await running
        assert await world.invoke(event=2) == 2
        await world.call("PutFunctionConcurrency", FunctionName="orders", ReservedConcurrentExecutions=0)
        with pytest.raises(ConcurrencyExceeded, match="Rate Exceeded"):
            await world.functions.invoke(ARN, b"1", "request")
        await world.call("UpdateFunctionCode", FunctionName="orders", ZipFile=make_zip(app_py=PID))
        await world.call("DeleteFunctionConcurrency", FunctionName="orders")
        assert isinstance(await world.invoke(), int)

    run_functions(test)


def test_too_many_invocations_of_all_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaded, "INVOCATIONS_RUNNING_MAX", 1)

    async def test(world: FunctionsWorld) -> None:
        path = fifo(tmp_path)
        await world.create(code=WAITING)
        await world.create("others")
        running = asyncio.ensure_future(world.invoke(event=path))
        await begun(path)
        with pytest.raises(LambdaError) as refusal:
            await world.invoke("others")
        assert refusal.value.members == {"Reason": "ConcurrentInvocationLimitExceeded"}
        with pytest.raises(LambdaError) as refusal:
            await world.create("third")
        assert refusal.value.http_status == 429
        await release(path)
        await running

    run_functions(test)


@pytest.mark.parametrize("limit", ["ENVIRONMENTS_IDLE_MAX", "FUNCTIONS_LOADED_MAX"])
def test_functions_used_longest_ago_are_unloaded(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    monkeypatch.setattr(loaded, limit, 2)

    async def test(world: FunctionsWorld) -> None:
        for name in ("a", "b"):
            await world.create(name)
        await world.invoke("a")
        await world.create("c")
        assert [key.name for key in world.functions._loaded._loaded] == ["a", "c"]
        await until(lambda: folders(world) == 2)
        assert await world.invoke("b", 7) == 7
        assert [key.name for key in world.functions._loaded._loaded] == ["c", "b"]

    run_functions(test)


def test_a_server_that_runs_no_code_takes_none() -> None:
    async def test(world: FunctionsWorld) -> None:
        with pytest.raises(FunctionsSwitchedOff, match="Start Hashrange with --functions to run their code"):
            await world.create()
        assert world.documents.content == {}

    run_functions(test, runs_code=False)


def test_a_server_that_runs_no_code_shows_and_deletes_what_another_one_has_stored() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        quiet = FunctionsWorld(runs_code=False)
        quiet.documents.replace(world.documents.content)
        assert (await quiet.call("GetFunction", FunctionName="orders"))["Configuration"]["State"] == "Active"
        assert (await quiet.refused("Invoke", FunctionName="orders"))[1] == "InvalidParameterValueException"
        await quiet.call("UpdateFunctionConfiguration", FunctionName="orders", Description="shown")
        await quiet.call("DeleteFunction", FunctionName="orders")
        assert quiet.documents.content == {}
        await quiet.close()

    run_functions(test)


# --- the store's content ------------------------------------------------------------------------


def test_functions_survive_a_restart_and_a_restore_ends_what_runs() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create(code=PID)
        kept, first = dict(world.documents.content), await world.invoke()
        await world.create("later")
        world.documents.replace(kept)
        assert await world.invoke() != first
        assert [key.name for key in world.functions._loaded._loaded] == ["orders"]
        assert (await world.refused("GetFunction", FunctionName="later"))[0] == 404
        world.documents.replace({})
        assert (await world.call("ListFunctions"))["Functions"] == []

    run_functions(test)


def test_in_the_embedded_store() -> None:
    async def test(world: FunctionsWorld) -> None:
        store = make_store()
        try:
            functions = Functions(store.documents, world.clock, world.functions.options)
            world.functions, replaced = functions, world.functions
            await world.create()
            assert await world.invoke(event=[1]) == [1]
            assert [one["FunctionName"] for one in (await world.call("ListFunctions"))["Functions"]] == ["orders"]
            await functions.close()
            world.functions = replaced
        finally:
            await store.close()

    run_functions(test)


def test_another_account_and_region_have_functions_of_their_own() -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create()
        assert (await world.call("ListFunctions", Caller("111122223333", "eu-west-1")))["Functions"] == []
        assert (await world.call("ListFunctions", Caller("000000000000", "local")))["Functions"] == []
        assert json.loads((await world.functions.invoke(ARN, b"5", "request")).payload) == 5

    run_functions(test)
