"""How is an image's file system made without a container engine?
By the steps of its Dockerfile, in a folder for each stage.

Debian's base image is made by mmdebstrap from the packages that it has; RUN is `sh -c` below chroot, with a `/proc`. It
needs root, mmdebstrap and unshare: `reason_against` says what is missing. Steps that need nothing of the sources but
single files are kept for the next run, as a container engine keeps them (tests/support/kept_builds.py).
"""

import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zlib_ng import zlib_ng

from tests.support.dockerfile import Image, Instruction, Stage, is_in_context, read_dockerfile, read_image
from tests.support.kept_builds import kept_build

ROOT = Path(__file__).parents[2]
BASES = {"debian:bookworm-slim": "bookworm"}
"""Base images that can be made here, and the Debian release of each."""
REQUIRED = "adduser,e2fsprogs,mount,passwd,tzdata,usr-is-merged,util-linux-extra"
"""What the image has beyond apt and the essential packages."""
MERGED = "/usr/share/mmdebstrap/hooks/merged-usr"
"""Makes /bin a link to /usr/bin from the start, as in the image; otherwise Perl would be installed to do it later."""
APT_SETTINGS = {
    "Acquire::Languages": '"none"',
    "DPkg::Post-Invoke": '{ "rm -f /var/cache/apt/archives/*.deb"; }',
    "Dir::Cache::pkgcache": '""',
    "Dir::Cache::srcpkgcache": '""',
}
"""The image keeps no packages and no lists of apt's."""
LEFT_OUT = ("usr/share/doc", "usr/share/info", "usr/share/locale", "usr/share/man")
"""Folders that packages do not fill in a slim image."""
FILE_SYSTEM = "file-system.tar"
"""Name of the archive in the folder of steps that are kept."""
QUICK_LEVEL, PIECE_BYTES = 2, 1_000_000
"""How the file system is compressed, to see its size: as by `gzip -1`, in half of its time."""
STEP_TIMEOUT_SECONDS = 200
"""It only ends a step that would hang."""
TRIES = 2
"""Number of tries of a step, because mirrors and registries fail now and then."""
CERTIFICATES = "/run/certificates.pem"
PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
"""Variables of this machine that a step needs for the network."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def reason_against() -> str:
    """Why no image can be built here; empty if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "building the file system of the image needs root on Linux"
    missing = [name for name in ("mmdebstrap", "unshare", "nsenter", "chroot") if shutil.which(name) is None]
    return f"{' and '.join(missing)} must be installed" if missing else ""


@contextmanager
def folder_in_memory(folder: Path) -> Iterator[Path]:
    """The folder as a file system in memory, on which no package waits for a disk; it is gone afterwards."""
    done([["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder)]])
    try:
        yield folder
    finally:
        done([["umount", str(folder)]])


class Build:
    """The folders of all stages; `run` makes them in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stages = read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"))
        self.image: Image = read_image(self.stages)
        self._ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8")
        self._ingredients = {name: [repr(words_of_base(release)).encode()] for name, release in BASES.items()}
        """Base → all that it is made of, if it is kept."""

    def run(self) -> Path:
        """Run all steps; returns the root folder of the last stage."""
        for stage in self.stages:
            self._run_stage(stage)
        return self.folder / self.stages[-1].name

    def _run_stage(self, stage: Stage) -> None:
        """Make the folder of a stage: the steps that are kept are run only if no earlier run has run them."""
        root = self.folder / stage.name
        kept = [] if stage is self.stages[-1] else kept_steps(stage)
        environment, place = {"PATH": PATH}, "/"
        if kept and stage.base in self._ingredients:

            def build(archive: Path) -> None:
                self._begin(stage, root)
                self._run_steps(root, kept, environment, place)
                pack(root, archive / FILE_SYSTEM)

            self._ingredients[stage.name] = [*self._ingredients[stage.base], *ingredients_of(kept, ROOT)]
            archive = kept_build(f"image-{stage.name}", self._ingredients[stage.name], build)
            if not root.exists():
                unpack(archive / FILE_SYSTEM, root)
            settings = [one for one in kept if one.keyword in {"ENV", "WORKDIR"}]
            environment, place = self._run_steps(root, settings, environment, place)
        else:
            kept = []
            self._begin(stage, root)
        if len(kept) < len(stage.instructions):
            self._ingredients.pop(stage.name, None)  # what follows is not kept, and so neither is what is made of it
        self._run_steps(root, stage.instructions[len(kept) :], environment, place)

    def _begin(self, stage: Stage, root: Path) -> None:
        """Make the folder of a stage as its base is."""
        if stage.base in BASES:
            make_base(root, BASES[stage.base])
        elif stage is self.stages[-1]:
            (self.folder / stage.base).rename(root)  # nothing else is made of it
        else:
            done([["cp", "-a", str(self.folder / stage.base), str(root)]])

    def _run_steps(
        self, root: Path, steps: list[Instruction], environment: dict[str, str], place: str
    ) -> tuple[dict[str, str], str]:
        """Run steps with these variables in this folder; returns the variables and the folder of what follows."""
        for instruction in steps:
            if instruction.keyword == "ENV":
                environment = environment | dict(word.split("=", 1) for word in instruction.words)
            elif instruction.keyword == "WORKDIR":
                place = instruction.text
                (root / place.lstrip("/")).mkdir(parents=True, exist_ok=True)
            elif instruction.keyword == "COPY":
                self._copy(instruction, root, place)
            elif instruction.keyword == "RUN":
                run_step(root, place, environment, instruction.text)
        return environment, place

    def _copy(self, instruction: Instruction, root: Path, place: str) -> None:
        *sources, target = instruction.without_flags.words
        to = root / os.path.join(place, target).lstrip("/")
        is_folder = target.endswith("/")
        if instruction.text.startswith("--from="):
            stage = instruction.words[0].removeprefix("--from=")
            found = [self.folder / stage / source.lstrip("/") for source in sources]
        else:
            found = [ROOT / source for source in sources]
        for source in found:
            if source.is_dir():
                shutil.copytree(source, to, symlinks=True, dirs_exist_ok=True, ignore=self._outside)
            else:
                assert not self._outside(str(source.parent), [source.name]), f".dockerignore leaves {source.name} out"
                shutil.copy2(source, to / source.name if is_folder else to)

    def _outside(self, parent: str, names: list[str]) -> list[str]:
        """Those of the names that .dockerignore leaves out; none of a stage."""
        if not Path(parent).is_relative_to(ROOT) or Path(parent).is_relative_to(self.folder):
            return []
        inside = Path(parent).relative_to(ROOT)
        return [name for name in names if not is_in_context((inside / name).as_posix(), self._ignored)]


def kept_steps(stage: Stage) -> list[Instruction]:
    """The steps of a stage that are kept: those up to its last RUN before a folder, or another stage, is copied."""
    kept = 0
    for number, instruction in enumerate(stage.instructions, 1):
        if instruction.keyword == "COPY" and not all((ROOT / name).is_file() for name in instruction.words[:-1]):
            break
        if instruction.keyword == "RUN":
            kept = number
    return stage.instructions[:kept]


def ingredients_of(steps: list[Instruction], context: Path) -> list[bytes]:
    """All that goes into steps that are kept: their texts, and the files that they copy from the folder `context`."""
    found = []
    for one in steps:
        found.append(f"{one.keyword} {one.text}".encode())
        if one.keyword == "COPY":
            found += [(context / name).read_bytes() for name in one.words[:-1]]
    return found


def words_of_base(release: str) -> list[str]:
    """The words that make Debian's slim image, without where it is written."""
    options = [f"--aptopt={name} {value}" for name, value in APT_SETTINGS.items()]
    kind = ["--quiet", "--variant=apt", f"--include={REQUIRED}", f"--hook-dir={MERGED}", "--dpkgopt=force-unsafe-io"]
    return ["mmdebstrap", *kind, *options, release]


def make_base(root: Path, release: str) -> None:
    """Debian's slim image: apt and the required packages, without documents and languages. The packages are fetched
    and unpacked once, as a container engine fetches a base image once.
    """
    words = words_of_base(release)

    def build(place: Path) -> None:
        done([["rm", "-f", str(place / FILE_SYSTEM)], [*words, str(place / FILE_SYSTEM)]])

    unpack(kept_build("image-base", [repr(words).encode()], build) / FILE_SYSTEM, root)
    for folder in LEFT_OUT:
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
    rules = "".join(f"path-exclude=/{folder}/*\n" for folder in LEFT_OUT)
    (root / "etc/dpkg/dpkg.cfg.d/slim").write_text(rules, encoding="utf-8")


def pack(root: Path, archive: Path) -> None:
    """Write a file system into an archive, with its owners."""
    done([["tar", "-C", str(root), "--numeric-owner", "--xattrs", "-cpf", str(archive), "."]])


def unpack(archive: Path, root: Path) -> None:
    """Make the folder `root` of an archive."""
    root.mkdir()
    done([["tar", "-C", str(root), "--numeric-owner", "--xattrs", "-xpf", str(archive)]])


def run_step(root: Path, place: str, environment: dict[str, str], script: str) -> None:
    """Run one RUN as root below `root`; afterwards nothing of this machine's network settings is left there."""
    borrowed = {"/etc/resolv.conf": "/etc/resolv.conf", CERTIFICATES: os.environ.get("PIP_CERT") or _certificates()}
    for inside, outside in borrowed.items():
        shutil.copyfile(outside, root / inside.lstrip("/"))
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    words = [f"{name}={value}" for name, value in ({"PIP_CERT": CERTIFICATES} | passed_on | environment).items()]
    inside_root = ["unshare", "--mount", "--pid", "--fork", f"--root={root}", f"--wd={place}", "--mount-proc"]
    try:
        done([[*inside_root, "env", "-i", *words, "sh", "-c", script]])
    finally:
        for inside in borrowed:
            (root / inside.lstrip("/")).unlink()


def _certificates() -> str:
    paths = ssl.get_default_verify_paths()
    return paths.cafile or paths.openssl_cafile


def done(commands: list[list[str]]) -> None:
    """Run commands one after another, which must all succeed; all again if one fails."""
    for attempt in range(1, TRIES + 1):
        ended = [_ended(command) for command in commands]
        if all(code == 0 for code, _ in ended):
            return
        said = "\n".join(text for code, text in ended if code)
        assert attempt < TRIES, f"{' '.join(commands[-1])} failed:\n{said}"


def _ended(command: list[str]) -> tuple[int, str]:
    ended = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=STEP_TIMEOUT_SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout


def compressed_bytes(root: Path) -> int:
    """Size of the whole file system as one compressed layer, by a quick kind of gzip: it is some per cent less in a
    registry.
    """
    gzip = zlib_ng.compressobj(QUICK_LEVEL)
    size_bytes = 0
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as packing:
        assert packing.stdout is not None
        while piece := packing.stdout.read(PIECE_BYTES):
            size_bytes += len(gzip.compress(piece))
    assert packing.returncode == 0
    return size_bytes + len(gzip.flush())
