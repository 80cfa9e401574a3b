"""JavaScript handlers of every style see Lambda's context, and their results and errors have Lambda's form."""

import pytest

from hashrange.functions.handler_errors import described, read_handler_error
from hashrange.limits import INVOCATION_PAYLOAD_BYTES_MAX, INVOCATION_REPLY_BYTES_MAX
from tests.unit.functions.conftest import Runner
from tests.unit.functions.world import NODE, World, decoded, failed

pytestmark = pytest.mark.needs("node")


@pytest.mark.parametrize(
    ("files", "handler"),
    [
        ({"index_js": "exports.handler = async (event) => event"}, "index.handler"),
        ({"index_js": "exports.handler = (event, context, callback) => { callback(null, event) }"}, "index.handler"),
        ({"index_js": "exports.handler = (event, context) => context.done(null, event)"}, "index.handler"),
        ({"index_mjs": "export const handler = async (event) => event"}, "index.handler"),
        ({"index_cjs": "exports.handler = (event) => Promise.resolve(event)"}, "index.handler"),
        ({"src__app_js": "exports.a = { run: async (event) => event }"}, "src/app.a.run"),
        (
            {"package_json": '{"type": "module"}', "src__app_js": "import 'fs'; export const handler = async (e) => e"},
            "src/app.handler",
        ),
    ],
)
def test_styles(in_world: Runner, files: dict[str, str], handler: str) -> None:
    async def test(world: World) -> None:
        world.write(**files)
        pool = world.pool(runtime=NODE, handler=handler)
        assert decoded(await world.invoke(pool, {"é": 1})) == {"é": 1}
        assert decoded(await world.invoke(pool, 2)) == 2

    in_world(test)


def test_the_context(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            index_js="""
exports.handler = async (event, context) => {
  const left = context.getRemainingTimeInMillis();
  return [left > 0 && left <= 60000, context.awsRequestId, context.functionName, context.functionVersion,
    context.memoryLimitInMB, context.invokedFunctionArn, context.logGroupName, context.logStreamName.includes("[$LATEST]"),
    process.env.AWS_ACCESS_KEY_ID, process.env._HASHRANGE_RUNTIME ?? null];
};
"""  # noqa: E501
        )
        assert decoded(await world.invoke(world.pool(runtime=NODE))) == [
            True,
            "request-1",
            "orders",
            "$LATEST",
            "128",
            world.runnable().function.arn,
            "/aws/lambda/orders",
            True,
            "AKID",
            None,
        ]

    in_world(test)


def test_a_callback_waits_for_the_event_loop_unless_told_otherwise(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            index_js="""
let finished = 0;
exports.handler = (event, context, callback) => {
  if (event === "state") return callback(null, finished);
  context.callbackWaitsForEmptyEventLoop = event === "wait";
  setTimeout(() => { finished += 1 }, event === "wait" ? 5 : 1e6);
  callback(null, event);
};
"""
        )
        pool = world.pool(runtime=NODE)
        answers = [decoded(await world.invoke(pool, event)) for event in ("wait", "state", "leave")]
        assert answers == ["wait", 1, "leave"]

    in_world(test)


def test_a_handler_that_never_answers_returns_null(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(index_js="exports.handler = () => new Promise(() => {})")
        pool = world.pool(runtime=NODE)
        assert [decoded(await world.invoke(pool)) for _ in range(2)] == [None, None]

    in_world(test)


@pytest.mark.parametrize(
    ("code", "error_type", "message"),
    [
        ("async () => { throw new RangeError('no order') }", "RangeError", "no order"),
        ("(event, context, callback) => callback('plain')", "string", "plain"),
        ("() => { throw new TypeError('at once') }", "TypeError", "at once"),
        ("async () => { const a = {}; a.a = a; return a }", "Error", "Unable to stringify response body"),
        ("() => { setTimeout(() => { throw new Error('later') }) }", "Error", "later"),
        ("() => { throw { get stack() { throw new Error('no') } } }", "object", "[object Object]"),
        ("() => { Promise.reject(new Error('lost')) }", "Runtime.UnhandledPromiseRejection", "Error: lost"),
    ],
)
def test_errors_of_a_handler(in_world: Runner, code: str, error_type: str, message: str) -> None:
    async def test(world: World) -> None:
        world.write(index_js=f"exports.handler = {code}")
        error = await failed(world.invoke(world.pool(runtime=NODE)))
        assert (error["errorType"], error["errorMessage"]) == (error_type, message)
        assert isinstance(error["trace"], list)

    in_world(test)


@pytest.mark.parametrize(
    ("code", "handler", "error_type", "message"),
    [
        ("require('not-there')", "index.handler", "Runtime.ImportModuleError", "Error: Cannot find module 'not-there'"),
        ("", "other.handler", "Runtime.ImportModuleError", "Error: Cannot find module 'other'"),
        ("exports.handler = (", "index.handler", "Runtime.UserCodeSyntaxError", "SyntaxError: "),
        ("", "index.handler", "Runtime.HandlerNotFound", "index.handler is undefined or not exported"),
        ("exports.handler = 1", "index.handler", "Runtime.HandlerNotFound", "index.handler is not a function"),
        ("", "index", "Runtime.MalformedHandlerName", "Bad handler"),
        ("", "../index.handler", "Runtime.MalformedHandlerName", "'../index.handler' is not a valid handler name."),
        ("throw new RangeError('at load')", "index.handler", "RangeError", "at load"),
        ("process.exit(7)", "index.handler", "Runtime.ExitError",
         "RequestId: request-1 Error: Runtime exited with error: exit status 7"),
    ],
)  # fmt: skip
def test_errors_of_the_start(in_world: Runner, code: str, handler: str, error_type: str, message: str) -> None:
    async def test(world: World) -> None:
        world.write(index_js=code)
        error = await failed(world.invoke(world.pool(runtime=NODE, handler=handler)))
        assert error["errorType"] == error_type
        assert error["errorMessage"].startswith(message)

    in_world(test)


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({"index_js": "const a = 1;\nexports.handler = (;"}, "index.js, line 2"),
        ({"index_mjs": "const a = 1;\nexport const handler = (;"}, "index.mjs, line 2"),
        ({"index_mjs": "import './lib.mjs'", "lib_mjs": "\n\nconst a = ("}, "lib.mjs, line 3"),
        ({"index_mjs": "import { b } from './lib.mjs'", "lib_mjs": "export const a = 1"}, "index.mjs, line 1"),
        ({"index_mjs": "\nJSON.parse('{')"}, "index.mjs, line 2"),
        ({"package_json": '{"type": "module"}', "index_js": "const a = 1;\nexport let = 1"}, "index.js, line 2"),
        ({"index_js": "\nthrow new RangeError('at load')"}, "index.js, line 2"),
    ],
)
def test_an_error_of_the_start_tells_file_and_line(in_world: Runner, files: dict[str, str], place: str) -> None:
    async def test(world: World) -> None:
        world.write(**files)
        invocation = await world.invoke(world.pool(runtime=NODE))
        error = read_handler_error(invocation.payload)
        assert error is not None
        assert described(error).endswith(f" ({place})")
        assert place.partition(",")[0] in world.output()[0]

    in_world(test)


def test_the_same_error_is_logged_with_its_stack_once(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            index_js="""
exports.handler = async (event) => {
  if (event === "good") return;
  const error = new RangeError(event);
  throw Object.assign(error, { requestId: Math.random() });
};
"""
        )
        pool = world.pool(runtime=NODE)
        for event in ("one", "two", "good", "two"):
            await world.invoke(pool, event)
        whole = [
            number for number in range(1, 5) if any('"stack":["RangeError: ' in one for one in world.output(number))
        ]
        assert whole == [1, 4]
        assert world.output(2) == [
            "[ERROR] RangeError: two (the trace is the same as before, and is logged again after a success)"
        ]

    in_world(test)


def test_the_largest_payload_and_reply(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(index_js="exports.handler = async (e) => typeof e === 'string' ? e : 'x'.repeat(e)")
        pool = world.pool(runtime=NODE)
        payload = b'"' + b"x" * (INVOCATION_PAYLOAD_BYTES_MAX - 2) + b'"'
        assert (await pool.invoke(payload, "request")).payload == payload
        error = await failed(world.invoke(pool, INVOCATION_REPLY_BYTES_MAX - 1))
        assert error["errorType"] == "Function.ResponseSizeTooLarge"

    in_world(test)


def test_the_log(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(index_js="exports.handler = async () => { console.log('a\\nb', {n: 1}); console.warn('c') }")
        await world.invoke(world.pool(runtime=NODE))
        assert [line.split("\t")[1:] for line in world.output()] == [
            ["request-1", "INFO", "a\rb { n: 1 }"],
            ["request-1", "WARN", "c"],
        ]

    in_world(test)


def test_a_full_heap_ends_the_process(in_world: Runner) -> None:
    async def test(world: World) -> None:
        world.write(
            index_js=(
                "exports.handler = async (event) => { const all = []; while (event) all.push({ n: all.length });"
                " return 'alive' }"
            )
        )
        pool = world.pool(runtime=NODE)
        error = await failed(world.invoke(pool, 1))
        assert error["errorType"] in {"Runtime.ExitError", "Runtime.OutOfMemory"}
        assert decoded(await world.invoke(pool, 0)) == "alive"

    in_world(test)
