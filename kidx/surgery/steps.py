"""The steps of a command that writes: the change of each file, and how it is carried out. Nothing is written here."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kidx.errors import CannotRead, KidxError, Refused
from kidx.evidence import from_bytes, is_file
from kidx.formats.indexes import DEFAULT_MAX_INDEX_BYTES
from kidx.logdir.tree import Segment
from kidx.surgery.index_interval import Interval
from kidx.surgery.journal import new_run
from kidx.surgery.output import refuse_place
from kidx.surgery.rebuild import Rebuilt, Target, changes_apart, changes_in_place, rebuild, targets_of
from kidx.surgery.replace import Change, carry_out, create_apart
from kidx.surgery.state_files import is_state_file
from kidx.surgery.undo import plan_undo

SOUND = "sound, so left as it is (--all replaces it)"


class Step(NamedTuple):
    """The change of one file. `write` carries it out and returns the path of the backup, None where there is none.

    `base_offset` is the index's, None where the file's name gives it. `note` is further information for the user.
    """

    change: Change
    base_offset: int | None
    write: Callable[[], str | None]
    note: str = ""


def index_step(change: Change, base_offset: int) -> Step:
    """The step of a command that changes one index. A new file gets the owner and the mode of its segment's log."""
    log = os.path.splitext(change.path)[0] + ".log"
    like = log if is_file(log) else None
    return Step(change, base_offset, lambda: carry_out(change, new_run(), like=like))


def rebuild_steps(
    paths: Iterable[str],
    output: str | None,
    on_failure: Callable[[KidxError], None],
    *,
    interval_of: Callable[[str], Interval],
    sound_indexes: Callable[[Segment], Container[str]] | None = None,
    max_index_size: int = DEFAULT_MAX_INDEX_BYTES,
    jobs: int = 1,
) -> Iterator[Step]:
    """The steps that write the indexes of the segments in `paths` below `output`, or in place where it is None.

    `interval_of` gives the index.interval.bytes of the partition in a directory. In place, the indexes of a segment
    that are in `sound_indexes` stay as they are. An interval that was guessed without a file that could not be read is
    not used: the next try might guess another one. A segment that cannot be rebuilt does not stop the others: its error
    is passed to `on_failure`.
    """
    run = new_run()
    sources: dict[str, str] = {}  # of each directory below `output`
    for path in paths:
        if is_state_file(path):  # kidx.surgery.state_steps has those
            continue
        targets = targets_of(path)
        while True:
            try:
                target = next(targets, None)
                if target is None:
                    break
                if output is not None:
                    _refuse_output(target, output, sources)
                interval = interval_of(target.partition.directory)
                if interval.unread:
                    raise CannotRead(f"{interval.unread[0]}; to rebuild without it, give --index-interval-bytes")
                rebuilt = rebuild(target, interval.bytes, max_index_size, jobs)
                if output is None:
                    sound = sound_indexes(target.segment) if sound_indexes else ()
                    yield from _in_place(rebuilt, sound, run)
                else:
                    yield from _apart(rebuilt, output)
            except KidxError as e:
                on_failure(e)


def _refuse_output(target: Target, output: str, sources: dict[str, str]) -> None:
    """Raises Refused where a partition's new indexes would come among evidence, or among those of another."""
    source = target.partition.directory
    refuse_place(output, [source])
    if sources.setdefault(target.below, source) != source:
        raise Refused(f"{source}: {sources[target.below]} has the same name below {output}; not written")


def _in_place(rebuilt: Rebuilt, sound: Container[str], run: str) -> Iterator[Step]:
    for change in changes_in_place(rebuilt, sound):
        kept = change.path in sound and not change.changes
        note = "; ".join(filter(None, (rebuilt.notes, SOUND if kept else "")))
        write = partial(carry_out, change, run, like=rebuilt.log_path)
        yield Step(change, rebuilt.target.segment.base_offset, write, note)


def _apart(rebuilt: Rebuilt, output: str) -> Iterator[Step]:
    for change in changes_apart(rebuilt, output):
        write = partial(create_apart, change.path, change.after or from_bytes(b""))
        yield Step(change, rebuilt.target.segment.base_offset, write, rebuilt.notes)


def undo_steps(path: str, *, dry_run: bool) -> Iterator[Step]:
    """The steps that revert the last change of a file, or of the newest run below a directory. Raises Refused."""
    run, verb = new_run(), "would revert" if dry_run else "reverted"
    for undo in plan_undo(path):
        yield Step(undo.change, None, partial(undo.carry_out, run), f"{verb} `{undo.entry.command}`")
