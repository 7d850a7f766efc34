"""What kidx needs of `typing`, without typing, whose import takes a fifth of the time of a short run.

A type checker sees typing's own names here. At run time annotations are never looked at (`from __future__ import
annotations`), so most names need only exist; NamedTuple makes the very class that collections.namedtuple makes.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import IO as IO
    from typing import Any as Any
    from typing import ClassVar as ClassVar
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import TypeVar as TypeVar
else:
    from collections import namedtuple

    class _Absent:
        """Stands for a name that only annotations use."""

        def __class_getitem__(cls, item):
            return cls

    Any = IO = ClassVar = _Absent

    class Protocol:
        """Nothing is checked at run time."""

    class TypeVar:
        """A type variable's name."""

        def __init__(self, name, *constraints, bound=None):
            self.__name__ = name

    class _NamedTupleMeta(type):
        def __new__(cls, name, bases, namespace):
            if not bases:
                return super().__new__(cls, name, bases, namespace)
            fields = namespace.get("__annotations__", {})
            defaults = [namespace[field] for field in fields if field in namespace]
            made = namedtuple(name, fields, defaults=defaults, module=namespace["__module__"])
            for key, value in namespace.items():
                if key not in fields and key not in ("__module__", "__classcell__"):
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_NamedTupleMeta):
        """As typing.NamedTuple: fields are what is annotated, in order; what has a value has it by default."""
