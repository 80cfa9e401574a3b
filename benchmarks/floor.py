"""`python -m benchmarks.floor PORT BODY_BYTES`: how much does a server cost that does no work?
The lower bound of every figure.

It has Hashrange's event loop and parser, and a handler that answers every request with the same bytes.
"""

import asyncio
import sys
from typing import cast

import httptools
import uvloop


def reply_of(body_bytes: int) -> bytes:
    """Return a reply with the same headers as Hashrange's."""
    head = (
        "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        "Content-Type: application/x-amz-json-1.0\r\n"
        f"Connection: keep-alive\r\nx-amzn-RequestId: {'A' * 52}\r\nx-amz-crc32: 0\r\n"
        f"Content-Length: {body_bytes}\r\n\r\n"
    )
    return head.encode() + b" " * body_bytes


class Answerer(asyncio.Protocol):
    """The server's side of one connection."""

    reply = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport of the new client."""
        self.transport = cast("asyncio.Transport", transport)
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        """Parse bytes from the client."""
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore a header."""

    def on_message_complete(self) -> None:
        """Send the reply of a complete request."""
        self.transport.write(self.reply)


async def serve(port: int, body_bytes: int) -> None:
    """Serve until killed."""
    Answerer.reply = reply_of(body_bytes)
    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
