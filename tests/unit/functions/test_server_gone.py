"""A function's process does not outlive a server that is killed, even if its handler never returns."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import wait_until
from tests.unit.functions.world import PYTHON

SERVER = f"""
import asyncio, sys
from hashrange.aws_services.operation import Caller
from hashrange.clock import SystemClock
from hashrange.functions.connection import Listener
from hashrange.functions.declaration import FunctionDeclaration, describe_declared
from hashrange.functions.invocation_log import FunctionLog, LoggedErrors
from hashrange.functions.log_lines import LogLines
from hashrange.functions.pool import EnvironmentPool
from hashrange.functions.description import HandlerCredentials, Runnable

async def main():
    listener = Listener()
    await listener.start()
    declared = FunctionDeclaration(code=sys.argv[1], runtime="{PYTHON}", handler="app.handler", timeout=900.0)
    function = describe_declared("f", declared, 0.0, "run", Caller("000000000000", "r"))
    runnable = Runnable(function=function, folder=sys.argv[1], credentials=HandlerCredentials("a", "b"))
    clock = SystemClock()
    log = FunctionLog(lambda *_: None, LogLines(clock), LoggedErrors())
    await EnvironmentPool(runnable, listener, clock, log).invoke(b"1", "request")

asyncio.run(main())
"""
HANDLER = """
import os
def handler(event, context):
    if os.fork():
        open("pid", "w").write(str(os.getpid()))
    while True: pass
"""


def is_gone(pid: int) -> bool:
    """True once a process has ended, even if nobody has waited for it yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


def test_a_looping_handler_ends_with_its_server(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(HANDLER)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(tmp_path)])
    pid_file = tmp_path / "pid"
    try:
        wait_until(lambda: pid_file.exists() and pid_file.read_text())
    finally:
        server.kill()
        server.wait()
    pid = int(pid_file.read_text())
    try:
        if sys.platform == "linux":
            wait_until(lambda: is_gone(pid))
    finally:
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
