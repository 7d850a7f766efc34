"""The metrics of a scan, for Prometheus (kidx.report.metrics)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kidx.report.metrics import Metric


def fleet_metrics(fleet: Mapping[str, Any]) -> Iterator[Metric]:
    """The metrics of a run. `fleet` is a kidx.fleet.v2 object."""
    summary, scan, brokers = fleet["summary"], fleet["scan"], fleet["brokers"]
    yield Metric("kidx_scan_exit_status", "The exit status of the scan.", [({}, summary["exit_status"])])
    found = [({"severity": severity}, count) for severity, count in summary["findings"].items()]
    yield Metric("kidx_scan_findings", "Findings by severity.", found)
    by_rule = [({"rule": row["rule"], "severity": row["severity"]}, row["findings"]) for row in fleet["rules"]]
    yield Metric("kidx_scan_rule_findings", "Findings by rule.", by_rule)
    yield Metric("kidx_scan_unreadable", "Files and directories that could not be read.", [({}, summary["unreadable"])])
    yield Metric("kidx_scan_units", "Directories in the fleet.", [({}, scan["units"])])
    yield Metric("kidx_scan_units_read", "Directories that had changed and were read.", [({}, scan["units_read"])])
    yield Metric("kidx_scan_checked_bytes", "Bytes of the files that were checked.", [({}, summary["bytes_checked"])])
    yield Metric("kidx_scan_replica_sets", "Partitions that several brokers have.", [({}, fleet["rows"]["replicas"])])
    yield Metric("kidx_scan_replica_sets_differing", "Those that differ.", [({}, fleet["rows"]["differing"])])
    yield Metric("kidx_scan_broker_errors", "Errors by log dir.", _by_broker(brokers, "errors"))
    yield Metric("kidx_scan_broker_log_bytes", "Bytes of logs by log dir.", _by_broker(brokers, "log_bytes"))
    warm = _by_broker(brokers, "page_cache_bytes")
    yield Metric("kidx_scan_broker_warm_index_bytes", "Index pages that look-ups need in memory.", warm)


def _by_broker(brokers: Sequence[Mapping[str, Any]], name: str) -> list[tuple[dict[str, str], float]]:
    return [({"cluster": row["cluster"] or "", "broker": row["broker"]}, row[name]) for row in brokers]
