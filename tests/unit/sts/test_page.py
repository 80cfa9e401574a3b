"""The example of docs/sts.md runs, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

from hashrange.testing import Database

PAGE = Path(__file__).parents[3] / "docs" / "sts.md"


def test_the_example(database: Database) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    code = example.replace("http://localhost:8000", database.endpoint)
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "arn:aws:iam::000000000000:root",
        "arn:aws:sts::111122223333:assumed-role/deploy/anna",
        "[]",
    ]
