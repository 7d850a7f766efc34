"""One run of `kidx rebuild`, from paths and options to the exit status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from kidx.cli import complain
from kidx.cli.writing import Step, carry_out_steps
from kidx.errors import KidxError, Refused, UsageError
from kidx.execution import usual_jobs
from kidx.formats.indexes import DEFAULT_INDEX_INTERVAL_BYTES, DEFAULT_MAX_INDEX_BYTES


def rebuild_paths(
    paths: Iterable[str],
    *,
    output: str | None = None,
    in_place: bool = False,
    dry_run: bool = False,
    jobs: int | None = None,
    interval_bytes: int = DEFAULT_INDEX_INTERVAL_BYTES,
    max_index_size: int = DEFAULT_MAX_INDEX_BYTES,
    form: str = "text",
) -> int:
    """Rebuild the indexes of what paths (globs expanded) stand for, tell of each, and return the exit status."""
    if not dry_run and (output is None) == (not in_place):
        raise UsageError("say where the indexes go: --output DIR, or --in-place (or --dry-run, which writes nothing)")
    failures: list[KidxError] = []
    sizes = (interval_bytes, max_index_size, jobs or usual_jobs())
    status = carry_out_steps(_steps(paths, output, sizes, failures), form, dry_run)
    return max([status, *(e.exit_status for e in failures)])


def _steps(
    paths: Iterable[str], output: str | None, sizes: tuple[int, int, int], failures: list[KidxError]
) -> Iterator[Step]:
    from kidx.surgery.journal import new_run
    from kidx.surgery.output import refuse_place
    from kidx.surgery.rebuild import changes_apart, changes_in_place, rebuild, targets_of
    from kidx.surgery.replace import carry_out, create_apart

    run = new_run()
    places: dict[str, str] = {}  # directories written below --output, and what each was made from
    for path in paths:
        targets = targets_of(path)
        while True:
            try:
                target = next(targets, None)
                if target is None:
                    break
                if output is not None:
                    source = target.partition.directory
                    refuse_place(output, [source])
                    if places.setdefault(target.below, source) != source:
                        raise Refused(f"{source}: {places[target.below]} has the same name below {output}; not written")
                rebuilt = rebuild(target, *sizes)
                base, log = target.segment.base_offset, rebuilt.log_path
                if output is None:
                    for change in changes_in_place(rebuilt):
                        yield Step(change, base, partial(carry_out, change, run, like=log), rebuilt.said)
                else:
                    for change in changes_apart(rebuilt, output):
                        assert change.after is not None
                        yield Step(change, base, partial(create_apart, change.path, change.after), rebuilt.said)
            except KidxError as e:
                complain(str(e))
                failures.append(e)
