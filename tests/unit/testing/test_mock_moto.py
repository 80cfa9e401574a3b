"""moto, in an environment of its own that has this one's botocore: DynamoDB is ours, other services are moto's."""

import os
from pathlib import Path

import pytest

from tests.unit.testing.suites import HERE, python_with, run_pytest

NOTHING = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


@pytest.mark.packaging
def test_moto_and_a_database_share_a_test(tmp_path: Path) -> None:
    text = (HERE / "with_moto" / "in_mock_aws.py").read_text(encoding="utf-8")
    said = run_pytest(tmp_path, text, python=python_with("with_moto"), variables=NOTHING)
    assert "\n13 passed in " in said, said
