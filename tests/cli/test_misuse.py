"""Common mistakes: each is one sentence that says what was meant, and has the status of its kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from kidx.exit_status import CLEAN, UNREADABLE, USAGE
from tests.support import FIXTURES, kidx_here

SET = FIXTURES / "kafka-4.3.1/clean"
INDEX = SET / "pages14-0/00000000000000000000.index"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["verfy", SET], "no such command 'verfy'; did you mean 'verify'?"),
        (["rocketmq", "lokup"], "no such command 'lokup'; did you mean 'lookup'?"),
        (["sing"], "no such command 'sing'; see kidx --help"),
        (["verify", "--fromat", "json", SET], "no such option --fromat; did you mean '--format'?"),
        (["lookup", "--formt", "json", INDEX, "3"], "no such option --formt; did you mean '--format'?"),
        (["verify", "--format", "sarf", SET], "did you mean 'sarif'?"),
        (["dump", "--kind", "offsetindex", INDEX], "--kind: 'offsetindex' is not known; did you mean 'offset_index'?"),
        (["stat", "--sort", "entrys", SET], "--sort: 'entrys' is not known; did you mean 'entries'?"),
        (["explain", "zero-tial"], "zero-tial: no rule has this code or name; did you mean 'zero-tail'"),
        (["explain", "KX999"], "KX999: no rule has this code or name; `kidx explain` lists them"),
        (["diff", SET], "RIGHT is missing; see kidx diff --help"),
        (["completion", "tcsh"], "SHELL: 'tcsh' is not one of 'bash', 'zsh', 'fish'"),
        (["truncate", "--to", "-3", INDEX], "--to: '-3' is not a whole number of at least 0"),
        (["verify", "--jobs", "0", SET], "--jobs: '0' is not a whole number from 1 to 256"),
        (["resize", "--max-index-size", "3PB", INDEX], "'3PB' is not a number of bytes"),
        (["rebuild", "--max-index-size", "4", SET], "4 is not between 12 and 2147483647 bytes"),
        (["verify", "--quick", "--deep", SET], "choose one of them"),
        (["state", SET / "__consumer_offsets-0", "--at", "someday"], "'someday' is not a moment"),
    ],
)
def test_a_word_that_is_wrong(words: list[object], said: str) -> None:
    ran = kidx_here(*words)
    sentence = ran.err.decode()
    assert ran.status == USAGE, ran
    assert sentence.startswith("kidx: ") and sentence.count("\n") == 1, sentence
    assert said in sentence


@pytest.mark.parametrize("command", ["dump", "stat", "verify"])
def test_a_directory_without_any_such_file_is_no_success(command: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    ran = kidx_here(command, tmp_path)
    assert ran.status == UNREADABLE
    assert "nothing to read" in ran.err.decode() or "nothing was checked" in ran.out.decode()


def test_a_rocketmq_store_given_to_verify_and_a_topic_that_it_has_not() -> None:
    store = FIXTURES / "rocketmq-5.5.1/plain/store"
    assert "kidx rocketmq verify" in kidx_here("verify", store).out.decode()
    ran = kidx_here("rocketmq", "lookup", store, "Order", 0, "--time", 1618699700000)
    assert ran.status == CLEAN and "no queue Order/0" in ran.err.decode() and "'Orders'" in ran.err.decode()


def test_kidx_alone_shows_its_help() -> None:
    ran = kidx_here()
    assert b"Change files (a backup is kept):" in ran.out + ran.err


def test_a_choice_of_rules_is_part_of_the_verdict() -> None:
    ran = kidx_here("verify", "--ignore", "zero-tail", INDEX.parent)
    assert ran.status == CLEAN
    assert "KX110 zero-tail: left out by --select, --ignore or the configuration" in ran.out.decode()
    skipped = kidx_here("verify", "--select", "KX1", "--format", "json", INDEX.parent).out.decode()
    assert "rules" in skipped and "left out by --select, --ignore or the configuration" in skipped
    assert "left out" not in kidx_here("verify", INDEX.parent).out.decode()
