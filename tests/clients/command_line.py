"""The AWS CLI against one server; all commands run in one process, because each start takes half a second."""

import json
import os
import subprocess
from typing import NamedTuple, Self

from tests.clients.programs import aws_cli
from tests.clients.stories import HERE

REFUSED = 255


class Done(NamedTuple):
    """What a command has left."""

    returncode: int
    stdout: str
    stderr: str


class CommandLine:
    """`aws …`; a context manager."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        environment = {
            **os.environ,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }
        self.process = subprocess.Popen(
            [aws_cli(HERE / "aws_cli")[0], str(HERE / "aws_cli" / "session.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str) -> Done:
        """Run a command and return its result, even when it fails."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return Done(*json.loads(self.process.stdout.readline()))

    def said(self, *words: str) -> str:
        """Output of a command, which must succeed."""
        done = self.run(*words)
        assert (done.returncode, done.stderr) == (0, ""), words
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        output, _ = self.process.communicate(timeout=30)
        assert (self.process.returncode, output) == (0, "")
