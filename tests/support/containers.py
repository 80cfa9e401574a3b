"""How is an image started without a container engine? In namespaces of its own, with what the Dockerfile
says of user, folder and command.

The file system is shared with later containers of the same image; its volumes are emptied before each start.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.dockerfile import Image
from tests.support.waiting import wait_until

WRITABLE = ("data", "home/dynamodblocal/data")
"""Folders that a server may have filled before; `/init` belongs to the tests."""
LOOPBACK_UP = (
    "import fcntl, socket, struct; "
    "fcntl.ioctl(socket.socket(), 0x8914, struct.pack('16sh', b'lo', 1))"  # SIOCSIFFLAGS, IFF_UP
)
END_TIMEOUT_SECONDS = 30
"""It only ends a test that would hang."""


class Container:
    """A running container; a context manager that ends it."""

    def __init__(
        self,
        root: Path,
        image: Image,
        arguments: list[str] | None = None,
        *,
        user: str | None = None,
        folder: str | None = None,
        variables: dict[str, str] | None = None,
    ) -> None:
        """`arguments`, `user` and `folder` replace what the image says, as they do in a compose file."""
        self.root = root
        self.environment = image.environment | (variables or {})
        for name in WRITABLE:
            for path in (root / name).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        user_id, group_id = (user or image.user).split(":")
        self._as_user = [f"--setuid={user_id}", f"--setgid={group_id}"]
        spaces = ["--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--mount-proc"]
        files = [f"--root={root}", f"--wd={folder or image.folder}"]
        words = [*image.entry_point, *(image.command if arguments is None else arguments)]
        self._outer = subprocess.Popen(
            ["unshare", *spaces, *files, *self._as_user, *self._variables(), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._outer.poll() is None:
            os.kill(self.first_process_id, signal.SIGKILL)  # which ends all others of its namespace
        self._outer.communicate(timeout=END_TIMEOUT_SECONDS)

    def _variables(self) -> list[str]:
        return ["env", "-i", *(f"{name}={value}" for name, value in self.environment.items())]

    def wait(self, words: str = "http://") -> str:
        """Wait until the server has said `words`; returns what it has said, and gives the container its loopback."""
        assert self._outer.stdout is not None
        said = ""
        while words not in said:
            line = self._outer.stdout.readline()
            assert line, said + self._outer.communicate()[1]
            said += line
        self.client(LOOPBACK_UP)
        return said

    @property
    def first_process_id(self) -> int:
        """Id of the container's process 1, as this machine counts."""
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children").read_text(encoding="ascii")
        return int(children.split()[0])

    def processes(self) -> dict[str, int]:
        """User id of every process that runs in the container, by the process's name; zombies are included."""
        space = os.readlink(f"/proc/{self.first_process_id}/ns/pid")
        found = {}
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                if os.readlink(status.parent / "ns" / "pid") == space:
                    lines = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
                    found[lines["Name"]] = int(lines["Uid"].split()[1])
            except OSError:
                continue  # the process has ended
        return found

    def run(self, command: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command in the container, as `docker exec` does."""
        inside = ["--net", "--mount", "--pid", "--ipc", "--uts", "--root", "--wd", *self._as_user]
        return self._enter([*inside, *self._variables(), *command], text)

    def client(self, program: str) -> str:
        """Output of a Python program of this environment that sees the container's network."""
        ended = self._enter(["--net", sys.executable, "-c", program])
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def _enter(self, words: list[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["nsenter", f"--target={self.first_process_id}", *words],
            input=text,
            capture_output=True,
            text=True,
            timeout=END_TIMEOUT_SECONDS,
            check=False,
        )

    def stop(self) -> tuple[int, str]:
        """Stop it as an engine does, by SIGTERM for process 1;
        returns the exit code and what it wrote on standard error.
        """
        os.kill(self.first_process_id, signal.SIGTERM)
        return self.end()

    def end(self) -> tuple[int, str]:
        """Wait for its end; returns the exit code and what it wrote on standard error."""
        _, errors = self._outer.communicate(timeout=END_TIMEOUT_SECONDS)
        return self._outer.returncode, errors

    def reap_orphan(self) -> None:
        """Leave a process behind, let it end, and wait until process 1 has taken note of its end."""
        left = self.run(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!"]).stdout.strip()
        assert self.run(["sh", "-c", f"test -e /proc/{left} && kill {left}"]).returncode == 0
        wait_until(lambda: self.run(["test", "-e", f"/proc/{left}"]).returncode != 0)
