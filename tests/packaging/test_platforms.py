"""Every dependency has a wheel wherever Hashrange runs: resolved from uv.lock, without the network.

Windows on arm64 resolves without the storage engine, which has no wheel there (docs/adr/0005).
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parent.parent.parent
LOCK = {
    package["name"]: package for package in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
}
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))

# name: sys_platform, platform_machine, wheel platforms that the system takes, best first
PLATFORMS: dict[str, tuple[str, str, list[str]]] = {
    "linux-glibc-x86_64": (
        "linux",
        "x86_64",
        ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"],
    ),
    "linux-glibc-arm64": (
        "linux",
        "aarch64",
        ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"],
    ),
    "linux-musl-x86_64": ("linux", "x86_64", ["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"]),
    "linux-musl-arm64": ("linux", "aarch64", ["musllinux_1_2_aarch64", "musllinux_1_1_aarch64"]),
    "macos-x86_64": ("darwin", "x86_64", list(mac_platforms((13, 0), "x86_64"))),
    "macos-arm64": ("darwin", "arm64", list(mac_platforms((13, 0), "arm64"))),
    "windows-x86_64": ("win32", "AMD64", ["win_amd64"]),
    "windows-arm64": ("win32", "ARM64", ["win_arm64"]),
}


def environment(platform: str, python: tuple[int, int]) -> dict[str, str]:
    """The values of environment markers on that platform."""
    system, machine, _ = PLATFORMS[platform]
    version = ".".join(map(str, python))
    return {
        "sys_platform": system,
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "python_version": version,
        "python_full_version": f"{version}.0",
        "platform_system": {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}[system],
        "os_name": "nt" if system == "win32" else "posix",
        "extra": "",
    }


def needed(platform: str, python: tuple[int, int]) -> set[str]:
    """Names of all packages that an installation on that platform needs, indirect dependencies included."""
    seen = environment(platform, python)
    direct = [Requirement(text) for text in PROJECT["dependencies"]]
    names = [canonicalize_name(one.name) for one in direct if one.marker is None or one.marker.evaluate(seen)]
    found: set[str] = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            names += [
                canonicalize_name(one["name"])
                for one in LOCK[name].get("dependencies", [])
                if "marker" not in one or Marker(one["marker"]).evaluate(seen)
            ]
    return found


def tags(platform: str, python: tuple[int, int]) -> set[Tag]:
    """Tags of the wheels that can be installed on that platform."""
    platforms = PLATFORMS[platform][2]
    interpreter = f"cp{python[0]}{python[1]}"
    return {*cpython_tags(python, platforms=platforms), *compatible_tags(python, interpreter, platforms)}


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: ".".join(map(str, python)))
@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_dependency_has_a_wheel(platform: str, python: tuple[int, int]) -> None:
    installable = tags(platform, python)
    for name in needed(platform, python):
        wheels = [parse_wheel_filename(wheel["url"].rsplit("/", 1)[1])[3] for wheel in LOCK[name]["wheels"]]
        assert any(wheel & installable for wheel in wheels), f"{name} has no wheel for {platform}, Python {python}"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_what_is_left_out_where(platform: str) -> None:
    expected = {
        "cbor2",
        "greenlet",
        "httptools",
        "msgspec",
        "prometheus-client",
        "rocksdict",
        "uvloop",
        "zlib-ng",
    }
    if platform.startswith("windows"):
        expected.discard("uvloop")
    if platform == "windows-arm64":
        expected.discard("rocksdict")
    assert needed(platform, (3, 11)) == expected


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_the_requirements_are_those_of_the_lock(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9-]+)==([^ ;\\]+)", text, re.MULTILINE)
    assert {name for name, _ in pins} >= needed("linux-glibc-x86_64", (3, 11))
    for name, version in pins:
        assert LOCK[name]["version"] == version, "run `make lock`"
    hashes = set(re.findall(r"sha256:[0-9a-f]{64}", text))
    locked = {wheel["hash"] for name, _ in pins for wheel in LOCK[name].get("wheels", [])}
    assert locked <= hashes, "run `make lock`"


def test_every_direct_dependency_is_in_the_lock() -> None:
    locked = {row["name"]: row for row in LOCK["hashrange"]["metadata"]["requires-dist"]}
    assert {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]} <= set(locked)
