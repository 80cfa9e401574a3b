"""Functions of the server's settings are invoked like others, follow their code, and cannot be changed over the API."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hashrange.aws_services.operation import Caller
from hashrange.functions.declaration import FunctionDeclaration, FunctionsError, read_functions
from hashrange.functions.description import FunctionOptions, HandlerCredentials
from hashrange.functions.functions import Functions
from tests.unit.functions.answering import answering, reply
from tests.unit.functions.functions_world import CALLER, ECHO, FunctionsWorld, make_zip, run_functions
from tests.unit.functions.world import NODE

ARN = "arn:aws:lambda:eu-west-1:000000000000:function:resize"


def declared(world: FunctionsWorld, folder: Path, code: str, **members: Any) -> None:
    """Declare the function `resize` with this app.py."""
    (folder / "app.py").write_text(code)
    world.functions.declare("resize", FunctionDeclaration(code=str(folder), handler="app.handler", **members))


def test_a_folder_follows_its_changes(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        declared(world, tmp_path, ECHO, environment={"TABLE": "t"})
        await world.functions.start()
        assert await world.invoke("resize", 1) == 1
        (tmp_path / "app.py").write_text("import os\ndef handler(event, context):\n    return os.environ['TABLE']\n")
        assert await world.invoke(ARN) == "t"
        assert world.documents.content == {}

    run_functions(test)


def test_a_broken_handler_is_logged_at_start_and_can_be_repaired(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: FunctionsWorld) -> None:
        declared(world, tmp_path, "import x")
        await world.functions.start()
        assert caplog.messages[-1] == (
            "The function resize cannot be run: The function's code cannot be loaded: Runtime.ImportModuleError: "
            "Unable to import module 'app': No module named 'x'"
        )
        assert (await world.invoke("resize"))["errorType"] == "Runtime.ImportModuleError"
        (tmp_path / "app.py").write_text(ECHO)
        assert await world.invoke("resize", 2) == 2

    run_functions(test)


def test_a_module_on_the_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(world: FunctionsWorld) -> None:
        (tmp_path / "some_handlers.py").write_text("def resize(event, context):\n    return context.function_name\n")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        world.functions.declare("resize", FunctionDeclaration(code="some_handlers:resize"))
        assert await world.invoke("resize") == "resize"

    run_functions(test)


def test_a_url_needs_no_code_to_run() -> None:
    async def test(world: FunctionsWorld) -> None:
        async with answering(reply(b"[2]")) as server:
            world.functions.declare("resize", FunctionDeclaration(url=f"{server.url}/invocations"))
            await world.functions.start()
            assert await world.invoke("resize", [1]) == [2]
            assert [(one.path, one.body) for one in server.requests] == [("/invocations", b"[1]")]
            refusal = await world.refused("CreateFunction", **creation())
            assert refusal[2].startswith("Running functions is switched off")

    run_functions(test, runs_code=False)


def test_declared_code_needs_a_server_that_runs_code(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: FunctionsWorld) -> None:
        declared(world, tmp_path, ECHO)
        await world.functions.start()
        assert "Start Hashrange with --functions" in caplog.messages[-1]
        assert "Start Hashrange with --functions" in (await world.refused("Invoke", FunctionName="resize"))[2]

    run_functions(test, runs_code=False)


def creation() -> dict[str, Any]:
    """Members of CreateFunction."""
    return {
        "FunctionName": "other",
        "Runtime": "python3.12",
        "Role": "arn:aws:iam::000000000000:role/r",
        "Handler": "app.handler",
        "Code": {"ZipFile": make_zip(app_py=ECHO)},
    }


def test_declared_functions_are_shown_and_cannot_be_changed(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        await world.create("orders")
        declared(world, tmp_path, ECHO, timeout=2.5, memory=256)
        shown = await world.call("GetFunction", FunctionName="resize")
        assert shown["Code"] == {"RepositoryType": "S3"}
        configuration = shown["Configuration"]
        assert (configuration["FunctionArn"], configuration["State"], configuration["MemorySize"]) == (
            ARN,
            "Active",
            256,
        )
        assert [one["FunctionName"] for one in (await world.call("ListFunctions"))["Functions"]] == ["orders", "resize"]
        message = "The function resize is declared in the server's settings, and can only be changed there."
        for operation, members in (
            ("UpdateFunctionCode", {"FunctionName": "resize", "ZipFile": make_zip(app_py=ECHO)}),
            ("UpdateFunctionConfiguration", {"FunctionName": "resize", "Timeout": 4}),
            ("DeleteFunction", {"FunctionName": "resize"}),
            ("PutFunctionConcurrency", {"FunctionName": "resize", "ReservedConcurrentExecutions": 1}),
            ("TagResource", {"Resource": ARN, "Tags": {"a": "b"}}),
        ):
            assert await world.refused(operation, **members) == (400, "InvalidParameterValueException", message)
        refusal = await world.refused("CreateFunction", **{**creation(), "FunctionName": "resize"})
        assert refusal == (409, "ResourceConflictException", "Function already exist: resize")

    run_functions(test)


def test_who_sees_a_declared_function(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        other = Caller("111122223333", "us-east-1")
        code = (
            "import os\ndef handler(event, context):\n    return [os.environ['AWS_REGION'],"
            " os.environ['AWS_ACCESS_KEY_ID'], context.invoked_function_arn]\n"
        )
        declared(world, tmp_path, code)
        for caller in (CALLER, other):
            (shown,) = (await world.call("ListFunctions", caller))["Functions"]
            invocation = await world.functions.invoke(shown["FunctionArn"], b"1", "request")
            assert json.loads(invocation.payload) == [
                caller.region,
                f"key-of-{caller.account}",
                f"arn:aws:lambda:{caller.region}:{caller.account}:function:resize",
            ]
        declared(world, tmp_path, ECHO, region="eu-west-1")
        assert (await world.call("ListFunctions", other))["Functions"] == []
        assert (await world.call("ListFunctions"))["Functions"] != []

    run_functions(test, credentials_of=lambda caller: HandlerCredentials(f"key-of-{caller.account}", "secret"))


def test_handlers_find_the_server(tmp_path: Path) -> None:
    async def test(world: FunctionsWorld) -> None:
        declared(
            world,
            tmp_path,
            "import os\ndef handler(event, context):\n    return os.environ['AWS_ENDPOINT_URL_DYNAMODB']\n",
        )
        assert await world.invoke("resize") == "http://127.0.0.1:8000"

    run_functions(test, endpoints={"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000"})


def test_output_of_handlers_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "hashrange.functions")

    async def test(world: FunctionsWorld) -> None:
        code = (
            "import logging\ndef handler(event, context):\n    print('seen')\n    logging.warning('w')\n"
            "    raise LookupError('x')\n"
        )
        declared(world, tmp_path, code)
        await world.functions.invoke(ARN, b"1", "request-1")
        lines = [(record.levelname, record.getMessage()) for record in caplog.records]
        assert ("INFO", "resize request-1 seen") in lines
        assert ("INFO", "resize request-1 [WARNING] w") in lines, (
            "without the time and the request id of Python's logger"
        )
        (error,) = [text for level, text in lines if level == "INFO" and "LookupError" in text]
        assert error.startswith("resize request-1 [ERROR] LookupError: x\nTraceback (most recent call last):\n")
        assert [text.split()[2] for level, text in lines if level == "DEBUG"] == ["START", "END", "REPORT"]

    run_functions(test)


def test_the_same_error_is_logged_with_its_trace_once_until_a_success_or_other_code(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "hashrange.functions")
    code = "def handler(event, context):\n    return 1 / (event % 3)\n"

    def traces() -> list[bool]:
        """What was logged since the last call: True for an error with its trace, False for one without."""
        found = ["\nTraceback" in one for one in caplog.messages if "[ERROR]" in one]
        caplog.clear()
        return found

    async def test(world: FunctionsWorld) -> None:
        declared(world, tmp_path, "import x")
        await world.functions.start()
        await world.invoke("resize", 0)
        assert traces() == [True, False], "a start that fails is an error as well"
        (tmp_path / "app.py").write_text(code)
        for event in (0, 3, 0):
            await world.invoke("resize", event)
        assert traces() == [True, False, False]
        for event in (1, 0, 0):
            await world.invoke("resize", event)
        assert traces() == [True, False]
        (tmp_path / "app.py").write_text(f"{code}\n# changed\n")
        await world.invoke("resize", 0)
        assert traces() == [True]

    run_functions(test)


@pytest.mark.needs("node")
def test_the_log_names_runtimes_of_stored_functions_that_are_not_there(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: FunctionsWorld) -> None:
        code = {"ZipFile": make_zip(index_js="exports.handler = async () => 1")}
        await world.create(Runtime=NODE, Handler="index.handler", Code=code)
        await world.create("others")
        monkeypatch.setenv("PATH", "")
        await world.functions.start()
        assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
            (
                "Functions of the runtime nodejs20.x cannot be run (orders): node could not be started:"
                " it is not on PATH. Install Node.js 20 (https://nodejs.org), or start the"
                " server with a PATH that has it."
            )
        ]

    run_functions(test)


# --- the TOML tables ----------------------------------------------------------------------------


def test_tables_are_read(tmp_path: Path) -> None:
    found = read_functions(
        {
            "resize": {"code": str(tmp_path), "handler": "app.handler", "timeout": 5, "environment": {"TABLE": "t"}},
            "bill": {"url": "http://localhost:9000/x", "account": "111122223333", "region": "local"},
        }
    )
    assert found["resize"].timeout == 5
    assert found["bill"].is_seen_by(Caller("111122223333", "local"))
    assert not found["bill"].is_seen_by(Caller("111122223333", "eu-west-1"))


TABLE_FAULTS: list[tuple[Any, str]] = [
    ({}, "it needs either code"),
    ({"code": ".", "url": "http://x"}, "it needs either code"),
    ({"code": "."}, 'code that is a folder needs handler = "module.function"'),
    ({"code": ".", "handler": "a b"}, "needs handler"),
    ({"code": "not/there"}, "The code 'not/there' was not found"),
    ({"code": "tests:x", "handler": "a.b"}, "names its handler already"),
    ({"code": "tests:x", "runtime": "nodejs20.x"}, "runs under Python"),
    ({"code": ".", "handler": "a.b", "runtime": "java21"}, 'the runtime "java21" is not supported'),
    ({"code": ".", "handler": "a.b", "environment": {"AWS_REGION": "x"}}, "reserved keys"),
    (
        {"code": ".", "handler": "a.b", "environment": {"N": 1}},
        "N of environment is not shown, because it may be secret; it must be text.",
    ),
    ({"code": ".", "handler": "a.b", "timeout": 0}, "timeout is 0; it must be a number above 0, and at most "),
    (
        {"code": ".", "handler": "a.b", "timeout": 1801},
        "timeout is 1801; it must be a number above 0, and at most 1,800.",
    ),
    ({"code": ".", "handler": "a.b", "memory": 64}, "memory is 64; it must be a whole number from 128 to 10,240."),
    ({"code": ".", "handlers": "a.b"}, "it has no member handlers. Did you mean handler?"),
    ({"url": "localhost"}, "is no URL of the form"),
    ({"url": "http://x", "handler": "a.b"}, "handler is for functions with code"),
    ({"url": "http://x", "account": "1"}, 'account is "1"; it must be the 12 digits of an account, as text.'),
    ("code", 'it is "code"; it must be a table.'),
]


@pytest.mark.parametrize(("table", "message"), TABLE_FAULTS, ids=lambda value: str(value)[:60])
def test_tables_that_cannot_be_used(table: Any, message: str) -> None:
    with pytest.raises(FunctionsError) as error:
        read_functions({"resize": table})
    assert str(error.value).startswith('the function "resize" cannot be used: ')
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "é"])
def test_names_that_functions_cannot_have(name: str) -> None:
    with pytest.raises(FunctionsError, match="a name has 1 to 64 letters"):
        read_functions({name: {"url": "http://x"}})


def test_declaring_checks_too() -> None:
    async def test(world: FunctionsWorld) -> None:
        functions = Functions(world.documents, world.clock, FunctionOptions())
        with pytest.raises(FunctionsError):
            functions.declare("resize", FunctionDeclaration())

    run_functions(test)
