"""Do the examples with Testcontainers start the same server?
`make soak` compiles them with the real libraries (tests/packages).
"""

import re

import pytest

from tests.pipelines.validators import ROOT

EXAMPLES = ROOT / "tests" / "clients"


@pytest.mark.parametrize("path", ["python/orders.py", "node/orders.mjs", "go/main.go"])
def test_all_examples_run_the_same_server(path: str) -> None:
    text = (EXAMPLES / f"testcontainers_{path}").read_text()
    words = re.sub(r'[",]+', " ", text)
    assert "serve --host 0.0.0.0 --in-memory" in " ".join(words.split())
    assert '"hashrange/hashrange"' in text
