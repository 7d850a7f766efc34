"""The reader of Kafka's messages beside a slow, obvious encoder: every kind, every version, both encodings."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kidx.formats.schemas.compiler import UNKNOWN_TAGS, Undecodable, source_of
from kidx.formats.schemas.model import Field, Message, messages
from kidx.formats.schemas.reader import JACKSON, PLAIN, read_message
from kidx.formats.schemas.topics import TRAILING_BYTES, decode_record
from tests.formats.message_model import encode, exists, random_value, shown, varint

VERSIONS = [
    (message, version)
    for message in messages().values()
    for version in range(message.versions.first, message.versions.last + 1)
]
FAMILIES = ("group", "transaction", "share", "metadata", "remote")
each_version = pytest.mark.parametrize(
    ("message", "version"), VERSIONS, ids=[f"{m.name}-{version}" for m, version in VERSIONS]
)


@each_version
def test_what_is_written_is_read(message: Message, version: int) -> None:
    for seed in range(12):
        value = random_value(message.fields, version, random.Random(f"{message.name}{version}{seed}"))
        data = encode(message, version, value)
        for style, jackson in ((PLAIN, False), (JACKSON, True)):
            read, end = read_message(message, version, b"head" + data + b"tail", 4, style)
            assert end == 4 + len(data)
            wanted = shown(message.fields, version, value, jackson=jackson)
            assert read == wanted
            assert list(read) == list(wanted), "fields stand in declared order"


@each_version
def test_a_message_cut_short_is_undecodable(message: Message, version: int) -> None:
    data = encode(message, version, random_value(message.fields, version, random.Random(1)))
    for size in {*range(min(len(data), 40)), len(data) // 2, len(data) - 1} - {-1, len(data)}:
        with pytest.raises(Undecodable, match="byte"):
            read_message(message, version, data[:size])


@given(st.data())
def test_mutated_messages_are_read_or_undecodable(data: st.DataObject) -> None:
    message, version = data.draw(st.sampled_from(VERSIONS), label="message")
    chance = data.draw(st.randoms(use_true_random=False), label="chance")
    for _ in range(20):
        buffer = bytearray(encode(message, version, random_value(message.fields, version, chance)))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(buffer) + 1)
            buffer[at : at + chance.randrange(3)] = chance.choice(
                (b"\xff", b"\x7f\xff\xff\xff", b"\0", chance.randbytes(2))
            )
        for style in (PLAIN, JACKSON):
            try:
                _, end = read_message(message, version, bytes(buffer), 0, style)
            except Undecodable as e:
                assert 0 <= e.position <= len(buffer)
            else:
                assert end <= len(buffer)


@given(st.sampled_from(FAMILIES), st.none() | st.binary(max_size=60), st.none() | st.binary(max_size=60))
def test_any_bytes_make_a_record(family: str, key: bytes | None, value: bytes | None) -> None:
    decoded = decode_record(family, key, value)
    for part in (decoded.key, decoded.value):
        if part is not None and part.data is None:
            assert part.problem or part.raw is None or decoded.key.problem or family in ("metadata", "remote")


def test_huge_claims_end_at_once() -> None:
    many = b"\xff\xff\xff\xff\x07"  # a varint near 2**31
    consumer = messages()["ConsumerGroupMemberMetadataValue"]
    with pytest.raises(Undecodable, match="instanceId says 2147483646 bytes"):
        read_message(consumer, 0, many)
    partition = messages()["PartitionRecord"]
    with pytest.raises(Undecodable, match="replicas says"):
        read_message(partition, 0, bytes(20) + many)
    with pytest.raises(Undecodable, match="more than five bytes"):
        read_message(consumer, 0, b"\x80" * 9)


def test_what_is_null_and_may_not_be() -> None:
    with pytest.raises(Undecodable, match="group is null and may not be"):
        read_message(messages()["OffsetCommitKey"], 0, b"\xff\xff")


def test_a_version_that_is_not_known() -> None:
    with pytest.raises(Undecodable, match=r"TopicRecord has no version 9 \(known: 0\)"):
        read_message(messages()["TopicRecord"], 9, b"")


def test_unknown_tags_are_kept_and_shown() -> None:
    topic = messages()["TopicRecord"]
    value = {"name": "t", "topicId": bytes(16)}
    data = encode(topic, 0, value, {7: b"later", 200: b""})
    assert read_message(topic, 0, data)[0][UNKNOWN_TAGS] == {"7": b"later".hex(), "200": ""}
    assert UNKNOWN_TAGS not in read_message(topic, 0, data, 0, JACKSON)[0], "Kafka's JSON leaves them out"


def test_a_tagged_field_that_claims_another_length() -> None:
    fence = messages()["RegisterBrokerRecord"]
    value = random_value(fence.fields, 3, random.Random(3)) | {"inControlledShutdown": False, "logDirs": []}
    data = encode(fence, 3, value | {"isMigratingZkBroker": False})
    wrong = data[:-1] + varint(1) + varint(0) + varint(2) + b"\1\1"
    with pytest.raises(Undecodable, match="tagged field 0 says 2 bytes and takes 1"):
        read_message(fence, 3, wrong)


def test_text_that_is_not_utf_8() -> None:
    topic = messages()["TopicRecord"]
    data = varint(4) + b"a\xff\xed" + bytes(16) + b"\0"
    assert read_message(topic, 0, data)[0]["name"] == "a\\xff\\xed"
    assert read_message(topic, 0, data, 0, JACKSON)[0]["name"] == "a\ufffd\ufffd"


def test_bytes_behind_a_message_are_kept() -> None:
    key = b"\0\1" + b"\0\1g" + b"\0\1t" + b"\0\0\0\5"
    decoded = decode_record("group", key + b"zz", None)
    assert decoded.key.data == {"group": "g", "topic": "t", "partition": 5, TRAILING_BYTES: "7a7a"}


def test_readers_never_share_what_they_give() -> None:
    change = messages()["StreamsGroupTopologyValue"]
    data = encode(change, 0, random_value(change.fields, 0, random.Random(0)) | {"subtopologies": []})
    first, second = (read_message(change, 0, data)[0] for _ in range(2))
    assert first == second and first["subtopologies"] is not second["subtopologies"]


@each_version
def test_every_element_takes_a_byte_or_more(message: Message, version: int) -> None:
    """So that the bytes that are left bound every array."""

    def check(fields: tuple[Field, ...]) -> None:
        for field in fields:
            if field.array and field.type == "struct" and exists(field, version):
                plain = [f for f in field.children if version in f.versions and version not in f.tagged]
                assert plain or version in message.flexible, field.name
            check(field.children)

    check(message.fields)


def test_sources_are_python_without_calls_by_name() -> None:
    for message, version in VERSIONS:
        source = source_of(message, version, PLAIN)
        assert "import" not in source and "__" not in source


@pytest.mark.parametrize(
    ("family", "key", "value", "problem"),
    [
        ("group", None, b"v", "the record has no key"),
        ("group", b"\0", None, "the key is too short to name a kind"),
        ("group", b"\x01\x00x", b"v", "kind 256 of group records is unknown to Kafka 4.3"),
        ("group", b"\0\1\0\1g\0\1t\0\0\0\1", b"\0", "the value is too short for a version"),
        ("group", b"\0\1\0\1g\0\1t\0\0\0\1", b"\0\x63", r"OffsetCommitValue has no version 99 \(known: 0 to 4\)"),
        ("group", b"\0\1\0\1g", b"\0\1", "OffsetCommitKey version 0 breaks off"),
        ("metadata", None, None, "the record has no value"),
        ("metadata", None, b"", "the value breaks off in its frame"),
        ("metadata", None, b"\2\2\0", "frame version 2 is unknown"),
        ("metadata", None, b"\1\x7f\0", "kind 127 of metadata records is unknown"),
        ("metadata", None, b"\1\2\x63", "TopicRecord has no version 99"),
        ("remote", b"k", b"\1\0\0", "RemoteLogSegmentMetadataRecord version 0 breaks off"),
    ],
)
def test_what_is_unknown_is_said(family: str, key: bytes | None, value: bytes | None, problem: str) -> None:
    decoded = decode_record(family, key, value)
    assert re.search(problem, decoded.problem or "")
    raw = {part.raw for part in (decoded.key, decoded.value) if part is not None and part.raw is not None}
    assert raw & {key, value} or value in (None, b"v"), "its bytes are shown"
