"""Which command lines a mutated file is given to: always `verify` over its directory, and one more by chance."""

from __future__ import annotations

import random
from pathlib import Path

from kidx.cli.decoders import DECODERS
from kidx.logdir.names import INDEX_OF_KIND, LOG, METADATA_SNAPSHOT, TIME, TRANSACTION
from tests.fuzz.corpus import Case

Words = list[str]
_TARGETS = ("0", "1", "57", "190", "240", str(2**31), str(2**62), "-1", "1700000000000", "1700018036000")
_FORMS = ("text", "json", "jsonl", "csv") * 8 + ("table",)  # rich's tables take twenty times as long
_PLAIN = "verify", "--jobs", "1"


def verify_of(case: Case, home: Path) -> Words:
    """The check that claims are held against: the default level, in rows."""
    if case.rocketmq:
        return ["rocketmq", "verify", "--format", "jsonl", str(home)]
    return [*_PLAIN, "--format", "jsonl", str(home)]


def another(case: Case, home: Path, name: str, kind: str, chance: random.Random, scratch: Path) -> Words:
    """One more command line for the file `name`, of those that its kind has."""
    file, directory = str(home / name), str(home)
    if case.rocketmq:
        return _for_a_store(file, directory, chance)
    if kind in INDEX_OF_KIND:
        return _for_an_index(file, directory, kind, chance, scratch)
    if kind == LOG:
        return _for_a_log(file, directory, chance, scratch)
    if kind == METADATA_SNAPSHOT:
        return chance.choice([_dumped(file, chance), _dumped(file, chance), _checked(file, directory, chance)])
    return chance.choice([["dump", "--format", _form(chance), file], _checked(file, directory, chance)])


def _form(chance: random.Random) -> str:
    return chance.choice(_FORMS)


def _target(chance: random.Random) -> str:
    return chance.choice((*_TARGETS, str(chance.randrange(500))))


def _checked(file: str, directory: str, chance: random.Random) -> Words:
    level = chance.choice(["--quick", "--deep", "--deep", "--live", "--all", "--suggest"])
    return [*_PLAIN, level, chance.choice([file, directory])]


def _rebuild(file: str, directory: str, chance: random.Random, scratch: Path) -> Words:
    where = chance.choice([["--dry-run"], ["--output", str(scratch)]])
    interval = chance.choice(("0", "100", "4096"))
    target = chance.choice([file, directory])
    return ["rebuild", "--jobs", "1", "--index-interval-bytes", interval, *where, "--format", _form(chance), target]


def _for_an_index(file: str, directory: str, kind: str, chance: random.Random, scratch: Path) -> Words:
    search: Words
    if kind == TRANSACTION:
        first, last = sorted((chance.randrange(500), chance.randrange(500)))
        search = ["lookup", "--format", _form(chance), file, "--fetch-from", str(first), "--fetch-to", str(last)]
        entry = f"7:{first}:{last + 1000}:{first}"
        forms: Words = ["jsonl", "text", "kafka"]
    else:
        how = ["--by", chance.choice(["key", "value"]), "--bound", chance.choice(["lower", "upper"])]
        search = ["lookup", "--trace-pages", "--search", "both", *how, "--format", _form(chance), file, _target(chance)]
        entry = "9999999999999:9000" if kind == TIME else "9000:70000"
        forms = ["jsonl", "text", "kafka", "kafka"]
    kafka = chance.choice([[], ["--index-sanity-check"], ["--verify-index-only"]])
    form = chance.choice(forms)
    choices = [
        search,
        ["dump", "--format", form, *(kafka if form == "kafka" else []), file],
        ["dump", "--hex", "--iso", "--format", _form(chance), file],
        ["dump", "--from", chance.choice(["0", "slot:3", "position:200"][: 3 if "offset" in kind else 2]), file],
        ["stat", "--format", _form(chance), directory],
        ["append", "--dry-run", "--on-roll", "--format", _form(chance), file, entry],
        _checked(file, directory, chance),
        _rebuild(file, directory, chance, scratch),
    ]
    if kind != TRANSACTION:
        choices += [
            ["trace", file, _target(chance)],
            ["truncate", "--dry-run", file, "--to", str(chance.randrange(500))],
            ["trim", "--dry-run", file],
            ["lookup", directory, "--offset", str(chance.randrange(500))],
        ]
    return chance.choice(choices)


def _dumped(file: str, chance: random.Random) -> Words:
    kafka = [[], ["--print-data-log"], ["--deep-iteration"], ["--print-data-log", "--skip-record-metadata"]]
    kafka += [[f"--{word}-decoder", "--print-data-log"] for word, _, _ in DECODERS]
    records = [["--records"], ["--records", "--show", "base64"], ["--records", "--redact"], ["--key", "k1"]]
    choices = [
        ["--format", _form(chance)],
        [*chance.choice(records), "--format", _form(chance)],
        [*chance.choice(records), "--format", _form(chance)],
        ["--format", "kafka", *chance.choice(kafka)],
        ["--format", "kafka", *chance.choice(kafka)],
    ]
    if "/__" in file or file.endswith(".checkpoint"):
        choices += [["--decode", "--format", _form(chance)] for _ in range(4)]
    return ["dump", *chance.choice(choices), file]


def _look_up_time(target: str, directory: str, chance: random.Random) -> Words:
    time = _target(chance).replace("-1", "-3")  # the latest time, which asks a partition
    return ["lookup", directory if time == "-3" else target, "--timestamp", time, "--format", _form(chance)]


def _for_a_log(file: str, directory: str, chance: random.Random, scratch: Path) -> Words:
    isolation = ["--isolation", chance.choice(["read_committed", "read_uncommitted"]), "--format", _form(chance)]
    target = chance.choice([file, directory])
    choices = [
        *(_dumped(file, chance) for _ in range(5)),
        ["lookup", target, "--offset", str(chance.randrange(500)), *isolation],
        _look_up_time(target, directory, chance),
        [
            "compact",
            "--dedupe-buffer",
            "1MiB",
            "--plan",
            *chance.choice([[], ["--records"]]),
            "--format",
            _form(chance),
            directory,
        ],
        [*_PLAIN, "--deep", "--format", _form(chance), directory],
        _checked(file, directory, chance),
        _rebuild(file, directory, chance, scratch),
    ]
    if "/__" in file:
        choices += [["state", "--format", _form(chance), directory] for _ in range(4)]
    return chance.choice(choices)


def _for_a_store(file: str, store: str, chance: random.Random) -> Words:
    form = ["--format", _form(chance)]
    topic, queue = chance.choice([("Orders", "0"), ("Payments", "0"), ("Audit_Log", "1")])
    dump = ["rocketmq", "dump", *form, *chance.choice([[], ["--body"], ["--iso"]]), file]
    return chance.choice(
        [
            dump,
            dump,
            dump,
            ["rocketmq", "stat", *form, store],
            ["rocketmq", "lookup", *form, store, topic, queue, "--time", _target(chance), "--trace-pages"],
            ["rocketmq", "lookup", *form, store, topic, queue, "--offset", str(chance.randrange(60))],
            ["rocketmq", "lookup", *form, store, topic, "--key", f"order-{chance.randrange(20)}"],
            ["rocketmq", "pull", *form, store, topic, queue, "--offset", str(chance.randrange(60)), "--memory", "9999"],
        ]
    )
