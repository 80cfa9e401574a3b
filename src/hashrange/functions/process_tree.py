"""What can be seen of a function's process and its children, and how do all of them end? Complete on Linux.

macOS has no /proc: there the memory in use is not seen, and children that left the process group are not found. Windows has
neither groups nor /proc: only the process itself is ended.
"""

import os
import signal

_MB_BYTES = 1024 * 1024
_PROCESSES_MAX = 256
"""Children beyond this many are not counted: a look at the memory must stay short."""
HAS_PROC = os.path.isdir("/proc/self/task")
"""True on Linux."""
_HAS_GROUPS = hasattr(os, "killpg")


def data_limit_bytes(memory_mb: int) -> int:
    """The most bytes of private memory that a process may ask for, in use or not.

    Twice the memory size and 256 MB: stacks of threads and the allocator reserve far more than they use, so that boto3 with
    its threads needs some 150 MB of it at 128 MB. It only has to stop what outruns the looks at the memory in use.
    """
    return (2 * memory_mb + 256) * _MB_BYTES


def memory_used_bytes(pid: int, most_bytes: int) -> int:
    """Memory in use by a process and its children, without files that are mapped; 0 where it cannot be seen.

    Pages that a parent shares with its forked children count once if the sum exceeds `most_bytes`. Costs some 40 µs.
    """
    pids = _with_children(pid)
    used_bytes = sum(_read_bytes(one, "status", ("RssAnon:", "RssShmem:")) for one in pids)
    if used_bytes > most_bytes and len(pids) > 1:
        shares = [_read_bytes(one, "smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")) for one in pids]
        used_bytes = sum(shares) or used_bytes
    return used_bytes


def _with_children(pid: int) -> list[int]:
    """The process and its descendants, as far as they have not been adopted by others."""
    pids = [pid] if HAS_PROC else []
    for one in pids:  # grows meanwhile
        try:
            threads = os.listdir(f"/proc/{one}/task")
        except OSError:
            continue
        for thread in threads:
            found = _read_file(f"/proc/{one}/task/{thread}/children").split()
            pids += map(int, found[: _PROCESSES_MAX - len(pids)])
    return pids


def _read_bytes(pid: int, file: str, names: tuple[str, ...]) -> int:
    """The sum of some lines of a file of /proc, which are in kB."""
    lines = _read_file(f"/proc/{pid}/{file}").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(names))


def _read_file(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def kill_group(pid: int) -> None:
    """End a process that leads a group, and the group. Not later than when the process's end is reported: pids are reused."""
    try:
        if _HAS_GROUPS:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)  # on Windows: TerminateProcess
    except (ProcessLookupError, PermissionError):
        pass


def kill_marked(pid: int, mark: bytes) -> None:
    """End what is left of an environment whose first process, `pid`, has ended: processes that have left its group.

    `mark`: an entry of their environment, `NAME=value`. Such processes are found by it, again until there is none, as they may
    start others. Blocks for some 20 µs per process of the machine; call it in a thread. Also reaps the ended ones, which are
    the server's children if the server is the first process of a container.
    """
    for _ in range(100):
        found = [one for one in _pids() if mark in _environment_of(one)]
        for one in found:
            _try_kill(one)
        if not found:
            break
    if _HAS_GROUPS:
        _reap(-pid)


def kill_all_marked(beginning: bytes) -> None:
    """End all processes whose environment has an entry, `NAME=value`, that begins with `beginning`, and the groups that they are in.

    As `kill_marked`, but for processes that are no children of this one, so that nobody has to collect their exit status.
    """
    for _ in range(100):
        found = [one for one in _pids() if any(entry.startswith(beginning) for entry in _environment_of(one))]
        for one in found:
            _try_kill_with_group(one)
        if not found:
            break


def _try_kill_with_group(pid: int) -> None:
    try:
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _pids() -> list[int]:
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdecimal() and int(name) != own] if HAS_PROC else []


def _environment_of(pid: int) -> list[bytes]:
    """The entries of the environment that a process started with; empty if it has ended or is another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read().split(b"\0")
    except OSError:
        return []


def _try_kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    _reap(pid)


def _reap(pid: int) -> None:
    """Wait for ended children, if they are this process's: one, or those of a group whose first process has been waited for."""
    try:
        while os.waitpid(pid, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
