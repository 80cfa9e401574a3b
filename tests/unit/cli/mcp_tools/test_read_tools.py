"""What do tools make of servers that are not Hashrange?"""

from typing import Any

from hashrange.cli.mcp_tools.asking import AskedServer
from hashrange.cli.mcp_tools.tools import ReadTools


class DeafServer(AskedServer):
    """A server that replies with all items, whatever Limit says."""

    def __init__(self) -> None:
        self.asked = 0

    def ask(self, operation: str, service: str = "dynamodb", /, **members: Any) -> Any:
        self.asked += 1
        assert self.asked < 20, f"{operation} is asked for over and over"
        return {"Items": [{"id": {"S": str(number)}, "text": {"S": "x" * 60_000}} for number in range(3)]}


def test_a_server_that_hears_no_limit_is_not_asked_for_ever() -> None:
    tools = ReadTools(DeafServer(), may_write=False)
    page = tools.run_partiql("SELECT * FROM Users", limit=100)
    assert [item["id"] for item in page["items"]] == ["0", "1", "2"]
