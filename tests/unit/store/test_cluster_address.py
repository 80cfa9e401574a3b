"""Which cluster do the settings name? Every wrong form has a sentence, and no sentence and no text has a secret."""

from pathlib import Path
from typing import Any

import pytest

from hashrange.settings import Settings, SettingUnusable
from hashrange.store.cassandra.address import PASSWORD_VARIABLE, ClusterAddress, address_of, read_address

STORE = "cassandra://10.0.0.1,10.0.0.2/shop"
SECRET = "s3cret"


@pytest.mark.parametrize(
    ("text", "hosts", "port", "shown"),
    [
        (STORE, ("10.0.0.1", "10.0.0.2"), 9042, STORE),
        ("cassandra://db.test:9142,10.0.0.2/shop", ("db.test", "10.0.0.2"), 9142, None),
        ("cassandra://a,b:9142/shop", ("a", "b"), 9142, "cassandra://a,b:9142/shop"),
        ("cassandra://a:9142,b:9142/shop", ("a", "b"), 9142, "cassandra://a,b:9142/shop"),
        ("cassandra://[::1]:9142,[fe80::1]/shop", ("::1", "fe80::1"), 9142, "cassandra://[::1],[fe80::1]:9142/shop"),
    ],
)
def test_it_names_hosts_a_port_and_a_keyspace(text: str, hosts: tuple[str, ...], port: int, shown: str | None) -> None:
    assert read_address(text) == (hosts, port, "shop")
    address = address_of(Settings(store=text), {})
    assert (address.hosts, address.port, address.keyspace) == (hosts, port, "shop")
    again = str(address)
    assert again == (shown or again)
    assert read_address(again) == (hosts, port, "shop"), "its text can be given as --store"


FORM = "It must have the form cassandra://HOST[:PORT],HOST/KEYSPACE"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("postgres://a/shop", ["--store does not begin with cassandra://.", FORM]),
        ("shop", ["does not begin with", FORM]),
        ("cassandra://a", ["names no keyspace", FORM]),
        ("cassandra://a/", ["names no keyspace", FORM]),
        ("cassandra:///shop", ["a host is missing", FORM]),
        ("cassandra://a,,b/shop", ["a host is missing", FORM]),
        ("cassandra://a,b,/shop", ["a host is missing", FORM]),
        ("cassandra://a b/shop", ["a b is no host", FORM]),
        ("cassandra://:9042/shop", [":9042 is no host", FORM]),
        ("cassandra://::1/shop", ["::1 is no host", FORM]),
        ("cassandra://[::1/shop", ["[::1 is no host", FORM]),
        ("cassandra://[]/shop", ["[] is no host", FORM]),
        ("cassandra://a:/shop", ["names the port of no number; it must be a number from 1 to 65,535"]),
        ("cassandra://a:0/shop", ["names the port 0; it must be"]),
        ("cassandra://a:65536/shop", ["names the port 65536; it must be"]),
        ("cassandra://a:９/shop", ["names the port ９; it must be"]),
        ("cassandra://a:1,b:2/shop", ["names the ports 1 and 2, but all nodes of a cluster listen on the same one"]),
        ("cassandra://a,a/shop", ["names a host twice"]),
        ("cassandra://a/Shop", ["names the keyspace Shop; a name has at most 48 small letters"]),
        ("cassandra://a/shop/more", ["names the keyspace shop/more;"]),
        ("cassandra://a/" + "s" * 49, ["a name has at most 48"]),
        ("cassandra://a/1shop", ["begins with a letter"]),
        ("cassandra://a/shop?ssl=true", ["takes no parameters", FORM]),
    ],
)
def test_a_wrong_form_is_refused_in_one_sentence(text: str, sentences: list[str]) -> None:
    with pytest.raises(SettingUnusable) as refusal:
        address_of(Settings(store=text), {})
    for sentence in sentences:
        assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    "text", [f"cassandra://me:{SECRET}@a/shop", f"cassandra://me:{SECRET}@a", f"cassandra://{SECRET}@a:b/Shop"]
)
def test_a_password_in_the_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingUnusable, match="--store has a user or a password") as refusal:
        address_of(Settings(store=text), {})
    assert SECRET not in str(refusal.value)


def test_what_is_no_address_may_be_a_secret_and_is_not_repeated() -> None:
    with pytest.raises(SettingUnusable) as refusal:
        address_of(Settings(store=f"https://me:{SECRET}@a/shop"), {})
    assert SECRET not in str(refusal.value)


# --- user and password ------------------------------------------------------------------------------


def with_user(**settings: Any) -> Settings:
    return Settings(store=STORE, store_user="me", **settings)


def test_the_password_is_that_of_the_environment() -> None:
    address = address_of(with_user(), {PASSWORD_VARIABLE: SECRET})
    assert (address.user, address.password) == ("me", SECRET)


def test_the_password_in_a_file_is_without_the_end_of_its_line_and_wins(tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_bytes(f" {SECRET} \r\n".encode())
    address = address_of(with_user(store_password_file=str(path)), {PASSWORD_VARIABLE: "other"})
    assert address.password == f" {SECRET} "


@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff"])
def test_a_file_without_a_password_is_refused(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "password"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingUnusable, match="Mend --store-password-file"):
        address_of(with_user(store_password_file=str(path)), {})


def test_user_and_password_need_each_other() -> None:
    with pytest.raises(SettingUnusable, match="--store-user is set without a password, but"):
        address_of(with_user(), {PASSWORD_VARIABLE: ""})
    with pytest.raises(SettingUnusable) as refusal:
        address_of(Settings(store=STORE), {PASSWORD_VARIABLE: SECRET})
    assert str(refusal.value).startswith("a password is set without --store-user, but")
    assert SECRET not in str(refusal.value)


def test_its_text_has_no_secrets() -> None:
    address = address_of(with_user(), {PASSWORD_VARIABLE: SECRET})
    assert {str(address), repr(address), f"{address}"} == {STORE}


def test_what_else_is_set() -> None:
    usual = address_of(Settings(store=STORE), {})
    assert (usual.ca_path, usual.datacenter, usual.is_single_node, usual.user) == (None, None, False, None)
    settings = Settings(store=STORE, store_ca="ca.pem", store_datacenter="north", single_node=True)
    address = address_of(settings, {})
    assert address == ClusterAddress(
        hosts=("10.0.0.1", "10.0.0.2"), keyspace="shop", ca_path="ca.pem", datacenter="north", is_single_node=True
    )
