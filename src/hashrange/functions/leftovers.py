"""What does a killed server leave behind, and what ends it? Environments and unpacked code;
a process of its own, of which this file is the program.

The process (`guardian.py`) imports nothing but this file and what it needs, so that it is small.
"""

import sys

from hashrange.functions.marks import Mark
from hashrange.functions.process_tree import kill_all_marked
from hashrange.functions.removal import remove_tree

ENDED = b"ended"
"""What a server writes when it has ended its environments itself."""


def end_leftovers(mark: str, folder: str) -> None:
    """Wait for the end of the server, which has the other end of standard input; if it was killed, do the rest.

    `mark`: what the marks of all environments of the server begin with; `folder`: of unpacked code.
    """
    if sys.stdin.buffer.read() != ENDED:
        kill_all_marked(Mark.of(mark))
        remove_tree(folder)
