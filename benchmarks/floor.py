"""`python -m benchmarks.floor PORT BODY_BYTES`: what does a reply cost before anything is done? The floor under every figure.

The same event loop and parser as Hashrange's, and a handler that answers every request with the same bytes.
"""

import asyncio
import sys
from typing import cast

import httptools
import uvloop


def reply_of(body_bytes: int) -> bytes:
    """A reply with as many headers as ours."""
    head = (
        "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"Connection: keep-alive\r\nx-amzn-RequestId: {'A' * 52}\r\nx-amz-crc32: 0\r\nContent-Length: {body_bytes}\r\n\r\n"
    )
    return head.encode() + b" " * body_bytes


class Answerer(asyncio.Protocol):
    """One connection."""

    reply = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self.transport = cast("asyncio.Transport", transport)
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        """Bytes from the client."""
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, looked at by nobody."""

    def on_message_complete(self) -> None:
        """The request is whole."""
        self.transport.write(self.reply)


async def serve(port: int, body_bytes: int) -> None:
    """Until killed."""
    Answerer.reply = reply_of(body_bytes)
    server = await asyncio.get_running_loop().create_server(Answerer, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), int(sys.argv[2])))
