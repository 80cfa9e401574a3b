"""What `hashrange doctor` says of files that other users may read."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hashrange.cli.checkup.machine import look_at_modes
from hashrange.settings import Settings
from tests.unit.cli.doctor_visits import Doctor


def test_what_is_for_one_user_only_is_not_mentioned(tmp_path: Path) -> None:
    folder, key = tmp_path / "data", tmp_path / "key.pem"
    folder.mkdir(0o700)
    key.touch(0o600)
    missing = str(tmp_path / "missing")
    assert not list(look_at_modes(Settings(data_dir=str(folder), tls_key=str(key), credentials=missing)))


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o777, 0o701])
def test_a_data_folder_that_is_open_to_others(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "my data"
    folder.mkdir()
    folder.chmod(mode)
    (found,) = look_at_modes(Settings(data_dir=str(folder)))
    assert found.verdict == "hint"
    assert found.sentence == (
        f"Other users of this machine have rights to the data folder {folder} (mode {mode:04o}). Take them away:"
        f" chmod -R go= '{folder}'"
    )


@pytest.mark.parametrize(
    ("setting", "name"),
    [("snapshot", "snapshot"), ("credentials", "credentials file"), ("tls_key", "TLS key")],
)
def test_a_file_that_is_open_to_others(tmp_path: Path, setting: str, name: str) -> None:
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o640)
    (found,) = look_at_modes(replace(Settings(data_dir=None), **{setting: str(path)}))
    assert f"the {name} {path} (mode 0640). Take them away: chmod go= {path}" in found.sentence


def test_the_command_reports_it(doctor: Doctor) -> None:
    (doctor.home / "data").mkdir()
    (doctor.home / "data").chmod(0o755)
    assert doctor(HASHRANGE_DATA_DIR="data")["modes"] == (
        "hint",
        (
            "Other users of this machine have rights to the data folder data (mode 0755). Take them away:"
            " chmod -R go= data"
        ),
    )
