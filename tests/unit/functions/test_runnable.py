"""Which runtimes are supported?"""

import pytest

from hashrange.functions.programs import is_supported


@pytest.mark.parametrize("runtime", ["python3.8", "python3.13", "nodejs18.x", "nodejs22.x"])
def test_supported(runtime: str) -> None:
    assert is_supported(runtime)


@pytest.mark.parametrize(
    "runtime",
    ["", "python", "python2.7", "python3.7", "python3.x", "python3.12.1", "nodejs", "nodejs20", "nodejs16.x", "java21"],
)
def test_not_supported(runtime: str) -> None:
    assert not is_supported(runtime)
