"""Declarations of fixed-width big-endian records: each is one table of fields.

The struct for single entries, the numpy dtype for whole files, schemas and documentation are all derived from the
table. numpy is imported only when a dtype is used, so a look-up does without it.
"""

from __future__ import annotations

from functools import cached_property
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

_NUMPY = {"b": "i1", "h": ">i2", "i": ">i4", "q": ">i8", "B": "u1", "I": ">u4"}
_BITS = {"b": 8, "h": 16, "i": 32, "q": 64, "B": 8, "I": 32}


class Field:
    """One field: `code` is its struct letter (b h i q signed, B I unsigned), `unit` that of its number."""

    __slots__ = ("code", "meaning", "name", "unit")

    def __init__(self, name: str, code: str, unit: str, meaning: str) -> None:
        self.name, self.code, self.unit, self.meaning = name, code, unit, meaning

    @property
    def type_name(self) -> str:
        """int64, uint32, ... as documentation and schemas name it."""
        return ("uint" if self.code.isupper() else "int") + str(_BITS[self.code])


class RecordFormat:
    """A fixed-width big-endian record. `source` names the class that defines it."""

    def __init__(self, name: str, schema: str, source: str, fields: tuple[Field, ...]) -> None:
        self.name, self.schema, self.source, self.fields = name, schema, source, fields
        self.struct = Struct(">" + "".join(f.code for f in fields))
        self.size = self.struct.size  # bytes

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} bytes>"

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The packed big-endian numpy dtype of one record."""
        import numpy as np

        return np.dtype([(f.name, _NUMPY[f.code]) for f in self.fields])

    def field_span(self, name: str) -> tuple[int, int]:
        """A field's first byte and the byte after its last, within the record."""
        at = 0
        for field in self.fields:
            size = Struct(">" + field.code).size
            if field.name == name:
                return at, at + size
            at += size
        raise KeyError(name)
