"""A front end whose operations run on a loop: those of STS are answered in a later turn, as CloudWatch's are."""

import asyncio

from tests.unit.server.harness import FrontEnd

TURNS_MAX = 1_000


class LoopedFront(FrontEnd):
    """A front end with a loop for each request."""

    def ask(self, data: bytes) -> bytes:
        """The reply that a new client gets to these bytes."""
        return asyncio.run(self._ask(data))

    async def _ask(self, data: bytes) -> bytes:
        connection, transport = self.connect()
        connection.data_received(data)
        answer = transport.take()
        for _ in range(TURNS_MAX):
            if answer:
                break
            await asyncio.sleep(0)
            answer = transport.take()
        connection.connection_lost(None)
        return answer
