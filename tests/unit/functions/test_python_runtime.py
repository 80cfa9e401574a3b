"""Python handlers see Lambda's context and variables, and their results and errors have Lambda's form."""

from typing import Any

import pytest

from hashrange.functions.description import HandlerCredentials
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, INVOCATION_REPLY_BYTES_MAX
from tests.unit.functions.conftest import Runner
from tests.unit.functions.world import PYTHON, World, decoded, failed


def test_a_result_and_the_context(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            app_py="""
def handler(event, context):
    assert 0 < context.get_remaining_time_in_millis() <= 60_000
    assert (context.identity.cognito_identity_id, context.client_context) == (None, None)
    return [event, context.aws_request_id, context.function_name, context.function_version, context.memory_limit_in_mb,
            context.invoked_function_arn, context.log_group_name, context.log_stream_name.rpartition("]")[0]]
"""
        )
        assert decoded(await world.invoke(world.pool(), {"é": 1})) == [
            {"é": 1}, "request-1", "orders", "$LATEST", "128", world.runnable().function.arn, "/aws/lambda/orders",
            world.pools[0]._log_stream_name().rpartition("]")[0],
        ]  # fmt: skip

    in_world(test)


def test_the_variables(in_world: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "x")

    async def test(world: World) -> None:
        world.write(app_py="import os\ndef handler(event, context): return dict(os.environ)")
        own = {"TABLE": "orders", "AWS_REGION": "reserved", "TZ": "Europe/Madrid", "AWS_ENDPOINT_URL_S3": "own"}
        endpoints = {"AWS_ENDPOINT_URL_S3": "given", "AWS_ENDPOINT_URL_DYNAMODB": "http://localhost:8000"}
        pool = world.pool(variables=own, endpoints=endpoints, credentials=HandlerCredentials("AKID", "hidden", "token"))
        found = decoded(await world.invoke(pool))
        expected = {
            "TABLE": "orders",
            "TZ": "Europe/Madrid",
            "AWS_ENDPOINT_URL_S3": "own",
            "AWS_ENDPOINT_URL_DYNAMODB": "http://localhost:8000",
            "AWS_REGION": "eu-west-1",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "AKID",
            "AWS_SECRET_ACCESS_KEY": "hidden",
            "AWS_SESSION_TOKEN": "token",
            "AWS_LAMBDA_FUNCTION_NAME": "orders",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "_HANDLER": "app.handler",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "128",
            "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/orders",
            "LAMBDA_TASK_ROOT": str(world.folder),
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{PYTHON}",
        }
        assert expected.items() <= found.items()
        assert not {"SECRET_OF_THE_SERVER", "_HASHRANGE_RUNTIME"} & found.keys()

    in_world(test)


def test_a_warm_environment_keeps_its_state(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(src__app_py="calls = []\ndef handler(event, context):\n    calls.append(event)\n    return calls\n")
        pool = world.pool(handler="src/app.handler")
        await world.invoke(pool, 1)
        assert decoded(await world.invoke(pool, 2)) == [1, 2]

    in_world(test)


@pytest.mark.parametrize(
    ("result", "payload"),
    [
        ("None", b"null"),
        ("{'n': Decimal('1.50'), 'm': [Decimal('1E+3')]}", b'{"n": 1.50, "m": [1E+3]}'),
        ("b'\\x00raw'", b"\x00raw"),
    ],
)
def test_results(in_world: Runner, result: str, payload: bytes) -> None:
    async def test(world: World) -> None:
        world.write(app_py=f"from decimal import Decimal\ndef handler(event, context): return {result}")
        assert (await world.invoke(world.pool())).payload == payload

    in_world(test)


def test_the_error_of_a_handler(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py="def handler(event, context):\n    raise LookupError('no order')\n")
        invocation = await world.invoke(pool := world.pool())
        assert invocation.function_error == "Unhandled"
        assert decoded(invocation) == {
            "errorMessage": "no order",
            "errorType": "LookupError",
            "requestId": "request-1",
            "stackTrace": [
                f"  File \"{world.folder}/app.py\", line 2, in handler\n    raise LookupError('no order')\n"
            ],
        }
        assert world.output()[0].startswith("[ERROR] LookupError: no order\rTraceback (most recent call last):\r\u00a0")
        assert pool.idle_count == 1

    in_world(test)


@pytest.mark.parametrize(
    ("code", "handler", "error_type", "message"),
    [
        ("import not_there", "app.handler", "Runtime.ImportModuleError",
         "Unable to import module 'app': No module named 'not_there'"),
        ("", "other.handler", "Runtime.ImportModuleError", "Unable to import module 'other': No module named 'other'"),
        ("def handler(:", "app.handler", "Runtime.UserCodeSyntaxError", "Syntax error in module 'app': "),
        ("", "app.handler", "Runtime.HandlerNotFound", "Handler 'handler' missing on module 'app'"),
        ("", "handler", "Runtime.MalformedHandlerName", "Bad handler 'handler': "),
        ("", "sys.exit", "Runtime.BuiltInModuleConflict", "Cannot use built-in module sys as a handler module"),
        ("1 / 0", "app.handler", "ZeroDivisionError", "division by zero"),
        ("x = bytearray(1 << 33)", "app.handler", "Runtime.OutOfMemory",
         "RequestId: request-1 Error: Runtime exited with error: signal: killed"),
        ("import sys; sys.exit(7)", "app.handler", "Runtime.ExitError",
         "RequestId: request-1 Error: Runtime exited with error: exit status 7"),
    ],
)  # fmt: skip
def test_errors_of_the_start(in_world: Runner, code: str, handler: str, error_type: str, message: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=code)
        error = await failed(world.invoke(pool := world.pool(handler=handler)))
        assert error["errorType"] == error_type
        assert error["errorMessage"].startswith(message)
        assert world.lines[-1][1].split("\t")[-3:] == ["Status: error", f"Error Type: {error_type}", ""]
        assert pool.idle_count == 0

    in_world(test)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os._exit(0)", "Runtime exited without providing a reason"),
        ("import sys; sys.exit(3)", "Runtime exited with error: exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "Runtime exited with error: signal: killed"),
        ("import os; os.killpg(0, 9)", "Runtime exited with error: signal: killed"),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "Runtime exited with error: signal: segmentation fault",
        ),
    ],
)
def test_ends_of_the_process(in_world: Runner, code: str, message: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=f"def handler(event, context):\n    if event: {code}\n    return 'alive'\n")
        pool = world.pool()
        assert await failed(world.invoke(pool, 1)) == {
            "errorType": "Runtime.ExitError", "errorMessage": f"RequestId: request-1 Error: {message}",
        }  # fmt: skip
        assert decoded(await world.invoke(pool, 0)) == "alive"

    in_world(test)


def test_what_cannot_be_encoded(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py="def handler(event, context): return {1, 2}")
        error = await failed(world.invoke(world.pool()))
        assert error["errorType"] == "Runtime.MarshalError"
        assert error["errorMessage"] == "Unable to marshal response: Object of type set is not JSON serializable"

    in_world(test)


def test_a_payload_that_is_no_json(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py="def handler(event, context): return event")
        error = await failed(world.pool().invoke(b"{", "request"))
        assert error["errorType"] == "Runtime.UnmarshalError"

    in_world(test)


def test_the_largest_payload_and_reply(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(app_py="def handler(event, context): return event if isinstance(event, str) else 'x' * event")
        pool = world.pool()
        payload = b'"' + b"x" * (INVOCATION_PAYLOAD_BYTES_MAX - 2) + b'"'
        assert (await pool.invoke(payload, "request")).payload == payload
        assert len((await world.invoke(pool, INVOCATION_REPLY_BYTES_MAX - 2)).payload) == INVOCATION_REPLY_BYTES_MAX
        assert await failed(world.invoke(pool, INVOCATION_REPLY_BYTES_MAX - 1)) == {
            "errorType": "Function.ResponseSizeTooLarge",
            "errorMessage": "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
        }

    in_world(test)


def test_the_log(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            app_py="""
import logging, sys
print("loaded")
def handler(event, context):
    print("one\\ntwo"); sys.stderr.write("three\\n"); logging.getLogger().warning("four"); sys.stdout.write("five")
"""
        )
        tail = (await world.invoke(world.pool())).log_tail.decode().splitlines()
        assert tail == [line for _, line in world.lines]
        assert tail[:5] == ["loaded", "START RequestId: request-1 Version: $LATEST", "one", "two", "three"]
        assert tail[5].startswith("[WARNING]\t")
        assert tail[5].endswith("Z\trequest-1\tfour")
        assert tail[6:8] == ["five", "END RequestId: request-1"]
        report: dict[str, Any] = dict(part.split(": ", 1) for part in tail[8].split("\t")[1:-1])
        assert tail[8].startswith("REPORT RequestId: request-1\tDuration: ")
        assert list(report) == ["Duration", "Billed Duration", "Memory Size", "Max Memory Used", "Init Duration"]
        assert report["Memory Size"] == "128 MB"

    in_world(test)


def test_a_client_context(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            app_py=(
                "def handler(event, context): return [context.client_context.custom,"
                " context.client_context.client.app_title]"
            )
        )
        invocation = await world.pool().invoke(b"1", "request", '{"custom": {"a": 1}, "client": {"app_title": "t"}}')
        assert decoded(invocation) == [{"a": 1}, "t"]

    in_world(test)


def test_boto3_and_its_threads_run_in_the_smallest_memory(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            app_py="""
import boto3
from concurrent.futures import ThreadPoolExecutor
dynamodb = boto3.client("dynamodb")
def handler(event, context):
    with ThreadPoolExecutor(10) as pool:
        return list(pool.map(lambda n: dynamodb.meta.region_name, range(10)))
"""
        )
        assert decoded(await world.invoke(world.pool())) == ["eu-west-1"] * 10

    in_world(test)
