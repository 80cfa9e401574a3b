"""The requests of requests.json, which touch every corner of the data plane, through each client of DAX
and directly: both hear the same.

The cluster is encrypted, and checks signatures; each client is told in its own way which certificate to trust.
What a client itself changes is undone before the comparison; the functions below say what that is.
`except` in a step names clients whose own faults keep it from being compared. Source: the clients' code.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.clients.dax.conftest import JAVA_OPTIONS
from tests.clients.programs import go, heard, java, node, program, python
from tests.clients.serving import ServerProcess

HERE = Path(__file__).parent
CERTIFICATE = HERE.parents[1] / "data" / "tls" / "localhost.pem"
STEPS = json.loads((HERE / "requests.json").read_text(encoding="utf-8"))["steps"]
FAULTY_KEYS = {
    "left": 'kind = "unprocessed"',
    "conflict": 'kind = "conflict"',
    "error": 'kind = "error"',
    **{
        name: f'kind = "throttle"\nexception = "{name}"'
        for name in ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")
    },
}
"""Key of an item of the table `busy` → the fault that requests for it meet."""
OWN_NAMES = {
    "python": {
        "RequestLimitExceeded": "RequestLimitExceededException",
        "InternalServerError": "InternalServerErrorException",
    },
    "javascript": {},
    "java": {"InternalServerError": "AmbiguousWriteFailureException"},
    "go": dict.fromkeys(("RequestLimitExceeded", "InternalServerError"), "Unknown"),
}
"""Client → the names that it gives to errors of DynamoDB."""

pytestmark = pytest.mark.packaging


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    """A server with an encrypted DAX cluster, which checks signatures, and fails requests for
    some items of the tables `busy`.
    """
    faults = [
        f'[[fault]]\ntable = "{side}.busy"\nkey = {{ name = {{ S = "{key}" }} }}\n{kind}\n'
        for side in ("through", "direct")
        for key, kind in FAULTY_KEYS.items()
    ]
    (tmp_path / "faults.toml").write_text("seed = 1\n\n" + "\n".join(faults))
    (tmp_path / "credentials.toml").write_text('[[credential]]\naccess_key = "AKIDEXAMPLE"\nsecret_key = "secret"\n')
    files = {
        "--faults": tmp_path / "faults.toml",
        "--credentials": tmp_path / "credentials.toml",
        "--tls-cert": CERTIFICATE,
        "--tls-key": CERTIFICATE.with_suffix(".key"),
    }
    for variable in ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"):
        monkeypatch.setenv(variable, str(CERTIFICATE))
    running = ServerProcess(
        None, "--dax-port", "0", *(word for name, file in files.items() for word in (name, str(file)))
    )
    yield running
    running.stop()


def in_python(folder: Path) -> list[str]:
    return [python(HERE / "python"), "requests_told.py"]


def in_javascript_v2(folder: Path) -> list[str]:
    return [node(HERE / "javascript"), "--no-warnings", "requests_v2.mjs"]


def in_javascript_v3(folder: Path) -> list[str]:
    return [node(HERE / "javascript"), "--no-warnings", "requests_v3.mjs"]


def in_go(folder: Path) -> list[str]:
    return [go(HERE / "go")]


def in_java(folder: Path) -> list[str]:
    """Java trusts what is in a key store, which is made in `folder`."""
    store, word = folder / "trusted.p12", "not-secret"
    command = [program("keytool"), "-importcert", "-noprompt", "-alias", "server", "-file", str(CERTIFICATE)]
    subprocess.run([*command, "-keystore", str(store), "-storepass", word], capture_output=True, timeout=30, check=True)
    trust = [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={word}"]
    return [java(HERE / "java"), *trust, *JAVA_OPTIONS, "dax.Requests"]


@pytest.mark.parametrize(
    ("client", "command", "more"),
    [
        pytest.param("python", in_python, [], id="python"),
        pytest.param("javascript", in_javascript_v2, [], id="javascript-v2"),
        pytest.param("javascript", in_javascript_v3, [], id="javascript-v3"),
        pytest.param("go", in_go, ["../requests.json"], id="go"),
        pytest.param("java", in_java, ["blocking", "../requests.json"], id="java"),
        pytest.param("java", in_java, ["async", "../requests.json"], id="java-async"),
    ],
)
def test_every_request_is_answered_as_directly(
    client: str, command: Callable[[Path], list[str]], more: list[str], faulty: ServerProcess, tmp_path: Path
) -> None:
    assert str(faulty.dax_endpoint).startswith("daxs://")
    told = heard([*command(tmp_path), faulty.endpoint, str(faulty.dax_endpoint), *more], HERE / client)
    assert len(told["through"]) == len(told["direct"]) == len(STEPS)
    different = [
        f"step {place}: {json.dumps(step)[:300]}\n  through DAX: {through}\n  directly: {direct}"
        for place, (step, through, direct) in enumerate(zip(STEPS, told["through"], told["direct"], strict=True))
        if client not in step.get("except", {}) and alike(through, client) != expected(direct, client)
    ]
    assert not different, "\n".join(different)[:20_000]


def alike(answer: Any, client: str) -> Any:
    """What a client of DAX says, in DynamoDB's words."""
    if isinstance(answer, dict):
        message, code = answer["message"], answer["code"]
        if client == "java" and code == "AmbiguousWriteFailureException":
            return {"code": code}
        if client == "java":
            message = message.partition("] ")[2]  # [4.37.38.39.46] and the message
        elif client == "go":
            message = message.removeprefix("api error ").partition(": ")[2]
        else:
            message = message.removeprefix(f"{code}: ")
        answer = {**answer, "code": code, "message": message}
    return canonical(answer)


def expected(answer: Any, client: str) -> Any:
    """What DynamoDB says, with the names that a client gives to errors."""
    if isinstance(answer, dict):
        code = OWN_NAMES[client].get(answer["code"], answer["code"])
        if code == "AmbiguousWriteFailureException":
            return {"code": code}
        answer = {**answer, "code": code}
        if client == "python":
            answer.pop("reasons", None)  # The client keeps them as they came, as bytes.
    return canonical(answer)


def canonical(value: Any) -> Any:
    """A value without what clients leave out if it is empty, and with one spelling of each number.

    Clients return the key as it was in the request (1.50), and numbers as their language shows them (1E-7, 125E-2).
    Go and Java send the tables of a batch in any order, which is that of their ConsumedCapacity.
    """
    if isinstance(value, list):
        elements = [canonical(one) for one in value]
        is_by_table = all(isinstance(one, dict) and isinstance(one.get("TableName"), str) for one in elements)
        return sorted(elements, key=lambda one: str(one["TableName"])) if is_by_table else elements
    if not isinstance(value, dict):
        return value
    if set(value) == {"N"}:
        return {"N": number(value["N"])}
    if set(value) == {"NS"}:
        return {"NS": sorted(map(number, value["NS"]))}
    is_item = all(isinstance(inner, dict) and len(inner) == 1 for inner in value.values())
    found = {name: canonical(inner) for name, inner in value.items()}
    return found if is_item else {name: inner for name, inner in found.items() if inner not in ({}, [], None)}


def number(text: str) -> str:
    """A number's one spelling."""
    found = Decimal(text)
    return format(found.normalize() if found else Decimal(0), "f")
