"""A server that is killed leaves no process of a handler, whatever the handler does, and no unpacked code.
One that ends leaves no guardian.
"""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hashrange.functions.guardian import Guardian
from hashrange.functions.marks import MARK_NAME
from tests.support.function_servers import environment_of, processes
from tests.support.waiting import wait_until
from tests.unit.functions.world import children

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a guardian on Linux only")

SERVER = """
import asyncio, os, subprocess, sys
from hashrange.functions.guardian import Guardian
from hashrange.functions.marks import MARK_NAME, Mark

mark, folder, *codes = sys.argv[1:]
guardian = Guardian(mark, folder)
for number, code in enumerate(codes):
    own = f"{mark}.{number:x}"
    environment = {**os.environ, MARK_NAME: own}
    handler = subprocess.Popen([sys.executable, "-c", code], env=environment, start_new_session=True, stdout=subprocess.DEVNULL)
    Mark.of(own).put_on(handler.pid)
print("started", flush=True)
sys.stdin.read()
asyncio.run(guardian.close())
"""  # noqa: E501
HANDLERS = {
    "loops": "while True: pass",
    "never lets another thread run": "import re; re.match('(a+)+$', 'a' * 64 + 'b')",
    "has stopped itself": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "ignores signals": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(1e6)",
    "has started a process that left its group": "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(1e6)",
    "has started a process with another environment": (
        "import os, subprocess, time\nsubprocess.Popen(['sleep', '1000000'], env={'PATH':"
        " os.environ['PATH'], 'FOLDER': os.environ['FOLDER']})\ntime.sleep(1e6)"
    ),
    "has started a process that left its group, with another environment": (
        "import os, subprocess, time\nsubprocess.Popen(['setsid', 'env', '-i', 'FOLDER=' + os.environ['FOLDER'],"
        " 'sleep', '1000000'])\ntime.sleep(1e6)"
    ),
    "has ended": "pass",
}


class Server:
    """A process that has a guardian and handlers."""

    def __init__(self, folder: Path, *codes: str) -> None:
        self.folder = folder / "code"
        (self.folder / "1").mkdir(parents=True)
        self._entry = f"FOLDER={self.folder}".encode()
        environment = {**os.environ, "FOLDER": str(self.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", SERVER, secrets.token_hex(16), str(self.folder), *codes]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"started\n"

    def others(self) -> list[int]:
        """Handlers, what they have started, and the guardian."""
        return [pid for pid in processes() if pid != self.process.pid and self._entry in environment_of(pid)]

    def handlers(self) -> list[int]:
        """The processes with a mark. One that has only just been started has none yet:
        its environment is empty until its program is loaded.
        """
        return [pid for pid in self.others() if any(one.startswith(MARK_NAME.encode()) for one in environment_of(pid))]

    def end(self, number: signal.Signals | None) -> None:
        """Kill it, or let it end."""
        if number is not None:
            self.process.send_signal(number)
        self.process.communicate()  # ends its input


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_killed_server_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    server = Server(tmp_path, *HANDLERS.values())
    wait_until(lambda: len(server.others()) == len(HANDLERS) + 3)
    server.end(number)
    wait_until(lambda: not server.others())
    wait_until(lambda: not server.folder.exists())


def test_a_server_that_ends_does_all_itself(tmp_path: Path) -> None:
    server = Server(tmp_path, "import time; time.sleep(1e6)")
    wait_until(server.handlers)
    (left,) = server.handlers()
    server.end(None)
    assert server.others() == [left]
    assert server.folder.exists()
    os.kill(left, signal.SIGKILL)


def test_a_guardian_that_was_killed(tmp_path: Path) -> None:
    before = children()

    async def test() -> None:
        guardian = Guardian("mark", str(tmp_path))
        (own,) = children() - before
        os.kill(own, signal.SIGKILL)
        await guardian.close()
        await guardian.close()

    asyncio.run(test())
    assert children() == before
    assert tmp_path.exists()
