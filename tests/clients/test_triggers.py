"""A shop whose orders, stock, search index and sessions are followed by stream handlers, in Python and TypeScript, deployed in each way."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.serving import ServerProcess
from tests.clients.triggers.application import REFUSED_AT_FIRST, Shop
from tests.clients.triggers.deployment import (
    PYTHON,
    TYPESCRIPT,
    Code,
    Plan,
    build_typescript,
    deploy_with_boto3,
    deploy_with_typescript,
    destinations_text,
    make_plan,
    triggers_text,
)
from tests.clients.triggers.mail_service import mail_service

BEFORE, AFTER = range(1, 81), range(81, 221)
"""Numbers of the orders that are placed before the handlers are deployed over the API, and after."""
PYTHON_CODE = Code(PYTHON, ".py", f"python3.{sys.version_info.minor}")
COMPILED = Code(TYPESCRIPT / "dist", ".js", "nodejs20.x")
COMMONJS = Code(TYPESCRIPT / "dist" / "commonjs", ".js", "nodejs20.x")
MODULES = Code(TYPESCRIPT / "dist" / "modules", ".mjs", "nodejs22.x")

pytestmark = pytest.mark.packaging


@pytest.fixture(autouse=True)
def own_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers find the Python that has boto3, which Lambda's runtimes have too."""
    monkeypatch.setenv("PATH", os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"])))


@pytest.mark.parametrize("code", [PYTHON_CODE, COMPILED], ids=["python", "typescript"])
def test_a_shop_with_handlers_in_a_folder(code: Code, tmp_path: Path) -> None:
    if code is COMPILED:
        build_typescript()
    run_shop(tmp_path, code, None)


def test_a_shop_with_zips_of_python(tmp_path: Path) -> None:
    run_shop(tmp_path, PYTHON_CODE, deploy_with_boto3)


@pytest.mark.parametrize("code", [COMMONJS, MODULES], ids=["commonjs", "modules"])
def test_a_shop_with_zips_of_typescript(code: Code, tmp_path: Path) -> None:
    build_typescript()
    run_shop(tmp_path, code, deploy_with_typescript)


def run_shop(folder: Path, code: Code, deploy: Callable[[str, Plan], None] | None) -> None:
    """Run the shop with a server whose file of triggers has the handlers, or with handlers that `deploy` brings to the server."""
    failed, file = folder / "failed.jsonl", folder / "triggers.toml"
    with mail_service(REFUSED_AT_FIRST) as mail:
        triggers = triggers_text(code, mail.url, failed)
        file.write_text(triggers if deploy is None else destinations_text(failed))
        server = ServerProcess(None, "--functions", "--triggers", str(file))
        try:
            shop = Shop(server.endpoint, mail)
            shop.open()
            shop.sell(BEFORE)
            if deploy is not None:
                deploy(server.endpoint, make_plan(triggers, code, folder, shop.stream_arns))
            shop.sell(AFTER)
            shop.revise_catalog()
            shop.let_sessions_end()
            shop.wait_for_handlers()
            shop.check()
            shop.check_failures(failed)
            shop.close()
        finally:
            server.stop()
