"""Whatever a handler does, its invocation ends, nothing of it is left, and the next invocation works."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hashrange.limits import FUNCTION_LOG_BYTES_MAX, LOG_TAIL_BYTES_MAX
from tests.support.waiting import PATIENCE_SECONDS, until
from tests.unit.functions.world import LOOPS, NODE, PYTHON, Test, World, decoded, failed, run

QUICK_SECONDS = 0.2
"""A time-out for handlers that never return, so that it does not matter how fast the machine is."""

PYTHON_CODE = """
import json, os, signal, socket, subprocess, sys, time

def protocol_socket():
    for fd in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                return socket.socket(fileno=fd)
        except OSError:
            pass

def reply(request_id, body, kind="result"):
    head = json.dumps({"kind": kind, "requestId": request_id}).encode()
    return len(head).to_bytes(4, "big") + head + len(body).to_bytes(4, "big") + body

def handler(event, context):
    if event == "alive":
        return "alive"
    CODE
"""


def python(code: str) -> str:
    """A handler that does this unless its event is "alive"."""
    return PYTHON_CODE.replace("CODE", code.strip().replace("\n", "\n    "))


@pytest.fixture(params=sorted(LOOPS))
def in_each_loop(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Test], None]:
    """Runs a test in each kind of loop."""
    folder = tmp_path / "code"
    folder.mkdir()
    return lambda test: run(folder, test, request.param)


@pytest.fixture
def in_loop(tmp_path: Path) -> Callable[[Test], None]:
    """Runs a test in the loop that servers use."""
    folder = tmp_path / "code"
    folder.mkdir()
    return lambda test: run(folder, test, max(LOOPS))


ENDLESS = {
    "looping": "while True: pass",
    "sleeping": "time.sleep(1e6)",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)",
    "deaf": (
        "for number in range(1, 32):\n    try: signal.signal(number, signal.SIG_IGN)\n    except OSError: pass\n"
        "time.sleep(1e6)"
    ),
    "a child that loops": "os.fork()\nwhile True: pass",
    "endless output": "while True: print('x' * 10000)",
}


@pytest.mark.parametrize("code", ENDLESS.values(), ids=ENDLESS)
def test_a_handler_that_never_returns_is_ended(in_loop: Callable[[Test], None], code: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=python(code))
        pool = world.pool(timeout_seconds=QUICK_SECONDS)
        assert await failed(world.invoke(pool)) == {
            "errorType": "Sandbox.Timedout",
            "errorMessage": "RequestId: request-1 Error: Task timed out after 0.20 seconds",
        }
        *_, last, end, report = [line for _, line in world.lines]
        assert last.endswith("Z request-1 Task timed out after 0.20 seconds")
        assert end == "END RequestId: request-1"
        assert report.split("\t")[-2] == "Status: timeout"
        assert pool.idle_count == 0

    in_loop(test)


FATAL = {
    "closed descriptors": ("os.closerange(0, 4096)", "Runtime.ExitError"),
    "too long a frame": ("protocol_socket().sendall(bytes([255]) * 8)\ntime.sleep(1e6)", "Runtime.ExitError"),
    "megabytes": ("protocol_socket().sendall(bytes(1 << 24))\ntime.sleep(1e6)", "Runtime.ExitError"),
    "no JSON": ("protocol_socket().sendall(bytes([0, 0, 0, 1, 0, 0, 0, 0, 0]))\ntime.sleep(1e6)", "Runtime.ExitError"),
    "another's reply": ("protocol_socket().sendall(reply('other', b'1'))\ntime.sleep(1e6)", "Runtime.ExitError"),
    "another message": (
        "protocol_socket().sendall(reply(context.aws_request_id, b'1', 'ready'))\ntime.sleep(1e6)",
        "Runtime.ExitError",
    ),
    "an error that is none": (
        "protocol_socket().sendall(reply(context.aws_request_id, b'[', 'error'))\ntime.sleep(1e6)",
        "Runtime.ExitError",
    ),
    "a closed connection": ("protocol_socket().shutdown(socket.SHUT_RDWR)\ntime.sleep(1e6)", "Runtime.ExitError"),
    "one large allocation": ("return len(bytearray(1 << 33))", "Runtime.OutOfMemory"),
    "growing memory": (
        "kept = []\nwhile True:\n    kept.append(os.urandom(1 << 20))\n    time.sleep(0.001)",
        "Runtime.OutOfMemory",
    ),
    "a growing child": ("if os.fork() == 0:\n    kept = os.urandom(200 << 20)\ntime.sleep(1e6)", "Runtime.OutOfMemory"),
}


@pytest.mark.parametrize(("code", "error_type"), FATAL.values(), ids=FATAL)
def test_a_handler_that_breaks_its_environment(in_loop: Callable[[Test], None], code: str, error_type: str) -> None:
    async def test(world: World) -> None:
        world.write(app_py=python(code))
        pool = world.pool()
        error = await failed(world.invoke(pool))
        assert error["errorType"] == error_type
        assert error["errorMessage"].startswith("RequestId: request-1 Error: Runtime exited with")
        assert pool.idle_count == 0
        assert decoded(await world.invoke(pool, "alive")) == "alive"
        assert pool.idle_count == 1

    in_loop(test)


ODD = {
    "replies twice": ("protocol_socket().sendall(2 * reply(context.aws_request_id, b'1'))", 1),
    "a stale reply": ("protocol_socket().sendall(reply(context.aws_request_id, b'1') + reply('request-2', b'2'))", 1),
    "a fork that returns too": ("os.fork()\nreturn 1", 1),
    "an open child": ("subprocess.Popen(['sleep', '1000000'])\nreturn 1", 1),
    "children that share its memory": (
        (
            "kept = os.urandom(40 << 20)\nfor _ in range(4):\n    if os.fork() == 0: time.sleep(1e6)\ntime.sleep(0.3)\n"
            "return 1"
        ),
        1,
    ),
    "a thread that goes on": (
        "import threading\nthreading.Thread(target=time.sleep, args=(1e6,)).start()\nreturn 1",
        1,
    ),
}


@pytest.mark.parametrize(("code", "result"), ODD.values(), ids=ODD)
def test_a_handler_that_answers_oddly(in_each_loop: Callable[[Test], None], code: str, result: int) -> None:
    async def test(world: World) -> None:
        world.write(app_py=python(code))
        pool = world.pool()
        assert decoded(await world.invoke(pool)) == result
        await until(pool._listener._connections.__len__ if pool.idle_count else lambda: True)
        assert decoded(await world.invoke(pool, "alive")) == "alive"

    in_each_loop(test)


def is_running(pid: int) -> bool:
    """True unless a process has ended; one that has ended and is not yet waited for counts as ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] not in "ZX"


def test_a_daemon_ends_with_its_environment(in_each_loop: Callable[[Test], None]) -> None:
    code = """
if os.fork() == 0:
    os.setsid()
    if (pid := os.fork()) == 0:
        time.sleep(1e6)
    open("daemon", "w").write(str(pid))
    os._exit(0)
os.wait()
return int(open("daemon").read())
"""

    async def test(world: World) -> None:
        world.write(app_py=python(code))
        pool = world.pool()
        pid = decoded(await world.invoke(pool))
        assert is_running(pid)
        await pool.close()
        await until(lambda: not is_running(pid))

    in_each_loop(test)


@pytest.mark.skipif(sys.platform != "linux", reason="such a process is found on Linux only")
@pytest.mark.parametrize("end", ["return daemon.pid", "open('daemon', 'w').write(str(daemon.pid))\nos._exit(1)"])
def test_a_daemon_without_its_environment_ends_too(in_each_loop: Callable[[Test], None], end: str) -> None:
    code = f"daemon = subprocess.Popen(['env', '-i', 'sleep', '1000000'], start_new_session=True)\n{end}"

    async def test(world: World) -> None:
        world.write(app_py=python(code))
        pool = world.pool()
        invocation = await world.invoke(pool)
        path = world.folder / "daemon"
        pid = int(path.read_text()) if invocation.function_error else decoded(invocation)
        await pool.close()
        await until(lambda: not is_running(pid))

    in_each_loop(test)


def test_a_daemon_that_holds_the_output_holds_nothing_up(in_each_loop: Callable[[Test], None]) -> None:
    """Elsewhere than on Linux, it is not found, because it has another environment."""
    code = "subprocess.Popen(['sleep', '5'], env={'PATH': os.environ['PATH']}, start_new_session=True)\nos._exit(1)"

    async def test(world: World) -> None:
        world.write(app_py=python(code))
        assert (await failed(world.invoke(world.pool())))["errorType"] == "Runtime.ExitError"

    in_each_loop(test)


def test_much_output_is_counted_and_not_kept(in_each_loop: Callable[[Test], None]) -> None:
    code = "for number in range(4096):\n    print('x' * 1023)\nreturn 1"

    async def test(world: World) -> None:
        world.write(app_py=python(code))
        invocation = await world.invoke(world.pool())
        *output, dropped = world.output()
        assert sum(len(line) + 1 for line in output) == FUNCTION_LOG_BYTES_MAX
        left_bytes = 4096 * 1024 - FUNCTION_LOG_BYTES_MAX
        assert dropped == f"({left_bytes:,} bytes of output, in {left_bytes // 1024:,} lines, were left out of the log)"
        assert len(invocation.log_tail) == LOG_TAIL_BYTES_MAX
        assert invocation.log_tail.endswith(b"\t\n")

    in_each_loop(test)


@pytest.mark.needs("node")
@pytest.mark.parametrize(
    ("code", "error_type"),
    [
        ("while (true) {}", "Sandbox.Timedout"),
        ("await new Promise((resolve) => setTimeout(resolve, 1e8))", "Sandbox.Timedout"),
        (
            "for (let fd = 0; fd < 256; fd++) try { require('fs').closeSync(fd) } catch {}; return 1",
            "Runtime.ExitError",
        ),
        ("process.kill(process.pid, 'SIGKILL')", "Runtime.ExitError"),
        ("const kept = []; while (true) kept.push(Buffer.alloc(1 << 20, 1))", "Runtime.OutOfMemory"),
    ],
)
def test_hostile_javascript(in_loop: Callable[[Test], None], code: str, error_type: str) -> None:
    async def test(world: World) -> None:
        world.write(index_js=f"exports.handler = async (event) => {{ if (event) return 'alive'; {code} }}")
        is_quick = error_type == "Sandbox.Timedout"
        pool = world.pool(runtime=NODE, timeout_seconds=QUICK_SECONDS if is_quick else PATIENCE_SECONDS)
        assert (await failed(world.invoke(pool)))["errorType"] == error_type
        if not is_quick:
            assert decoded(await world.invoke(pool, 1)) == "alive"

    in_loop(test)


def test_a_module_that_never_loads(in_loop: Callable[[Test], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashrange.functions.environment.INIT_SECONDS_MAX", QUICK_SECONDS)

    async def test(world: World) -> None:
        world.write(app_py="while True: pass")
        pool = world.pool(timeout_seconds=QUICK_SECONDS)
        assert (await failed(world.invoke(pool)))["errorType"] == "Sandbox.Timedout"

    in_loop(test)


@pytest.mark.parametrize("members", [{"folder": "/not/there"}, {"runtime": NODE, "handler": "index.handler"}])
def test_what_cannot_be_started(
    in_loop: Callable[[Test], None], members: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/not/there")

    async def test(world: World) -> None:
        error = await failed(world.invoke(world.pool(**members)))
        assert error["errorType"] == "Runtime.InvalidEntrypoint"
        program = "node" if "runtime" in members else PYTHON
        assert error["errorMessage"].startswith(f"RequestId: request-1 Error: {program} could not be started: ")
        assert json.dumps(error)

    in_loop(test)
