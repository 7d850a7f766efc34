"""Which Java is taken. No Spark here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kidx.errors import MissingExtra
from kidx.pipeline import java


def home(path: Path, release: str | None, prints: str = "") -> Path:
    """A JAVA_HOME with a pretended java, which prints its arguments or `prints`."""
    (path / "bin").mkdir(parents=True)
    if release is not None:
        (path / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{release}"\n')
    script = f"echo '{prints}' >&2" if prints else 'printf "%s\\n" "$@"'
    (path / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n")
    (path / "bin" / "java").chmod(0o755)
    return path


@pytest.mark.parametrize(("stated", "major"), [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("25.0.2", 25)])
def test_the_version_is_read_from_the_release_file(tmp_path: Path, stated: str, major: int) -> None:
    assert java.java_version(home(tmp_path / "j", stated)) == major


def test_a_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    assert java.java_version(home(tmp_path / "j", None, prints='openjdk version "21.0.1" 2023')) == 21
    assert java.java_version(tmp_path / "nothing") is None


def test_java_home_wins_and_an_old_one_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = home(tmp_path / "old", "11.0.2"), home(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("PATH", str(new / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert java.choose_java_home(tmp_path) == str(new)
    monkeypatch.setenv("JAVA_HOME", str(new))
    assert java.choose_java_home(tmp_path) == str(new)


def test_the_packed_java_serves_where_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = home(tmp_path / "packed", "25.0.2")
    monkeypatch.setattr(java, "_packed_java", lambda: packed)
    monkeypatch.setattr(java, "_installed", list)
    chosen = Path(java.choose_java_home(tmp_path))
    arguments = ["-Da=b c", "--add-modules=jdk.incubator.vector", "-jar", "x y"]
    said = subprocess.run([chosen / "bin" / "java", *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-Da=b c", "-jar", "x y"]
    assert java.java_version(chosen) == 25


def test_no_java_at_all_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_packed_java", lambda: None)
    monkeypatch.setattr(java, "_installed", lambda: [home(tmp_path / "old", "1.8.0")])
    with pytest.raises(MissingExtra, match=r"Spark needs Java 17 or later, and .* has Java 8; install one, or: pip"):
        java.choose_java_home(tmp_path)
