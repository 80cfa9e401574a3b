"""What can be seen of a function's process and its children, and how do all of them end?
On Linux, `marks.py` tells which they are.

macOS has no /proc: there the memory in use is not seen, and children that left the process group are not found. Windows
has neither groups nor /proc: only the process itself is ended.
"""

import os
import signal
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

from hashrange.functions.marks import Mark, all_pids

_KB_BYTES = 1024
_MB_BYTES = 1024 * 1024
_PROCESSES_MAX = 256
"""Children beyond this many are not counted: a look at the memory must stay short."""
_READS_AT_ONCE_MAX, _READS_MAX = 32, 1024
"""Files that are read for one look, on the event loop and on a thread; a read takes some 15 µs."""
_CHILDREN_BYTES_MAX = 4096
"""Bytes that are read of the list of a thread's children: some 600 children."""
_ROUNDS_MAX = 100
"""Number of looks, at most, for processes that were started while the processes before were looked at."""
HAS_PROC = os.path.isdir("/proc/self/task")
"""True on Linux."""
_HAS_GROUPS = hasattr(os, "killpg")


def data_limit_bytes(memory_mb: int) -> int:
    """The most bytes of private memory that a process may ask for, in use or not.

    Twice the memory size and 256 MB: stacks of threads and the allocator reserve far more than they use, so that boto3
    with its threads needs some 150 MB of it at 128 MB. It only has to stop what outruns the looks at the memory in use.
    """
    return (2 * memory_mb + 256) * _MB_BYTES


def memory_used_at_once(pid: int, most_bytes: int) -> tuple[int, bool]:
    """Memory in use by a process and its children, without files that are mapped, and True; 0 where it cannot be seen.

    If there are too many threads and children to look at all at once, or if it has to be found out what they share
    because their sum exceeds `most_bytes`: that of the process itself, at most `most_bytes`, and False.
    Costs some 40 µs, at most 0.5 ms.
    """
    tree = _walk(pid, _READS_AT_ONCE_MAX)
    if tree.is_whole and (tree.used_bytes <= most_bytes or len(tree.pids) == 1):
        return tree.used_bytes, True
    return min(tree.own_bytes, most_bytes), False


def memory_used_bytes(pid: int, most_bytes: int, mark: Mark) -> int:
    """Memory in use by a process and all that it started, without files that are mapped; 0 where it cannot be seen.

    Pages that several processes share count once if the sum exceeds `most_bytes`.
    The processes are found by the limit of `mark`, so that it does not matter how many threads they have. Blocks for up
    to 0.3 s if hundreds share much memory; call it in a thread.
    """
    if mark.is_limit_of(pid):
        pids = [pid, *islice((one for one in all_pids() if one != pid and mark.is_limit_of(one)), _PROCESSES_MAX - 1)]
    else:
        pids = _walk(pid, _READS_MAX).pids[:_PROCESSES_MAX]
    used_bytes = sum(_status_of(one)[0] for one in pids)
    return (
        _shared_once_bytes(pids, most_bytes) or used_bytes if used_bytes > most_bytes and len(pids) > 1 else used_bytes
    )


def _shared_once_bytes(pids: list[int], most_bytes: int) -> int:
    """The memory in use by these processes, where a page counts as a part for each process that shares it;
    no more is looked at beyond `most_bytes`.
    """
    used_bytes = 0
    for one in pids:
        used_bytes += sum(_numbers_in(f"/proc/{one}/smaps_rollup", ("Pss_Anon:", "Pss_Shmem:")).values()) * _KB_BYTES
        if used_bytes > most_bytes:
            break
    return used_bytes


class _Tree(NamedTuple):
    """A process and its descendants, as far as they have not been adopted by others."""

    pids: list[int]
    used_bytes: int
    own_bytes: int
    """Memory of the first process alone."""
    is_whole: bool
    """False if more reads would have been needed; then `pids` are some of them."""


def _walk(pid: int, reads_max: int) -> _Tree:
    """Look at a process and its descendants, in at most this many reads of files of some 4 KB."""
    pids = [pid] if HAS_PROC else []
    used_bytes, own_bytes, reads = 0, 0, 0
    for one in pids:  # grows meanwhile
        one_bytes, threads_count = _status_of(one)
        used_bytes += one_bytes
        if one == pid:
            own_bytes = one_bytes
        reads += 2 + threads_count
        if reads > reads_max:
            return _Tree(pids, used_bytes, own_bytes, False)
        for thread in _threads_of(one):
            children = _read_file(f"/proc/{one}/task/{thread}/children", _CHILDREN_BYTES_MAX)
            pids += map(int, children[: children.rfind(" ") + 1].split())
    return _Tree(pids, used_bytes, own_bytes, True)


def _status_of(pid: int) -> tuple[int, int]:
    """The memory in use by one process, in bytes, and the number of its threads."""
    found = _numbers_in(f"/proc/{pid}/status", ("RssAnon:", "RssShmem:", "Threads:"))
    threads_count = found.pop("Threads:", 0)
    return sum(found.values()) * _KB_BYTES, threads_count


def _threads_of(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _numbers_in(path: str, names: tuple[str, ...]) -> dict[str, int]:
    """The numbers of some lines of a file of /proc, by the first word of the line; memory is in kB."""
    lines = (line.split() for line in _read_file(path).splitlines() if line.startswith(names))
    return {words[0]: int(words[1]) for words in lines}


def _read_file(path: str, characters_max: int = -1) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(characters_max)
    except OSError:
        return ""


def kill_group(pid: int) -> None:
    """End a process that leads a group, and the group.
    Not later than when the process's end is reported: pids are reused.
    """
    try:
        if _HAS_GROUPS:
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)  # on Windows: TerminateProcess
    except (ProcessLookupError, PermissionError):
        pass


def kill_marked(pid: int, mark: Mark) -> None:
    """End what is left of an environment whose first process, `pid`, has ended: processes that have left its group.

    Such processes are found by `mark`, again until there is none, as they may start others.
    Blocks for some 20 µs per process of the machine; call it in a thread.
    Also reaps the ended ones, which are the server's children if the server is the first process of a container.
    """
    _kill_found(mark, _kill_process)
    if _HAS_GROUPS:
        _reap(-pid)


def kill_all_marked(mark: Mark) -> None:
    """End all processes of a server's environments, and the groups that they are in.
    As `kill_marked`, but for a server that has ended.
    """
    _kill_found(mark, lambda pid: os.killpg(os.getpgid(pid), signal.SIGKILL))


def _kill_found(mark: Mark, kill: Callable[[int], None]) -> None:
    """Kill the processes with a mark until there is none, or none that may be killed."""
    for _ in range(_ROUNDS_MAX):
        if not sum(_try_kill(one, kill) for one in all_pids() if mark.is_on(one)):
            break


def _try_kill(pid: int, kill: Callable[[int], None]) -> bool:
    """Kill a process; False if it has ended, or is another user's."""
    if _has_ended(pid):
        _reap(pid)
        return False
    try:
        kill(pid)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _kill_process(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    _reap(pid)


def _has_ended(pid: int) -> bool:
    """True if a process has ended, although nobody may have waited for it. It keeps its limits until then."""
    words = _read_file(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return not words or words[0] in "ZX"


def _reap(pid: int) -> None:
    """Wait for ended children, if they are this process's: one, or those of a group whose first
    process has been waited for.
    """
    try:
        while os.waitpid(pid, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
