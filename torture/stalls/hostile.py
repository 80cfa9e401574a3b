"""Which process runs hostile clients? `python -m torture.stalls.hostile PORT FILE BEHAVIOUR
CLIENTS`, which send the file's requests.

It ends when its input ends, even with requests under way, and prints counts of the answers as JSON.
"""

import os
import resource
import sys
import threading
from pathlib import Path

import msgspec

from torture.stalls.behaviours import BEHAVIOURS
from torture.stalls.children import has_input_ended, wait_for_go
from torture.stalls.tally import Tally

LOOK_SECONDS = 3600.0


def main() -> int:
    """Run the hostile clients; does not return."""
    port, file, behaviour, clients = sys.argv[1:]
    requests = msgspec.msgpack.decode(Path(file).read_bytes(), type=list[bytes])
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    tally = Tally()
    wait_for_go()
    arguments = (int(port), requests, int(clients), tally)
    threading.Thread(target=BEHAVIOURS[behaviour], args=arguments, daemon=True).start()
    while not has_input_ended(LOOK_SECONDS):
        pass
    sys.stdout.buffer.write(msgspec.json.encode(tally.report()) + b"\n")
    sys.stdout.flush()
    os._exit(0)  # threads may still be sending


if __name__ == "__main__":
    sys.exit(main())
