"""How are tools served over HTTP? On a loopback address, to callers that know the token,
and never to a page of a browser.
"""

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from types import FrameType
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from hashrange.cli.output import complain

LOOPBACK = "127.0.0.1"
_REFUSAL = b'{"error": "Send the token: Authorization: Bearer TOKEN."}'

AsgiMessage = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[AsgiMessage]]
AsgiSend = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiMessage, AsgiReceive, AsgiSend], Awaitable[None]]


class _InterruptibleServer(uvicorn.Server):
    """uvicorn's server, which waits for the calls that run when it is interrupted;
    the second time, `hurry` is called.
    """

    def __init__(self, config: uvicorn.Config, hurry: Callable[[], None]) -> None:
        super().__init__(config)
        self._hurry = hurry

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self._hurry()
        super().handle_exit(sig, frame)


def serve_tools(
    server: MCPServer[Any], port: int, token: str, hurry: Callable[[], None], *, is_token_shown: bool
) -> None:
    """Serve until interrupted. `hurry` lets calls that run end at once. Raises OSError if the port is taken."""
    listening = socket.create_server((LOOPBACK, port))
    place = f"{LOOPBACK}:{listening.getsockname()[1]}"
    names = [f"{name}:{listening.getsockname()[1]}" for name in (LOOPBACK, "localhost")]
    security = TransportSecuritySettings(allowed_hosts=names, allowed_origins=[])
    # Without sessions: no tool has one, and each would keep some memory.
    app: Any = server.streamable_http_app(transport_security=security, stateless_http=True)
    config = uvicorn.Config(_guarded(app, token), log_level="warning", log_config=None, lifespan="on")
    shown = f" with the token {token}" if is_token_shown else ""
    complain(f"hashrange: tools are served at http://{place}/mcp{shown}")
    asyncio.run(_InterruptibleServer(config, hurry).serve([listening]))


def _guarded(app: AsgiApp, token: str) -> AsgiApp:
    """The application, for those who send the token."""
    expected = f"bearer {token}".encode()

    async def answer(scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] == "http":
            given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            scheme, _, rest = given.partition(b" ")
            if not hmac.compare_digest(b"%b %b" % (scheme.lower(), rest), expected):
                headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
                await send({"type": "http.response.start", "status": 401, "headers": headers})
                await send({"type": "http.response.body", "body": _REFUSAL})
                return
        await app(scope, receive, send)

    return answer
