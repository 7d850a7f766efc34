"""JSON has no lone surrogates, and says what it was given all the same."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.text.json_text import json_text
from tests.support import FIXTURES, kidx_here


@given(st.binary(max_size=20))
def test_names_of_any_bytes_can_be_had_back(name: bytes) -> None:
    text = json.loads(json_text({"file": os.fsdecode(name)}))["file"]
    assert text.encode().isascii() or "\ufffd" not in os.fsdecode(name)
    try:
        assert text == name.decode()
    except UnicodeDecodeError:
        parts = re.split(r"\\(\\|x[89a-f][0-9a-f])", text)
        back = [p.encode() if i % 2 == 0 else b"\\" if p == "\\" else bytes.fromhex(p[1:]) for i, p in enumerate(parts)]
        assert b"".join(back) == name


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_what_is_unicode_is_as_it_was(value: Any) -> None:
    assert json_text(value) == json.dumps(value, ensure_ascii=False)
    assert json_text(value, compact=True) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


COMMANDS = [["verify"], ["stat"], ["lookup", "--offset", "3"], ["dump"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
@pytest.mark.parametrize("form", ["json", "jsonl", "sarif", "text", "csv"])
def test_every_command_writes_unicode_of_a_file_whose_name_is_none(
    command: list[str], form: str, tmp_path: Path
) -> None:
    if form == "sarif" and command != ["verify"]:
        pytest.skip("only verify has it")
    directory = tmp_path / os.fsdecode(b"a\\b\xff-0")
    shutil.copytree(FIXTURES / "kafka-4.3.1/clean/mixed-0", directory)
    log = min(directory.glob("*.log"))
    log.with_suffix(".index").write_bytes(b"\0" * 7 + b"\1" + b"\0" * 8 + b"\1\1")
    path = log.with_suffix(".index") if command == ["dump"] else directory
    ran = kidx_here(*command[:1], path, *command[1:], "--format", form)
    printed = ran.out.decode()
    assert r"\udcff" not in printed
    if form in ("json", "jsonl"):
        rows = json.loads(printed)["rows"] if form == "json" else ran.rows
        assert rows[0]["file"].startswith(rf"{tmp_path}/a\\b\xff-0")
    elif form == "sarif":
        assert "a%5Cb%FF-0" in printed and json.loads(printed)
    elif command[0] in ("verify", "stat"):
        assert r"\xff-0" in printed
