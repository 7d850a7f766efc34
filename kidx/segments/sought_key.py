"""A key that records are searched for: its bytes, or their SHA-256, which keeps the key out of command lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from kidx.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from kidx.text.spans import Spans

_DIGEST_BYTES = 32


class SoughtKey(NamedTuple):
    """The bytes of a key, or with `is_digest` of a key's SHA-256."""

    content: bytes
    is_digest: bool = False

    def among(self, keys: Spans) -> npt.NDArray[np.bool_]:
        """Which keys are this one: bool, shape (rows,)."""
        import numpy as np

        from kidx.text.spans import equals

        if not self.is_digest:
            return equals(keys, self.content)
        from hashlib import sha256

        texts = keys.tolist()
        same = {key: key is not None and sha256(key).digest() == self.content for key in set(texts)}
        return np.array([same[key] for key in texts], np.bool_)


def sought_key(text: str | None, sha256_hex: str | None) -> SoughtKey | None:
    """The key of --key or --key-sha256, None for neither. Raises UsageError for both, or what is no SHA-256."""
    if text is not None and sha256_hex is not None:
        raise UsageError("--key and --key-sha256 name the same thing; give one of them")
    if text is not None:
        return SoughtKey(os.fsencode(text))
    if sha256_hex is None:
        return None
    try:
        digest = bytes.fromhex(sha256_hex)
    except ValueError:
        digest = b""
    if len(digest) != _DIGEST_BYTES:
        raise UsageError(f"--key-sha256 {sha256_hex}: a SHA-256 has 64 hexadecimal digits")
    return SoughtKey(digest, is_digest=True)
