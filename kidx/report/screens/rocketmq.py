"""The screens of kidx rocketmq: the answer first, then the search and the pages it reads."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import IO, Any

from kidx.report.screens.lines import named_rows
from kidx.tables.table import Table
from kidx.text.quantities import counted

Row = Mapping[str, Any]


def show_search(table: Table, out: IO[str] | None = None) -> None:
    """Rows of kidx.rocketmq_lookup.v1 with their probes, and the cost of Kafka's search."""
    out = out or sys.stdout
    for number, row in enumerate(named_rows(table)):
        out.write("\n" * bool(number) + "".join(line.rstrip() + "\n" for line in _search_lines(row)))


def show_pull(table: Table, out: IO[str] | None = None) -> None:
    """One row of kidx.rocketmq_pull.v1 as sentences."""
    out = out or sys.stdout
    for row in named_rows(table):
        out.write("".join(line + "\n" for line in _pull_lines(row)))


def _search_lines(row: Row) -> Iterator[str]:
    boundary = f", {row['boundary']}" if row["boundary"] else ""
    answer = row["why"] if row["offset"] is None else f"queue offset {row['offset']}"
    yield f"{row['topic']}/{row['queue']} at {row['time']} -> {answer}   ({row['algorithm']} search{boundary})"
    probes = row["probes"]
    if probes:
        yield f"{'step':>5}  {'phase':<6}  {'unit':>10}  {'commit log':>14}  {'store time':>14}  pages: queue | log"
    for step, probe in enumerate(probes, 1):
        time = "expired" if probe["timestamp"] is None else probe["timestamp"]
        yield (
            f"{step:>5}  {probe['phase']:<6}  {probe['offset']:>10}  {probe['commit_log_offset']:>14}  {time:>14}"
            f"  {_page_list(probe['consume_queue'])} | {_page_list(probe['commit_log'])}"
        )
    pages = row["pages"]
    warm = pages["warm"]
    yield f"first search (cold): {_cost(pages)}; later ones (warm): {_cost(warm)}"
    kafka = row["kafka"]
    if kafka:
        yield (
            f"Kafka, these messages in one segment ({kafka['entries']} index entries): "
            f"{counted(len(kafka['time_index']), 'time index page')}, "
            f"{counted(len(kafka['offset_index']), 'offset index page')}, then {kafka['log_bytes']} bytes of log"
        )


def _cost(pages: Mapping[str, Any]) -> str:
    queue, log = len(pages["consume_queue"]), len(pages["commit_log"])
    return f"{counted(queue, 'queue page')} and {counted(log, 'commit-log page')}"


def _page_list(pages: list[dict[str, Any]]) -> str:
    return " ".join(f"{int(p['file'])}:{p['page']}" for p in pages) or "-"


def _pull_lines(row: Row) -> Iterator[str]:
    place = f"{row['topic']}/{row['queue']} from {row['offset']}"
    if row["status"] is None:
        yield f"{place}: {row['why']}"
        return
    yield f"{place}: {row['status']}, next offset {row['next_offset']}   (broker {row['broker_version']})"
    yield f"  queue: {row['min_offset']} up to {row['max_offset']}; the commit log ends at {row['commit_log_end']}"
    stopped = f"; stopped by {row['stopped_by']}" if row["stopped_by"] else ""
    yield f"  {counted(row['messages'], 'message')}, {row['bytes']} bytes{stopped}"
    if row["behind_bytes"] is None:
        yield "  nothing was read, so no slave is suggested"
        return
    compared = "more than" if row["suggest_slave"] else "not more than"
    verdict = "suggests the slave" if row["suggest_slave"] else "serves the next pull itself"
    yield (
        f"  {row['behind_bytes']} bytes behind the commit log's end (last message starts at {row['pulling_offset']}), "
        f"{compared} the {row['memory_bytes']} in memory: {verdict}"
    )


def show_replicas(table: Table, out: IO[str] | None = None) -> None:
    """Rows of kidx.difference.v1 between a master's and a slave's store, and the lag from the summary."""
    out = out or sys.stdout
    summary = table.summary or {}
    lag, same = summary["lag_bytes"], summary["same_up_to"]
    rows = list(named_rows(table))
    parted = any(row["what"] == "commit_log_bytes" for row in rows)
    verdict = f"they diverge at {same}" if parted else f"the same up to {same}, the slave's end"
    out.write(f"commit logs: {verdict} ({summary['compared_bytes']} bytes compared)\n")
    behind = f"{lag} bytes behind" if lag >= 0 else f"{-lag} bytes ahead of its master"
    out.write(f"  master ends at {summary['master_end']}, slave at {summary['slave_end']}: {behind}\n")
    below = summary["slave_suggested_below"]
    if below is not None:
        has = (
            "has all of that"
            if summary["slave_end"] >= below
            else f"lacks {below - summary['slave_end']} bytes of that"
        )
        out.write(
            f"  with {summary['memory_bytes']} bytes in memory the master suggests the slave for messages that start "
            f"below {below}; the slave {has}\n"
        )
    for row in rows:
        where = f" at {row['where']}" if row["where"] else ""
        note = "" if row["allowed"] else "   NOT between healthy replicas"
        out.write(f"  {row['what']}{where}: master {row['left']}, slave {row['right']}{note}\n")
