"""`pytest tests/scripts --rewrite` writes the actual outputs into the `.case` files;
review the diff, then commit it.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what came out into the .case files")
