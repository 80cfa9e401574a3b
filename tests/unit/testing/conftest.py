"""Tests of clients that have a session of their own: the models of services, which take each session 80 ms to read,
are read once.
"""

from collections.abc import Iterator
from functools import cache

import botocore.session
import pytest


@pytest.fixture(autouse=True, scope="package")
def models_read_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield
