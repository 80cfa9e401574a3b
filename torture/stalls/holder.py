"""Which process holds connections until it is killed? `python -m torture.stalls.holder PORT CLIENTS REQUEST`: sends the
request, in hexadecimal digits, over each connection, reads the reply, and keeps the connection.
"""

import socket
import sys

from torture.stalls.children import wait_for_go


def main() -> int:
    """Make the connections, one after the other; then wait until the process is killed."""
    port, clients, request = int(sys.argv[1]), int(sys.argv[2]), bytes.fromhex(sys.argv[3])
    kept = []
    for _ in range(clients):
        made = socket.create_connection(("127.0.0.1", port))
        made.sendall(request)
        made.recv(1 << 16)
        kept.append(made)
    wait_for_go()
    return 0


if __name__ == "__main__":
    sys.exit(main())
