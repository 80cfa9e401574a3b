"""Whatever functions do, the server answers everybody else, runs other functions, delivers other mappings' records,
and is left with nothing of them.

What a handler may do to its environment is tested in tests/unit/functions/test_hostile_handlers.py.
Nothing protects the server from a handler that kills it: handlers run with the server's rights.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.function_servers import FunctionServer, Invoking, zip_of
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

IMPORTS = "import json, os, signal, socket, subprocess, sys, time\n"
SOCKET = """
def runtime_socket():
    for fd in range(3, 64):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                return socket.socket(fileno=os.dup(fd))
        except OSError:
            pass
"""
BLOCKING_THREADS_MAX = min(32, (os.cpu_count() or 1) + 4)
"""Threads that Python keeps for blocking calls."""
GOOD = "def handler(event, context):\n    return [event]\n"


def handler(code: str) -> str:
    """The code of a handler with this body."""
    indented = code.strip().replace("\n", "\n    ")
    return f"{IMPORTS}{SOCKET}\ndef handler(event, context):\n    {indented}\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FunctionServer]:
    """A server with a function that works, which tests may use and must leave as it is."""
    server = FunctionServer(tmp_path_factory.mktemp("server"))
    threads = threads_of(server)
    server.create("good", GOOD)
    assert server.invoke("good", 1) == (None, [1])
    yield server
    assert threads_of(server) <= threads + BLOCKING_THREADS_MAX
    server.stop()
    assert server.environments() == []
    assert list(server.temporary.iterdir()) == []
    log = server.log()
    assert " ERROR " not in log


@pytest.fixture(autouse=True)
def nothing_is_left(server: FunctionServer) -> Iterator[None]:
    """Compare processes, descriptors and folders before and after a test, which deletes its functions."""
    assert server.invoke("good", 0) == (None, [0])
    server.functions.close()
    before = left_behind(server)
    yield
    assert server.invoke("good", 0) == (None, [0])
    server.functions.close()  # the connections that are kept
    wait_until(lambda: all(now <= then for now, then in zip(left_behind(server), before, strict=True)))


def left_behind(server: FunctionServer) -> tuple[int, ...]:
    """How many processes, descriptors and folders there are."""
    descriptors = list(Path(f"/proc/{server.process.pid}/fd").iterdir())
    return len(server.environments()), len(descriptors), len(server.code_folders())


def threads_of(server: FunctionServer) -> int:
    """How many threads the server has."""
    return len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))


ERRORS = {
    "loops": ("while True: pass", "Sandbox.Timedout"),
    "sleeps": ("time.sleep(1e6)", "Sandbox.Timedout"),
    "stops": ("os.kill(os.getpid(), signal.SIGSTOP)", "Sandbox.Timedout"),
    "writes": ("while True: print('x' * 100_000)", "Sandbox.Timedout"),
    "forks": (
        "for _ in range(20):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(1e6)",
        "Sandbox.Timedout",
    ),
    "allocates": ("kept = []\nwhile True: kept.append(os.urandom(1 << 22))", "Runtime.OutOfMemory"),
    "closes": ("os.closerange(0, 4096)", "Runtime.ExitError"),
    "kills": ("os.killpg(0, signal.SIGKILL)", "Runtime.ExitError"),
    "exits": ("sys.exit(3)", "Runtime.ExitError"),
    "raises": ("raise BaseException('beyond')", "Runtime.ExitError"),
    "speaks": ("runtime_socket().sendall(b'GET / HTTP/1.1')\ntime.sleep(1e6)", "Runtime.ExitError"),
    "returns": ("return {1, 2}", "Runtime.MarshalError"),
    "exceeds": ("return 'x' * (7 << 20)", "Function.ResponseSizeTooLarge"),
}


def test_others_are_answered_while_functions_do_their_worst(server: FunctionServer) -> None:
    for name, (code, _) in ERRORS.items():
        is_endless = "Timedout" in ERRORS[name][1]
        server.create(name, handler(code), Timeout=1 if is_endless else 60)
    running = {name: Invoking(server, name) for name in ERRORS}
    answers = 0
    while any(one.is_alive() for one in running.values()):
        assert server.call("ListTables", {}).status == 200
        assert server.invoke("good", answers) == (None, [answers])
        answers += 1
    assert answers
    for name, one in running.items():
        kind, error = one.end()
        assert (kind, error["errorType"]) == ("Unhandled", ERRORS[name][1]), name
    for name in ERRORS:
        server.functions.delete_function(FunctionName=name)


def test_connections_that_a_handler_leaves_open_keep_no_other_function_out(
    server: FunctionServer, tmp_path: Path
) -> None:
    code = f"""
port = runtime_socket().getpeername()[1]
kept = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
open({str(tmp_path / "open")!r}, "w").close()
while not os.path.exists({str(tmp_path / "enough")!r}):
    kept.append(socket.create_connection(("127.0.0.1", port)))
    kept.pop(0).close()
return len(kept)
"""
    server.create("floods", handler(code))
    flooding = Invoking(server, "floods")
    wait_until((tmp_path / "open").exists)
    server.create("other", GOOD)
    assert server.invoke("other", 2) == (None, [2])
    assert flooding.is_alive()
    (tmp_path / "enough").touch()
    assert flooding.end() == (None, 300)
    for name in ("floods", "other"):
        server.functions.delete_function(FunctionName=name)


def test_daemons_end_with_their_function(server: FunctionServer) -> None:
    code = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["sleep", "1000000"])
    os._exit(0)
os.wait()
return 1
"""
    before = len(server.environments())
    server.create("daemon", handler(code))
    assert server.invoke("daemon") == (None, 1)
    wait_until(
        lambda: len(server.environments()) == before + 2
    )  # a process that begins a program has no variables for a moment
    server.functions.delete_function(FunctionName="daemon")


def test_what_a_handler_writes_into_its_folder_goes_with_it(server: FunctionServer) -> None:
    code = """
os.chdir(os.environ["LAMBDA_TASK_ROOT"])
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
os.chmod(os.environ["LAMBDA_TASK_ROOT"] + "/d", 0o500)
return 1
"""
    server.create("digs", handler(code))
    assert server.invoke("digs") == (None, 1)
    server.functions.delete_function(FunctionName="digs")


def test_replies_that_are_no_json_are_passed_on(server: FunctionServer) -> None:
    server.create("bytes", handler("return bytes(range(256)) * event"))
    reply = server.functions.invoke(FunctionName="bytes", Payload=b"100")
    assert reply["Payload"].read() == bytes(range(256)) * 100
    server.functions.delete_function(FunctionName="bytes")


def test_a_module_that_does_not_load_is_no_function(server: FunctionServer) -> None:
    for code, error_type in {
        "import nothing_here": "Runtime.ImportModuleError",
        "raise SystemExit": "Runtime.ExitError",
        "def handler(:": "Runtime.UserCodeSyntaxError",
        f"{IMPORTS}os.killpg(0, signal.SIGKILL)": "Runtime.ExitError",
        f"{IMPORTS}os.closerange(0, 4096)": "Runtime.ExitError",
    }.items():
        with pytest.raises(ClientError, match=error_type):
            server.create("broken", code)
    assert [one["FunctionName"] for one in server.functions.list_functions()["Functions"]] == ["good"]


def test_a_mapping_whose_function_never_returns_delays_no_other(server: FunctionServer, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server.create("endless", handler("while True: time.sleep(1)"))
    server.create("quick", handler(f"""
with open({str(seen)!r}, "a") as file:
    file.write("".join(record["dynamodb"]["Keys"]["pk"]["S"] + "\\n" for record in event["Records"]))
"""))  # fmt: skip
    stream = server.make_table("both")
    blocked = server.map("endless", stream, BatchSize=1, ParallelizationFactor=10)
    server.map("quick", stream, BatchSize=2)
    keys = [f"k{number}" for number in range(40)]
    for key in keys:
        server.put("both", key)
    wait_until(lambda: seen.exists() and seen.read_text().split() == keys)
    mapping = server.functions.get_event_source_mapping(UUID=blocked)
    assert mapping["LastProcessingResult"] == "No records processed"
    for one in server.functions.list_event_source_mappings()["EventSourceMappings"]:
        server.functions.delete_event_source_mapping(UUID=one["UUID"])
    server.functions.delete_function(FunctionName="quick")
    server.administer("reset")  # ends what runs
    server.create("good", GOOD)


def test_an_asynchronous_invocation_that_breaks_its_environment_is_tried_three_times(
    server: FunctionServer, tmp_path: Path
) -> None:
    tries = tmp_path / "tries"
    server.create("breaks", handler(f"open({str(tries)!r}, 'a').write('x')\nos._exit(1)"))
    assert server.invoke("breaks", InvocationType="Event") == (None, None)
    server.administer("clock/advance", {"seconds": 600})
    assert tries.read_text() == "xxx"
    server.functions.delete_function(FunctionName="breaks")


def test_updates_and_deletions_while_invocations_run(server: FunctionServer, tmp_path: Path) -> None:
    go = tmp_path / "go"
    server.create("changes", waiting_for(go, 1))
    first = [Invoking(server, "changes", str(tmp_path / f"first{number}")) for number in range(3)]
    wait_until(lambda: all((tmp_path / f"first{number}").exists() for number in range(3)))
    server.functions.update_function_code(FunctionName="changes", ZipFile=zip_of(app_py=waiting_for(go, 2)))
    second = Invoking(server, "changes", str(tmp_path / "second"))
    wait_until((tmp_path / "second").exists)
    server.functions.update_function_configuration(FunctionName="changes", MemorySize=256)
    server.functions.delete_function(FunctionName="changes")
    with pytest.raises(ClientError, match="Function not found"):
        server.invoke("changes")
    server.create("changes", handler("return 3"))
    assert server.invoke("changes") == (None, 3)
    assert all(one.is_alive() for one in [*first, second])
    go.touch()
    assert [one.end() for one in [*first, second]] == [(None, 1)] * 3 + [(None, 2)]
    server.functions.delete_function(FunctionName="changes")


def waiting_for(file: Path, result: Any) -> str:
    """A handler that tells that it runs, by a file that its event names, and returns once another file is there."""
    return handler(f"""
open(event, "w").close()
while not os.path.exists({str(file)!r}): time.sleep(0.001)
return {json.dumps(result)}
""")


LOOPING_NODE = "exports.handler = async () => { require('child_process').spawn('sleep', ['1000000']); while (true) {} }"
ENDLESS_IN_PYTHON = {
    "stops": "os.kill(os.getpid(), signal.SIGSTOP)",
    "never lets another thread run": "import re\nre.match('(a+)+$', 'a' * 64 + 'b')",
    "leaves its group": "if os.fork() == 0: os.setsid()\ntime.sleep(1e6)",
}


def endless_in_python(server: FunctionServer) -> int:
    """Invoke functions that never end; the number of their processes."""
    for number, code in enumerate(ENDLESS_IN_PYTHON.values()):
        server.create(f"f{number}", handler(code))
        Invoking(server, f"f{number}")
    return len(ENDLESS_IN_PYTHON) + 1


def endless_in_node(server: FunctionServer) -> int:
    """Invoke a function that never ends; the number of its processes."""
    code = {"ZipFile": zip_of(index_js=LOOPING_NODE)}
    server.create("node", "", Runtime="nodejs20.x", Handler="index.handler", Code=code)
    Invoking(server, "node")
    return 2


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(endless_in_python, id="python"),
        pytest.param(endless_in_node, id="node", marks=pytest.mark.needs("node")),
    ],
)
def test_nothing_outlives_a_server_that_is_killed(begin: Callable[[FunctionServer], int], tmp_path: Path) -> None:
    server = FunctionServer(tmp_path)
    try:
        count = begin(server)
        wait_until(lambda: len(server.environments()) == count)
    finally:
        server.kill()
    wait_until(lambda: not server.environments())
    wait_until(lambda: not list(server.temporary.iterdir()))
