"""Parts of remote log segments, put together from the objects of Aiven's plugin as they are read.

A segment that this plugin copied is three objects: chunks of the log, the indexes one after another, and a manifest.
kidx opens its parts under the names that LocalTieredStorage gives them, next to the manifest: `<stem>.index`, ...
Chunks may be compressed (zstd) and encrypted (AES-256-GCM; RSA-OAEP with SHA3-512 wraps each segment's data key).

Sources: CompressionChunkEnumeration, EncryptionChunkEnumeration, RsaEncryptionProvider, AesEncryptionProvider.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from kidx.errors import CannotRead, KidxError, MissingExtra, TooLarge, UsageError, WrongFormat
from kidx.evidence.file import Evidence
from kidx.formats.object_names import INDEXES, LOG, MANIFEST, PARTS, parse_object_name
from kidx.formats.remote_objects import MANIFEST_BYTES, SEAL_BYTES, Manifest, Place, parse_manifest

T = TypeVar("T")
MOST_CHUNK_BYTES = 128 << 20  # of the log; the plugin's default is 4 MiB
MOST_PART_BYTES = 256 << 20  # of an index: an entry for every batch of a segment of 2 GiB
_CHUNKS_KEPT = 2
_MANIFESTS_KEPT = 256
_SMALL_INDEXES_BYTES, _INDEXES_KEPT = 1 << 20, 4
_KEY_BYTES = 1 << 16

_key_files: ContextVar[Mapping[str, str]] = ContextVar("key files", default=MappingProxyType({}))


class DamagedObject(CannotRead):
    """Raised when an object of a tier is not what its manifest says: damage, which checks report as findings.

    `path` is the object's, `span` its damaged bytes, None where it is damaged as a whole.
    """

    def __init__(self, path: str, why: str, span: tuple[int, int] | None = None) -> None:
        super().__init__(f"{path}: {why}")
        self.path, self.why, self.span = path, why, span

    def __reduce__(self) -> tuple[Any, ...]:
        return DamagedObject, (self.path, self.why, self.span)


class NoKey(CannotRead):
    """Raised when an encrypted part is read without the private key of its key pair, or with a wrong one."""


@contextmanager
def key_files(files: Mapping[str, str]) -> Iterator[None]:
    """Within it, encrypted parts are opened with these private keys: PEM files by the ids of their key pairs.

    Raises CannotRead, UsageError for a file that is no private key, MissingExtra without cryptography.
    """
    for path in files.values():
        _private_numbers(path)
    token = _key_files.set(dict(files))
    try:
        yield
    finally:
        _key_files.reset(token)


def open_part(path: str) -> Evidence | None:
    """A part of a segment that Aiven's plugin copied, None where the path is no such part's.

    Raises CannotRead, DamagedObject, NoKey.
    """
    found = _manifest_of(path)
    if found is None:
        return None
    stem, suffix, manifest = found
    if suffix == LOG:
        return _open_log(path, manifest)
    place = manifest.places[suffix]
    if place is None or not place.size:
        return Evidence(path, -1, 0, 0)
    return _open_place(path, stem + INDEXES, place, manifest)


def has_part(path: str) -> bool:
    """Whether a path names a part of such a segment that is no object of its own. Raises CannotRead."""
    name = parse_object_name(path.rpartition("/")[2])
    return name is not None and name.suffix in PARTS and _is_there(path.removesuffix(name.suffix) + MANIFEST)


def read_manifest(path: str) -> Manifest:
    """The manifest at a path. Raises CannotRead, DamagedObject."""
    known = _manifests.get(path)
    if known is not None:
        _manifests.move_to_end(path)
        return known
    from kidx.evidence.listing import is_uri
    from kidx.evidence.local import open_evidence

    with open_evidence(path) as evidence:
        try:
            manifest = parse_manifest(evidence.read_all(MANIFEST_BYTES))
        except (WrongFormat, TooLarge) as e:
            raise DamagedObject(path, str(e).removeprefix(f"{path}: ")) from None
    if is_uri(path):
        _keep(_manifests, path, manifest, _MANIFESTS_KEPT)
    return manifest


def damaged_chunks(path: str, manifest: Manifest) -> Iterator[DamagedObject]:
    """The chunks of a log's object that cannot be read as its manifest says. Raises CannotRead, NoKey."""
    from kidx.evidence.local import open_plain

    with open_plain(path) as stored:
        log = _ChunkedLog(path, stored, manifest)
        for chunk in range(manifest.chunks.whole_in(stored.size)):
            try:
                log.chunk(chunk)
            except DamagedObject as e:
                yield e


def must_have_key(manifest: Manifest) -> None:
    """Raises NoKey where a segment is encrypted and its key is not at hand."""
    if manifest.data_key is not None:
        _data_key(*manifest.data_key, _key_files.get().get(manifest.data_key[0]))


# Of object stores, which answer slowly: each part of a segment needs the manifest, and indexes are mostly small.
# Objects of a tier never change.
_manifests: OrderedDict[str, Manifest] = OrderedDict()
_indexes: OrderedDict[str, bytes] = OrderedDict()


def _keep(kept: OrderedDict[str, T], path: str, value: T, most: int) -> None:
    kept[path] = value
    if len(kept) > most:
        kept.popitem(last=False)


def _is_there(manifest: str) -> bool:
    from kidx.evidence.listing import is_file

    return manifest in _manifests or is_file(manifest)


def _manifest_of(path: str) -> tuple[str, str, Manifest] | None:
    """The stem and suffix of a part's path, and its manifest; None where there is no manifest."""
    name = parse_object_name(path.rpartition("/")[2])
    if name is None or name.suffix in (INDEXES, MANIFEST):
        return None
    stem = path.removesuffix(name.suffix)
    return (stem, name.suffix, read_manifest(stem + MANIFEST)) if _is_there(stem + MANIFEST) else None


def _open_log(path: str, manifest: Manifest) -> Evidence:
    from kidx.evidence.local import open_plain

    stored = open_plain(path)
    if manifest.plain:
        return stored
    try:
        return _ChunkedLog(path, stored, manifest)
    except BaseException:
        stored.close()
        raise


def _open_place(path: str, indexes: str, place: Place, manifest: Manifest) -> Evidence:
    if place.size > MOST_PART_BYTES:
        raise TooLarge(f"{path}: {place.size:,} bytes; kidx reads at most {MOST_PART_BYTES:,} of an index in a tier")
    span = place.position, place.position + place.size
    data = _read_place(indexes, *span)
    if len(data) < place.size:
        raise DamagedObject(indexes, f"the manifest has an index up to byte {span[1]}, and the object is shorter", span)
    if manifest.data_key is not None:
        data = _unsealed(_cipher_of(manifest), manifest.aad, data, indexes, span)
    return Evidence(path, -1, len(data), 0, data)


def _read_place(path: str, start: int, end: int) -> bytes:
    """Bytes of an object of indexes, fewer where it ends. Raises CannotRead."""
    from kidx.evidence.listing import is_uri
    from kidx.evidence.local import open_plain

    if path in _indexes:
        return _indexes[path][start:end]
    with open_plain(path) as evidence:
        if is_uri(path) and evidence.size <= _SMALL_INDEXES_BYTES:
            data = evidence.read_range(0, evidence.size)
            _keep(_indexes, path, data, _INDEXES_KEPT)
            return data[start:end]
        return evidence.read_range(start, end - start)


class _ChunkedLog(Evidence):
    """A log that is stored as chunks, each of which is read, decrypted and inflated when its bytes are needed.

    Where the object is short, the log ends with its last whole chunk.
    """

    __slots__ = ("_chunks", "_cipher", "_manifest", "_stored")

    def __init__(self, path: str, stored: Evidence, manifest: Manifest) -> None:
        chunks = manifest.chunks
        whole = chunks.whole_in(stored.size)
        size = chunks.original(whole - 1)[1] if whole else 0
        super().__init__(path, -1, size, stored.mtime_ns)
        if chunks.chunk_bytes > MOST_CHUNK_BYTES < chunks.file_bytes:
            raise TooLarge(
                f"{path}: its chunks have {chunks.chunk_bytes:,} bytes; kidx reads at most {MOST_CHUNK_BYTES:,}"
            )
        self._stored, self._manifest = stored, manifest
        self._chunks: OrderedDict[int, memoryview] = OrderedDict()
        self._cipher = None if manifest.data_key is None else _cipher_of(manifest)

    def close(self) -> None:
        """Close the object; harmless when closed already."""
        if hasattr(self, "_stored"):
            self._stored.close()
            self._chunks.clear()

    def read(self, position: int, length: int) -> bytes:
        """`length` bytes from `position`, fewer only where `size` ends them. Raises DamagedObject, CannotRead."""
        length = max(0, min(length, self.size - position))
        return b"".join(self._pieces(position, position + length))

    def read_into(self, position: int, buffer: memoryview) -> int:
        """Fill `buffer` from `position`; how many bytes came, fewer only at the end."""
        done = 0
        for piece in self._pieces(position, min(position + len(buffer), self.size)):
            buffer[done : done + len(piece)] = piece
            done += len(piece)
        return done

    def changed(self) -> bool:
        """Whether the object has another size or modification time than when it was opened. Raises CannotRead."""
        return self._stored.changed()

    def spare_page_cache(self) -> None:
        """As Evidence does, for the object."""
        self._stored.spare_page_cache()

    def chunk(self, number: int) -> memoryview:
        """A chunk of the log. Raises DamagedObject, CannotRead."""
        chunk = self._chunks.get(number)
        if chunk is None:
            while len(self._chunks) >= _CHUNKS_KEPT:
                self._chunks.popitem(last=False)
            chunk = self._chunks[number] = self._decoded(number)
        else:
            self._chunks.move_to_end(number)
        return chunk

    def _pieces(self, start: int, end: int) -> Iterator[memoryview]:
        while start < end:
            number = start // self._manifest.chunks.chunk_bytes
            first, behind = self._manifest.chunks.original(number)
            yield self.chunk(number)[start - first : min(end, behind) - first]
            start = behind

    def _decoded(self, number: int) -> memoryview:
        chunks = self._manifest.chunks
        start, end = span = chunks.stored(number)
        first, behind = chunks.original(number)
        size = behind - first
        if end - start > 2 * size + 4096:  # zstd adds a few bytes to what it cannot compress, a seal 28
            raise DamagedObject(self.path, f"chunk {number} has {end - start} bytes for {size} of the log", span)
        data = memoryview(self._stored.read_range(start, end - start))
        if self._cipher is not None:
            data = memoryview(_unsealed(self._cipher, self._manifest.aad, data, self.path, span))
        if self._manifest.compressed:
            from kidx.formats.compression import ZSTD, BudgetSpent, inflate

            try:
                data = inflate(ZSTD, data, limit_bytes=max(size, 1))
            except BudgetSpent as e:
                raise CannotRead(f"{self.path}: chunk {number}: {e}") from None
            except KidxError as e:
                raise DamagedObject(self.path, f"chunk {number}: {e}", span) from None
        if len(data) != size:
            raise DamagedObject(self.path, f"chunk {number} holds {len(data)} bytes of the log, expected {size}", span)
        return data


def _unsealed(cipher: Any, aad: bytes, piece: bytes | memoryview, path: str, span: tuple[int, int]) -> bytes:
    """What AES-GCM sealed: 12 bytes of IV, the ciphertext, 16 bytes of tag."""
    from cryptography.exceptions import InvalidTag

    if len(piece) < SEAL_BYTES:
        raise DamagedObject(path, f"{len(piece)} bytes, too few for an encrypted piece", span)
    try:
        return bytes(cipher.decrypt(bytes(piece[:12]), bytes(piece[12:]), aad))
    except InvalidTag:
        raise DamagedObject(
            path,
            f"bytes {span[0]}-{span[1] - 1} do not match their AES-GCM tag; they or the manifest are wrong",
            span,
        ) from None


def _cipher_of(manifest: Manifest) -> Any:
    assert manifest.data_key is not None
    key_id, wrapped = manifest.data_key
    key = _data_key(key_id, wrapped, _key_files.get().get(key_id))
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(key)


@lru_cache(maxsize=1024)
def _data_key(key_id: str, wrapped: bytes, pem: str | None) -> bytes:
    """The data key that a key pair wraps: RSA-OAEP with SHA3-512, also for MGF1, and an empty label (RFC 8017, 7.1.2).

    cryptography has no OAEP with SHA3, so only the key file is read with it.
    """
    if pem is None:
        raise NoKey(f"encrypted with the key pair {key_id!r}: give its private key with --key-file {key_id}=PEM")
    numbers = _private_numbers(pem)
    from hashlib import sha3_512

    n, digest_bytes = numbers.public_numbers.n, sha3_512().digest_size
    size = (n.bit_length() + 7) // 8
    cipher = int.from_bytes(wrapped, "big")
    wrong = NoKey(f"--key-file {key_id}={pem}: this is not the private key of the key pair {key_id!r} of the tier")
    if len(wrapped) != size or cipher >= n or size < 2 * digest_bytes + 2:
        raise wrong
    p, q = numbers.p, numbers.q  # by the Chinese remainder theorem, four times as fast
    m1, m2 = pow(cipher % p, numbers.dmp1, p), pow(cipher % q, numbers.dmq1, q)
    message = (m2 + (m1 - m2) * numbers.iqmp % p * q).to_bytes(size, "big")
    seed = _xor(message[1 : 1 + digest_bytes], _mask(message[1 + digest_bytes :], digest_bytes))
    block = _xor(message[1 + digest_bytes :], _mask(seed, size - digest_bytes - 1))
    rest = block[digest_bytes:].lstrip(b"\0")
    if message[0] or block[:digest_bytes] != sha3_512().digest() or rest[:1] != b"\1" or len(rest) != 33:
        raise wrong
    return rest[1:]


@lru_cache(maxsize=64)
def _private_numbers(pem: str) -> Any:
    from kidx.evidence.local import read_file

    try:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise MissingExtra("encrypted objects of a tier need cryptography; pip install 'kidx[tiered]'") from None
    key = None
    with suppress(ValueError, TypeError):
        key = load_pem_private_key(read_file(pem, _KEY_BYTES), None)
    if not isinstance(key, RSAPrivateKey):
        raise UsageError(f"--key-file {pem}: not an RSA private key in PEM without a password")
    return key.private_numbers()


def _mask(seed: bytes, size: int) -> bytes:
    """MGF1 with SHA3-512."""
    from hashlib import sha3_512

    count = -(-size // sha3_512().digest_size)
    return b"".join(sha3_512(seed + i.to_bytes(4, "big")).digest() for i in range(count))[:size]


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))
