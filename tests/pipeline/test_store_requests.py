"""How many requests a scan makes to an object store: moto counts them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from kidx.checks.engine.options import Options
from kidx.checks.engine.run import check_all
from kidx.checks.engine.targets import Target
from kidx.pipeline.listing import ListUnits
from kidx.pipeline.results import checked_of
from kidx.pipeline.tasks import CheckUnits
from tests.pipeline.support import NOW, SET

moto_server = pytest.importorskip("moto.server", reason="needs moto: pip install 'kidx[dev]'")
Counts = Counter[str]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Counts]]:
    """The fixtures' fleet in a bucket; how many keys it has, and the requests since then, by kind."""
    import boto3
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication

    from kidx.evidence.remote import _file_system

    counts: Counts = Counter()
    dispatch = DomainDispatcherApplication.__call__

    def counting(self: Any, environ: dict[str, Any], start_response: Any) -> Any:
        kind = environ["REQUEST_METHOD"]
        counts["LIST" if "list-type" in environ.get("QUERY_STRING", "") else kind] += 1
        return dispatch(self, environ, start_response)

    monkeypatch.setattr(DomainDispatcherApplication, "__call__", counting)
    server = moto_server.ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    settings = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y", "AWS_DEFAULT_REGION": "us-east-1"}
    settings |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    _file_system.cache_clear()
    try:
        client = boto3.client("s3")
        client.create_bucket(Bucket="fleet")
        files = [path for path in sorted((SET / "fleet").rglob("*")) if path.is_file()]
        for path in files:
            client.put_object(Bucket="fleet", Key=os.path.relpath(path, SET / "fleet"), Body=path.read_bytes())
        counts.clear()
        yield len(files), counts
    finally:
        server.stop()
        _file_system.cache_clear()


def test_a_store_gets_a_head_and_a_few_gets_a_file_and_a_list_per_thousand_keys(store: tuple[int, Counts]) -> None:
    keys, counts = store
    sent = [{"root": 0, "path": "s3a://fleet", "given": "s3a://fleet", "deep": True}]
    units = list(ListUnits(Options()).rows(iter(sent)))
    assert counts["LIST"] == 1 and len(units) == 15
    assert counts["HEAD"] <= 9 and counts["GET"] <= 7, "two small files of each log dir"
    counts.clear()
    compared = (unit | {"compared": True} for unit in units)
    rows = list(CheckUnits(Options(), NOW).rows(compared))
    assert [row for row in rows if row["unread"]] == []
    assert counts["HEAD"] <= keys and counts["GET"] <= 3 * keys, (keys, counts)
    assert counts["LIST"] == 4, "the bucket and each log dir once a task"
    found = [finding for row in rows for finding in checked_of(row).findings]
    targets = [Target(str(SET / "fleet" / urlsplit(unit["path"]).path.strip("/"))) for unit in units]
    assert found == [] == check_all(targets, Options()).findings
    assert sum(row["files"] for row in rows) == check_all(targets, Options()).coverage.files
