"""Metrics in Prometheus' text format, for node_exporter's textfile collector.

Source: Prometheus, "Exposition formats", text-based format 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kidx.surgery.output import write_output


class Metric(NamedTuple):
    """A gauge: its name, one sentence of help, and samples, each a value with its labels. `unit`s end the name."""

    name: str
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]


def write_metrics(path: str, metrics: Iterable[Metric]) -> None:
    """Write metrics to a file that is new or has earlier ones. Raises UsageError, CannotRead (see write_output)."""
    write_output(path, prometheus_text(metrics), (b"# help kidx_",))


def prometheus_text(metrics: Iterable[Metric]) -> str:
    """The metrics as text. Those without samples are left out."""
    lines = []
    for metric in metrics:
        if metric.samples:
            lines += [f"# HELP {metric.name} {_escaped(metric.help)}", f"# TYPE {metric.name} gauge"]
            lines += [f"{metric.name}{_labels(labels)} {value:.17g}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    quoted = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{quoted}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
