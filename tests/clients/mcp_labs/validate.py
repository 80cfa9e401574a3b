"""Validates the data model of a folder with AWS Labs' DynamoDB MCP server, unmodified, and prints its results:
`python validate.py FOLDER`.

The server runs models against a container of DynamoDB Local, which it finds with a container tool.
Here that tool is a script that names Hashrange.
"""

import asyncio
import json
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(folder: Path, tools: Path) -> None:
    """Call the tool, and print what it has written."""
    environment = {
        "PATH": str(tools),
        "HOME": str(folder),
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_EC2_METADATA_DISABLED": "true",
        "FASTMCP_LOG_LEVEL": "ERROR",
    }
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "awslabs.dynamodb_mcp_server.server"], env=environment, cwd=folder
    )
    with (folder / "log").open("w") as log:
        async with stdio_client(server, errlog=log) as (reading, writing), ClientSession(reading, writing) as session:
            await session.initialize()
            told = await session.call_tool("dynamodb_data_model_validation", {"workspace_dir": str(folder)})
    results = folder / "dynamodb_model_validation.json"
    text = "".join(getattr(part, "text", "") for part in told.content)
    print(json.dumps({"told": text[:500], "results": json.loads(results.read_text()) if results.exists() else None}))


asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
