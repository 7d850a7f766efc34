"""One run of `kidx rebuild`, from paths and options to the exit status."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kidx.cli import complain
from kidx.cli.writing import Step, carry_out_steps
from kidx.errors import KidxError, UsageError
from kidx.execution import usual_jobs
from kidx.formats.indexes import DEFAULT_MAX_INDEX_BYTES

if TYPE_CHECKING:
    from kidx.surgery.index_interval import Interval
    from kidx.surgery.rebuild import Rebuilt, Target

_SOUND = "sound, so left as it is (--all replaces it)"


class _Asked(NamedTuple):
    """What a run was asked for; `interval_bytes` is None where each partition's own is to be found."""

    output: str | None
    only_wrong: bool
    interval_bytes: int | None
    max_index_size: int
    jobs: int


def rebuild_paths(
    paths: Iterable[str],
    *,
    output: str | None = None,
    in_place: bool = False,
    every: bool = False,
    dry_run: bool = False,
    jobs: int | None = None,
    interval_bytes: int | None = None,
    max_index_size: int = DEFAULT_MAX_INDEX_BYTES,
    form: str = "text",
) -> int:
    """Rebuild the indexes of what paths (globs expanded) stand for, report each, and return the exit status."""
    if not dry_run and (output is None) == (not in_place):
        raise UsageError("say where the indexes go: --output DIR, or --in-place (or --dry-run, which writes nothing)")
    if every and not in_place:
        raise UsageError("--all belongs to --in-place; without it the whole set is made anyway")
    failures: list[KidxError] = []
    asked = _Asked(output, in_place and not every, interval_bytes, max_index_size, jobs or usual_jobs())
    status = carry_out_steps(_steps(paths, asked, failures), form, dry_run)
    return max([status, *(e.exit_status for e in failures)])


def _steps(paths: Iterable[str], asked: _Asked, failures: list[KidxError]) -> Iterator[Step]:
    from kidx.surgery.journal import new_run
    from kidx.surgery.rebuild import changes_apart, rebuild, targets_of
    from kidx.surgery.replace import create_apart

    run = new_run()
    interval_of = IntervalFinder(asked.interval_bytes, reports=True)
    for path in paths:
        targets = targets_of(path)
        while True:
            try:
                target = next(targets, None)
                if target is None:
                    break
                interval = interval_of(target.partition.directory)
                rebuilt = rebuild(target, interval.bytes, asked.max_index_size, asked.jobs)
                if asked.output is None:
                    yield from _in_place(rebuilt, _sound_indexes(target) if asked.only_wrong else frozenset(), run)
                else:
                    for change in changes_apart(rebuilt, asked.output):
                        write = partial(create_apart, change.path, change.after or b"")
                        yield Step(change, target.segment.base_offset, write, rebuilt.said)
            except KidxError as e:
                complain(str(e))
                failures.append(e)


def _in_place(rebuilt: Rebuilt, sound: frozenset[str], run: str) -> Iterator[Step]:
    from kidx.surgery.rebuild import changes_in_place
    from kidx.surgery.replace import carry_out

    for change in changes_in_place(rebuilt, sound):
        said = [rebuilt.said] if rebuilt.said else []
        if change.path in sound and not change.changes:
            said.append(_SOUND)
        write = partial(carry_out, change, run, like=rebuilt.log_path)
        yield Step(change, rebuilt.target.segment.base_offset, write, "; ".join(said))


def _sound_indexes(target: Target) -> frozenset[str]:
    """The indexes of a segment that `kidx verify` finds no error and no warning in."""
    from kidx.checks.options import Options
    from kidx.checks.run import check_all
    from kidx.checks.targets import targets_of
    from kidx.findings import NOTE
    from kidx.logdir.names import INDEX_OF_KIND

    files = target.segment.files
    indexes = [file.path for kind, file in files.items() if kind in INDEX_OF_KIND]
    checked = check_all(targets_of(file.path for file in files.values()), Options())
    wrong = {finding.file for finding in checked.findings if finding.severity != NOTE}
    unread = [path for path in indexes if any(sentence.startswith(path) for sentence in checked.unread)]
    return frozenset(indexes) - wrong - set(unread)


class IntervalFinder:
    """Finds the index.interval.bytes of each partition, once; with `reports` it says on stderr what it took and why."""

    def __init__(self, asked: int | None, *, reports: bool) -> None:
        self._asked, self._reports = asked, reports
        self._found: dict[str, Interval] = {}

    def __call__(self, directory: str) -> Interval:
        """The interval of the partition in this directory."""
        if directory not in self._found:
            self._found[directory] = self._find(directory)
        return self._found[directory]

    def _find(self, directory: str) -> Interval:
        from kidx.logdir.tree import Partition
        from kidx.state.metadata import cluster_of
        from kidx.surgery.index_interval import Interval, interval_of

        if self._asked is not None:
            return Interval(self._asked, "--index-interval-bytes", False)
        partition = Partition(directory)
        found = interval_of(partition, cluster_of([partition.log_dir]))
        if self._reports:
            advice = "; --index-interval-bytes says it exactly" if found.guessed else ""
            guess = "guessed by " if found.guessed else "by "
            name = os.path.basename(os.path.abspath(directory))
            complain(f"{name}: index.interval.bytes {found.bytes}, {guess}{found.source}{advice}")
        return found
