"""`hashrange doctor` in many environments: what it finds, what it never shows, and that it changes nothing."""

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from hashrange.cli.checkup.sdk_settings import Profile, is_aws, look_at_proxies, look_at_region
from hashrange.settings import Settings
from hashrange.terminal import without_user
from hashrange.testing import server
from tests.unit.cli.doctor_visits import CLIENT, SECRET, Answering, Doctor


def test_a_sound_environment(doctor: Doctor, endpoint: str) -> None:
    streams: dict[str, Any] = {"AWS_ENDPOINT_URL_DYNAMODB_STREAMS": endpoint}
    found = doctor(expected=0, AWS_ENDPOINT_URL_DYNAMODB=endpoint, **streams, **CLIENT)
    assert {subject: verdict for subject, (verdict, _) in found.items()} == {
        "version": "ok",
        "engine": "ok",
        "settings": "ok",
        "data": "ok",
        "endpoint": "ok",
        "region": "ok",
        "credentials": "ok",
        "server": "ok",
        "clock": "ok",
        "request": "hint",
    }
    assert found["server"][1] == f"Hashrange answers at {endpoint}."
    assert found["request"][1].startswith("ListTables works, and there are no tables in eu-west-1")


def test_an_empty_environment(doctor: Doctor, free_port: int) -> None:
    found = doctor(expected=1, HASHRANGE_PORT=str(free_port))
    wrong = {subject for subject, (verdict, _) in found.items() if verdict == "wrong"}
    assert wrong == {"endpoint", "server"}
    notes = {subject: sentence for subject, (verdict, sentence) in found.items() if verdict == "note"}
    assert notes.keys() == {"region", "credentials"}, "clients may have them in their code"
    assert all("in their code" in sentence and "set AWS_" in sentence for sentence in notes.values())
    assert "--endpoint" in found["endpoint"][1]
    assert f"AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:{free_port}" in found["endpoint"][1]
    assert f"hashrange serve --port {free_port}" in found["server"][1]
    assert sorted(one.name for one in doctor.home.iterdir()) == [".aws"]


def test_it_is_readable_in_a_terminal(doctor: Doctor, free_port: int) -> None:
    code, told = doctor.in_process("--endpoint-url", f"http://127.0.0.1:{free_port}", **CLIENT)
    assert code == 1
    assert "\nwrong  server       Nothing answers at 127.0.0.1, port" in told
    assert told.endswith("\n1 fault, 0 hints, 0 notes.\n")


@pytest.mark.parametrize(
    ("config", "environment", "source"),
    [
        ("", {"AWS_ENDPOINT_URL": "{url}", "AWS_ENDPOINT_URL_DYNAMODB": "http://other"}, "AWS_ENDPOINT_URL_DYNAMODB"),
        ("[default]\nendpoint_url = http://other\n", {"AWS_ENDPOINT_URL": "{url}"}, "AWS_ENDPOINT_URL"),
        ("[default]\nendpoint_url = {url}\n", {}, "the profile default"),
        (
            (
                "[profile shop]\nservices = local\nendpoint_url = http://other\n[services local]\ndynamodb =\n"
                "  endpoint_url = {url}\n"
            ),
            {"AWS_PROFILE": "shop"},
            "the services of the profile shop",
        ),
    ],
)
def test_where_clients_find_their_endpoint(
    doctor: Doctor, endpoint: str, config: str, environment: dict[str, Any], source: str
) -> None:
    doctor.write("config", config.replace("{url}", endpoint))
    found = doctor(**{name: value.replace("{url}", endpoint) for name, value in environment.items()}, **CLIENT)
    expected = "http://other" if source == "AWS_ENDPOINT_URL_DYNAMODB" else endpoint
    assert found["endpoint"] == ("ok", f"Clients call {expected}, by {source}.")


def test_endpoints_that_are_ignored(doctor: Doctor, endpoint: str) -> None:
    found = doctor(AWS_ENDPOINT_URL=endpoint, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS="true", **CLIENT)
    assert found["endpoint"][0] == "wrong"
    assert "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS" in found["endpoint"][1]


def test_aws_itself_is_never_called(doctor: Doctor) -> None:
    found = doctor(AWS_ENDPOINT_URL="https://dynamodb.eu-west-1.amazonaws.com", **CLIENT)
    assert found["endpoint"][0] == "hint"
    assert "server" not in found


@pytest.mark.parametrize(
    ("environment", "subject", "verdict", "words"),
    [
        ({"AWS_DEFAULT_REGION": ""}, "region", "hint", "boto3 does not read"),
        ({"AWS_REGION": "us-east-1"}, "region", "hint", "AWS_DEFAULT_REGION is eu-west-1"),
        ({"AWS_ACCESS_KEY_ID": "111122223333"}, "credentials", "hint", "has 12 digits"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "credentials", "wrong", "an access key without its secret"),
        (
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            "credentials",
            "note",
            "Clients that have none in their code",
        ),
        ({"AWS_PROFILE": "missing"}, "profile", "wrong", "no profile missing"),
        ({"HTTP_PROXY": f"http://me:{SECRET}@proxy:3128"}, "proxy", "wrong", "the proxy http://proxy:3128"),
        ({"HASHRANGE_PROT": "1"}, "settings", "hint", "Did you mean HASHRANGE_PORT?"),
        ({"HASHRANGE_PORT": "web"}, "settings", "wrong", 'HASHRANGE_PORT is "web"'),
        ({"HASHRANGE_IN_MEMORY": "true"}, "data", "ok", "in memory"),
        ({"HASHRANGE_DATA_DIR": "/dev/null/data"}, "data", "wrong", "/dev/null is no folder"),
        ({"HASHRANGE_CREDENTIALS": "missing"}, "files", "wrong", "the credentials file missing cannot be used"),
        ({"HASHRANGE_TLS_CERT": "no", "HASHRANGE_TLS_KEY": "no"}, "files", "wrong", "TLS cannot start with no and no"),
        ({"HASHRANGE_INIT": "missing"}, "files", "wrong", "the init folder 'missing' cannot be read"),
        ({"HASHRANGE_FAULTS": "missing"}, "files", "wrong", "the file of faults missing cannot be read"),
        ({"HASHRANGE_TRIGGERS": "missing"}, "files", "wrong", "the file of triggers missing cannot be read"),
        ({"HASHRANGE_OTHERS": "nonsense"}, "files", "wrong", "HASHRANGE_OTHERS: 'nonsense' is no URL"),
        (
            {"HASHRANGE_OTHERS": f"http://me:{SECRET}@host"},
            "files",
            "wrong",
            "HASHRANGE_OTHERS: 'http://…@host' is no URL",
        ),
        ({"HASHRANGE_OTHERS": "http://localhost:4566"}, "files", "ok", "can be used"),
        ({"HASHRANGE_DATA_DIR": "/dev"}, "data", "wrong", "holds other files"),
        ({"HASHRANGE_DATA_DIR": "a" * 400}, "data", "wrong", "File name too long"),
        ({"HASHRANGE_HOST": "192.0.2.1", "HASHRANGE_PORT": "8000"}, "port", "wrong", "No server can listen"),
        ({"AWS_CONFIG_FILE": "~no-such-user/config"}, "profile", "wrong", "~no-such-user/config cannot be read"),
        ({"AWS_ACCESS_KEY_ID": "\u20ac"}, "request", "wrong", "characters that no header can"),
        ({"AWS_SESSION_TOKEN": "a\nb"}, "request", "wrong", "characters that no header can"),
    ],
)
def test_what_surprises_people(
    doctor: Doctor, endpoint: str, environment: dict[str, Any], subject: str, verdict: str, words: str
) -> None:
    found = doctor(AWS_ENDPOINT_URL=endpoint, **CLIENT | environment)
    assert found[subject][0] == verdict
    assert words in found[subject][1]


def test_a_user_without_a_home(doctor: Doctor, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as a user whom its image does not know. SDKs then find no files, and start."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    found = doctor(AWS_ENDPOINT_URL=endpoint, HOME="", expected=0, **CLIENT)
    assert "profile" not in found


def test_a_data_folder_that_is_a_link_to_nothing(doctor: Doctor, endpoint: str) -> None:
    (doctor.home / "link").symlink_to("nothing")
    (doctor.home / "loop").symlink_to("loop")
    for name in ("link", "loop", "loop/data"):
        found = doctor(AWS_ENDPOINT_URL=endpoint, HASHRANGE_DATA_DIR=name, expected=1, **CLIENT)
        assert found["data"][0] == "wrong", name


def test_a_proxy_that_is_not_used(doctor: Doctor, endpoint: str) -> None:
    proxy: dict[str, Any] = {"HTTP_PROXY": "http://proxy:3128", "NO_PROXY": "localhost, 127.0.0.1"}
    assert "proxy" not in doctor(AWS_ENDPOINT_URL=endpoint, **proxy, **CLIENT)


@pytest.mark.parametrize("text", ["[default]\naws_access_key_id = any\n", "aws_access_key_id\n", "[default\n", "\xff"])
def test_shared_files_that_are_wrong(doctor: Doctor, endpoint: str, text: str) -> None:
    doctor.write("credentials", "")
    (doctor.home / ".aws" / "credentials").write_bytes(text.encode("latin-1"))
    found = doctor(AWS_ENDPOINT_URL=endpoint, AWS_REGION="eu-west-1", expected=1)
    assert {found[subject][0] for subject in ("profile", "credentials") if subject in found} <= {"wrong", "note"}
    assert "wrong" in {found[subject][0] for subject in ("profile", "credentials") if subject in found}


def test_keys_of_a_profile(doctor: Doctor, endpoint: str) -> None:
    doctor.write("credentials", f"[shop]\naws_access_key_id = any\naws_secret_access_key = {SECRET}\n")
    doctor.write("config", "[profile shop]\nregion = us-west-2\n")
    found = doctor("--profile", "shop", AWS_ENDPOINT_URL=endpoint)
    assert found["credentials"] == ("ok", "The access key is that of the profile shop.")
    assert "us-west-2" in found["region"][1]
    doctor.write("config", "[default]\nsso_session = work\nregion = us-west-2\n")
    assert doctor(AWS_ENDPOINT_URL=endpoint)["credentials"][0] == "hint"


@pytest.mark.parametrize("head", ['profile "my shop"', "profile   'my shop'"])
def test_names_of_profiles_in_quotes(doctor: Doctor, endpoint: str, head: str) -> None:
    doctor.write(
        "config",
        f"[{head}]\nregion = us-west-2\nservices = local\n[services 'local']\ndynamodb =\n"
        f"  endpoint_url = {endpoint}\n",
    )
    doctor.write("credentials", f"[my shop]\naws_access_key_id = any\naws_secret_access_key = {SECRET}\n")
    found = doctor(AWS_PROFILE="my shop")
    assert "profile" not in found
    assert found["endpoint"] == ("ok", f"Clients call {endpoint}, by the services of the profile my shop.")
    assert "us-west-2" in found["region"][1]


def test_a_folder_that_a_server_uses(doctor: Doctor, tmp_path: Path) -> None:
    folder = str(tmp_path / "data")
    with server(Settings(data_dir=folder, port=0)) as database:
        found = doctor(HASHRANGE_DATA_DIR=folder, AWS_ENDPOINT_URL=database.endpoint, **CLIENT)
        assert found["data"][0] == "hint"
        assert f"process {os.getpid()}" in found["data"][1]
    assert "no server uses it now" in doctor(HASHRANGE_DATA_DIR=folder, **CLIENT)["data"][1]


def test_a_port_that_another_program_has(doctor: Doctor, endpoint: str) -> None:
    with Answering(200, b"{}") as other:
        port: dict[str, Any] = {"HASHRANGE_PORT": other.url.rpartition(":")[2]}
        found = doctor("--endpoint-url", endpoint, expected=0, **port, **CLIENT)
        assert found["port"][0] == "hint"
        assert "clients call elsewhere" in found["port"][1]
        assert doctor("--endpoint-url", other.url, **port, **CLIENT)["port"][0] == "ok"


def test_a_machine_without_ipv6(doctor: Doctor, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class OldSocket(socket.socket):
        def __init__(self, family: int = -1, *rest: Any, **named: Any) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
            super().__init__(family, *rest, **named)

    monkeypatch.setattr(socket, "socket", OldSocket)
    found = doctor(AWS_ENDPOINT_URL=endpoint, HASHRANGE_HOST="::", HASHRANGE_PORT="8000", expected=1, **CLIENT)
    assert found["port"][0] == "wrong"
    assert "Address family not supported by protocol" in found["port"][1]


def test_aws_as_the_endpoint_in_the_code(doctor: Doctor) -> None:
    found = doctor("--endpoint-url", "https://DynamoDB.eu-west-1.amazonaws.com.", expected=0, **CLIENT)
    assert found["endpoint"][0] == "hint"
    assert "server" not in found


def test_hosts_of_all_partitions_are_those_of_aws() -> None:
    """Nothing is sent to them. botocore has the list of all AWS SDKs."""
    partitions = get_session().get_data("partitions")["partitions"]
    endings = {one["outputs"][name] for one in partitions for name in ("dnsSuffix", "dualStackDnsSuffix")}
    assert {ending for ending in endings if not is_aws(f"dynamodb.region.{ending}")} == set()
    assert not is_aws("notamazonaws.com")
    assert not is_aws("amazonaws.com.example")


def test_a_profile_in_the_code_precedes_variables(doctor: Doctor, endpoint: str) -> None:
    doctor.write("credentials", f"[shop]\naws_access_key_id = 111122223333\naws_secret_access_key = {SECRET}\n")
    found = doctor("--profile", "shop", AWS_ENDPOINT_URL=endpoint, **CLIENT)
    assert "from the profile shop, has 12 digits" in found["credentials"][1]
    lone: dict[str, Any] = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_PROFILE": "shop"}
    assert "the profile shop" in doctor(AWS_ENDPOINT_URL=endpoint, **lone)["credentials"][1]


def test_proxies_for_other_machines_are_a_hint() -> None:
    variables = {"http_proxy": "http://proxy:3128"}
    assert [one.verdict for one in look_at_proxies("http://db.example:8000", "db.example", variables)] == ["hint"]
    for places in (".example", "db.example:8000"):
        excluded = variables | {"NO_PROXY": places}
        assert not list(look_at_proxies("http://me@db.example:8000/", "db.example", excluded))


@pytest.mark.parametrize("url", ["http://me:{}@db:8000", "http://me:a/{}@db:8000", "me:{}@db"])
def test_urls_are_shown_without_their_users(url: str) -> None:
    assert SECRET not in without_user(url.format(SECRET))
    assert without_user(url.format(SECRET)).endswith(url.rpartition("@")[2])


def test_regions_that_differ() -> None:
    profile = Profile("default", False, False, True, {"region": "eu-west-1"}, {}, {}, None)
    region, finding = look_at_region({"AWS_REGION": "us-east-1"}, profile)
    assert region == "eu-west-1"
    assert finding.verdict == "hint"


@pytest.mark.parametrize("flag", ["--endpoint", "--endpoint-url"])
def test_clients_with_everything_in_their_code_are_not_wrong(doctor: Doctor, endpoint: str, flag: str) -> None:
    found = doctor(flag, endpoint, expected=0)
    assert {found[subject][0] for subject in ("region", "credentials")} == {"note"}
    assert "endpoint" not in found


def test_keys_that_are_only_in_code_are_not_refused_here(doctor: Doctor) -> None:
    """Without keys, a server with a credentials file can only be asked with stand-ins."""
    refusal = (
        b'{"__type": "com.amazon.coral.service#UnrecognizedClientException", "message":'
        b' "The security token is invalid."}'
    )
    with Answering(400, refusal) as other:
        verdict, sentence = doctor("--endpoint", other.url, expected=0)["request"]
        assert verdict == "note"
        assert "must be in the server's credentials file" in sentence
        keys = {"AWS_ACCESS_KEY_ID": "other", "AWS_SECRET_ACCESS_KEY": "other"}
        assert doctor("--endpoint", other.url, expected=1, **keys)["request"][0] == "wrong"
