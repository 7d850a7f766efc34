"""Is what `make dist` built what a user needs? Installs the wheel into an environment of its own, and tries it there.

    python .ci/check_dist.py dist

Fails loudly: the first thing that is not as it should be ends it with status 1. Needs a package index for the
dependencies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

INDEX = "pages14-0/00000000000000000000.index"


def main(dist: Path) -> None:
    wheel, source = (only(dist.glob(pattern)) for pattern in ("kidx-*.whl", "kidx-*.tar.gz"))
    version = wheel.name.split("-")[1]
    require(source.name == f"kidx-{version}.tar.gz", f"{source.name} and {wheel.name} are of different versions")
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        with tarfile.open(source) as archive:
            archive.extractall(home, filter="data")
        unpacked = home / f"kidx-{version}"
        look_at_contents(wheel, unpacked)
        use(installed(wheel, home), unpacked / "fixtures/kafka-4.3.1/clean", home, version)
    print(f"{wheel.name} and {source.name}: installed and tried in an environment of their own")


def look_at_contents(wheel: Path, unpacked: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    pages = sorted(path.name for path in (unpacked / "man").glob("*.1"))
    packed = sorted(Path(name).name for name in names if "/share/man/man1/" in name)
    require(pages == packed and "kidx-verify.1" in pages, f"man pages in the wheel: {packed}; in man/: {pages}")
    require(not [name for name in names if name.startswith(("tests/", "fixtures/"))], "the wheel holds tests")
    for needed in (
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "Makefile",
        ".ci/run",
        "tests/conftest.py",
        "docs/tutorial.md",
    ):
        require((unpacked / needed).is_file(), f"{needed} is missing in the source distribution")


def installed(wheel: Path, home: Path) -> Path:
    """The bin directory of a new environment with the wheel and nothing else."""
    environment = home / "venv"
    run([sys.executable, "-m", "venv", environment])
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([environment / "bin/python", *pip, wheel.resolve()])
    return environment / "bin"


def use(tools: Path, clean: Path, home: Path, version: str) -> None:
    def kidx(*words: object, status: int = 0) -> str:
        return run([tools / "kidx", *words], status=status, cwd=home)

    require(kidx("--version").strip() == f"kidx, version {version}", "--version says something else")
    where = run([tools / "python", "-c", "import kidx; print(kidx.__file__)"], cwd=home)
    require(str(tools.parent) in where, f"kidx is imported from {where}")
    require("clean" in kidx("verify", clean).splitlines()[0], "clean files are not found clean")
    require(kidx("dump", "--format", "kafka", clean / INDEX).count("\n") == 7169, "dump prints other than the entries")
    require("position 494592" in kidx("lookup", clean / INDEX, 7168), "lookup finds another position")
    damaged = home / "damaged.index"
    damaged.write_bytes((clean / INDEX).read_bytes()[:-3])
    require("KX101" in kidx("verify", "--base-offset", 0, damaged, "--kind", "offset_index", status=1), "no KX101")
    require("torn" in kidx("explain", "KX101"), "explain has no story")
    require(
        "kidx[spark]" in run([tools / "kidx", "scan", clean], status=3, cwd=home), "scan does not say what it needs"
    )
    for page in ("kidx.1", "kidx-verify.1", "kidx-rocketmq-lookup.1"):
        require((tools.parent / "share/man/man1" / page).is_file(), f"{page} is not installed")
    completed = run(
        ["bash", "-c", "source <(kidx completion bash); COMP_WORDS=(kidx verif); COMP_CWORD=1; "
         "_kidx_completion kidx verif kidx; echo ${COMPREPLY[@]}"],
        cwd=home,
        path=tools,
    )  # fmt: skip
    require(completed.strip() == "verify", f"bash completes `verif` to {completed!r}")


def run(command: list[object], *, status: int = 0, cwd: Path | None = None, path: Path | None = None) -> str:
    """What a command prints; another status than expected ends the check."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KIDX"))}
    if path is not None:
        environment["PATH"] = f"{path}{os.pathsep}{environment['PATH']}"
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    require(done.returncode == status, f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def only(paths: object) -> Path:
    found = list(paths)  # type: ignore[call-overload]
    require(len(found) == 1, f"one file of a kind is wanted, here are {[str(path) for path in found]}")
    return found[0]


def require(true: object, otherwise: str) -> None:
    if not true:
        sys.exit(f"check_dist: {otherwise}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
