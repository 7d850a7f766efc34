"""numpy's array core alone, for a process that only prints numbers.

`import numpy` runs some 150 modules (linear algebra, documentation strings, typing, inspect) and takes longer than it
takes to format a million index entries: about half of `kidx dump`'s time on a full index. Arrays, dtypes and ufuncs
all live in one C extension, which is there in a quarter of that. Within `light_numpy()`, `import numpy` gives a module
that has what this extension has, and brings the whole of numpy when something else is asked of it; only repr() of an
array cannot be had, for numpy asks back while that starts. The commonest methods that the extension has from numpy's
Python side (any, all, sum, max, min) are given to it here, and so are the functions that are little else than a method
(nonzero, searchsorted, ...). Afterwards `import numpy` is numpy's own again. Where the extension
cannot be loaded this way (another numpy than is known here) nothing is lost: numpy is imported as usual.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from kidx.light_typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_EXTENSION = "numpy._core._multiarray_umath"  # its place since numpy 2.0
_PACKAGES = ("numpy", "numpy._core")
_LARGEST_BLOCK_BYTES = 16 << 20
_METHODS = "numpy._core._methods"  # where the extension looks for the methods that are written in Python


class _LightNumpy(ModuleType):
    """Stands for numpy: what is missing here the whole of numpy has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":  # the import system asks for such
            raise AttributeError(name)
        return getattr(_whole_numpy(), name)


class _LightMethods(ModuleType):
    """Stands for the module of array methods, with those that are the reduction of a ufunc and nothing else."""

    def __init__(self, extension: ModuleType, no_value: object) -> None:
        super().__init__(_METHODS)
        add, largest, smallest = extension.add.reduce, extension.maximum.reduce, extension.minimum.reduce
        either, both, boolean = extension.logical_or.reduce, extension.logical_and.reduce, extension.dtype("bool")

        vars(self).update(
            _sum=lambda a, axis=None, dtype=None, out=None, keepdims=False, initial=no_value, where=True: add(
                a, axis, dtype, out, keepdims, initial, where
            ),
            _amax=lambda a, axis=None, out=None, keepdims=False, initial=no_value, where=True: largest(
                a, axis, None, out, keepdims, initial, where
            ),
            _amin=lambda a, axis=None, out=None, keepdims=False, initial=no_value, where=True: smallest(
                a, axis, None, out, keepdims, initial, where
            ),
            _any=lambda a, axis=None, dtype=boolean, out=None, keepdims=False, *, where=True: either(
                a, axis, dtype, out, keepdims, where=where
            ),
            _all=lambda a, axis=None, dtype=boolean, out=None, keepdims=False, *, where=True: both(
                a, axis, dtype, out, keepdims, where=where
            ),
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        _whole_numpy()
        return getattr(_imported(_METHODS), name)


@contextmanager
def light_numpy(wanted: bool = True) -> Iterator[None]:
    """Let `import numpy` bring its array core only, unless numpy is there already, or is not `wanted`."""
    if not wanted or "numpy" in sys.modules:
        yield
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.light = True
    try:
        yield
    finally:
        _FINDER.light = False
        _forget()


def keep_freed_blocks(data_bytes: int) -> None:
    """Have memory of arrays that come and go window after window of so much data stay with this process.

    glibc gives blocks back to the system at once until one as large was freed, and the system would have to clear them
    anew each time. The one that is freed here is never touched.
    """
    import numpy as np

    np.empty(min(_LARGEST_BLOCK_BYTES, data_bytes), np.uint8)


class _LightLoader:
    """Loads numpy's array core when numpy is imported; numpy itself where that fails, whatever the reason."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _LightNumpy(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        try:
            _load_core(module, self._directory)
        except Exception:
            _whole_numpy()


def _load_core(numpy: ModuleType, directory: str) -> None:
    core = ModuleType("numpy._core")
    numpy.__path__, core.__path__ = [directory], [os.path.join(directory, "_core")]
    sys.modules["numpy._core"] = core
    os.putenv("OPENBLAS_MAIN_FREE", "1")  # as numpy does: the linear algebra shall not bind this process to a CPU
    extension = _imported(_EXTENSION)
    os.unsetenv("OPENBLAS_MAIN_FREE")
    types = {name: kind for name, info in extension.typeinfo.items() if (kind := getattr(info, "type", None))}
    extension.set_typeDict(types)  # so that dtype("bool") is understood
    no_value = _imported("numpy._globals")._NoValue
    vars(numpy).update({name: value for name, value in vars(extension).items() if not name.startswith("_")})
    vars(numpy).update(types, bool_=types["bool"], _core=core, _NoValue=no_value, **_functions(extension))
    sys.modules[_METHODS] = _LightMethods(extension, no_value)


_METHODS_AS_FUNCTIONS = ("all", "any", "argmax", "argsort", "cumsum", "max", "min", "nonzero", "repeat", "searchsorted")


def _functions(extension: ModuleType) -> dict[str, Callable[..., Any]]:
    """The functions of numpy's Python side that are array methods, or as good as that."""

    def method(name: str) -> Callable[..., Any]:
        return lambda a, *args, **kwargs: getattr(extension.asarray(a), name)(*args, **kwargs)

    def ones(shape: Any, dtype: Any = None) -> Any:
        array = extension.empty(shape, "f8" if dtype is None else dtype)
        array.fill(1)
        return array

    def diff(a: Any, *args: Any, **kwargs: Any) -> Any:
        array = extension.asarray(a)
        if args or kwargs or array.ndim != 1 or array.dtype == bool:
            return _whole_numpy().diff(a, *args, **kwargs)
        return array[1:] - array[:-1]

    def sort(a: Any, *args: Any, **kwargs: Any) -> Any:
        array = extension.array(a)
        array.sort(*args, **kwargs)
        return array

    functions = {name: method(name) for name in _METHODS_AS_FUNCTIONS} | {"diff": diff, "ones": ones, "sort": sort}
    return functions | {"flatnonzero": lambda a: extension.asarray(a).ravel().nonzero()[0]}


class _Finder:
    """Finds numpy's core alone while it is to be `light`, once. Else its packages as usual, and tells the new ones of
    their modules that are loaded already.
    """

    light = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _PACKAGES:
            return None
        from importlib.machinery import ModuleSpec, PathFinder  # here, for not every run comes to numpy

        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        if self.light and spec.submodule_search_locations:
            self.light = False
            loader = _LightLoader(spec.submodule_search_locations[0])
            return ModuleSpec(name, loader, is_package=True)  # type: ignore[arg-type]
        spec.loader.create_module = _with_loaded_modules  # type: ignore[method-assign]
        return spec


_FINDER = _Finder()


def _with_loaded_modules(spec: ModuleSpec) -> ModuleType:
    package = ModuleType(spec.name)
    for name, module in sys.modules.items():
        above, _, below = name.rpartition(".")
        if above == spec.name:
            setattr(package, below, module)
    return package


def _forget() -> None:
    """Take away what stands for numpy; the extension stays, for a process can load it only once."""
    if isinstance(sys.modules.get(_METHODS), _LightMethods):
        del sys.modules[_METHODS]
    if isinstance(sys.modules.get("numpy"), _LightNumpy):
        for package in _PACKAGES:
            del sys.modules[package]


def _whole_numpy() -> ModuleType:
    _forget()
    return _imported("numpy")


def _imported(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]
