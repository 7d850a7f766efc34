"""Control records, Kafka's messages inside them included."""

from __future__ import annotations

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from kidx.evidence import open_evidence
from kidx.formats.control import control_type, parse_control, type_name
from kidx.segments.records import read_records
from kidx.segments.walk import walk
from tests.support import FIXTURES


def test_every_control_record_of_the_fixtures_can_be_read() -> None:
    seen = set()
    for log in (*FIXTURES.glob("kafka-*/*/**/*.log"), *FIXTURES.glob("kafka-*/*/**/*.checkpoint")):
        with open_evidence(str(log)) as evidence:
            for batch in walk(evidence):
                for r in read_records(evidence, batch).records if batch.control else ():
                    control = parse_control(r.key, r.value)
                    assert control is not None and control.fields is not None
                    seen.add(control.name)
    assert {"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER"} <= seen


def test_a_marker() -> None:
    control = parse_control(pack(">hh", 0, 1), pack(">hi", 0, 6))
    assert control == (1, "COMMIT", {"version": 0, "coordinatorEpoch": 6})


def test_a_leader_change_of_version_1() -> None:
    voter = pack(">i", 3) + bytes(range(16)) + b"\0"
    value = pack(">hi", 1, 3) + b"\2" + voter + b"\1" + b"\0"
    expected = {
        "version": 1,
        "leaderId": 3,
        "voters": [{"voterId": 3, "voterDirectoryId": "AAECAwQFBgcICQoLDA0ODw"}],
        "grantingVoters": [],
    }
    assert parse_control(pack(">hh", 0, 2), value) == (2, "LEADER_CHANGE", expected)


def test_voters() -> None:
    endpoint = b"\5LEFT" + b"\6host." + pack(">H", 50_000) + b"\0"
    voter = pack(">i", 1) + bytes(16) + b"\2" + endpoint + pack(">hh", 0, 1) + b"\0" + b"\0"
    control = parse_control(pack(">hh", 0, 6), pack(">h", 0) + b"\2" + voter + b"\1\7\2ab")
    assert control is not None and control.fields == {
        "version": 0,
        "voters": [
            {
                "voterId": 1,
                "voterDirectoryId": "A" * 22,
                "endpoints": [{"name": "LEFT", "host": "host.", "port": 50_000}],
                "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
            }
        ],
    }


def test_what_is_none() -> None:
    assert control_type(None) is control_type(b"abc") is control_type(pack(">hh", -1, 0)) is None
    assert parse_control(b"", b"") is None
    assert type_name(9) == type_name(-1) == "UNKNOWN"
    assert parse_control(pack(">hh", 0, 9), b"new") == (9, "UNKNOWN", None)
    assert parse_control(pack(">hh", 0, 0), None) == (0, "ABORT", None)
    assert parse_control(pack(">hh", 0, 0), b"\0") == (0, "ABORT", None)


@given(st.integers(-1, 8), st.binary(max_size=60))
def test_junk(type_id: int, value: bytes) -> None:
    control = parse_control(pack(">hh", 0, type_id), value)
    assert control is not None and control.type_id == type_id
