"""numpy's core alone is numpy as far as it goes, and leaves numpy as it is. Each in a process that has none yet."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEFORE = "import sys\nimport kidx.light_numpy\nfrom kidx.light_numpy import light_numpy\n"
# A dozen things of numpy's Python side, and arrays that were made before it was there.
WHOLE = """
import numpy as np
assert 'numpy.linalg' in sys.modules and np.__version__ and np._core.multiarray
assert np.diff(a).tolist() == [1, 1] and np.linalg.norm(a) > 2 and isinstance(a, np.ndarray) and a.mean() == 1
assert type(a.max()) is np.int64 and repr(a) == 'array([0, 1, 2])' and np.random.default_rng(1).integers(1) == 0
import pickle
assert (pickle.loads(pickle.dumps(a)) == a).all()
try:
    a.sum(axis=3)
except np.exceptions.AxisError:
    print('good')
"""


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", BEFORE + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_core_comes_alone_and_numpy_comes_afterwards() -> None:
    code = """
with light_numpy():
    import numpy as np
    a = np.arange(3)
    assert a.astype(np.uint16).tolist() == [0, 1, 2] and np.dtype('bool') and np.maximum.reduce(a) == 2
    assert (a.max(), a.min(), a.sum(), a[1:].all(), a.any(), np.bool_ is np.bool) == (2, 0, 3, True, True, True)
    assert a.max(initial=7) == 7 and a.sum(where=a > 1) == 2 and (a > 5).any().dtype == bool
    assert np.zeros((2, 3), np.int64).sum(axis=1).tolist() == [0, 0]
    assert (np.argmax(a), np.max(a), np.any(a > 1), np.all([1, 0])) == (2, 2, True, False)
    assert np.searchsorted(a, [1, 5], "right").tolist() == [2, 3] and np.cumsum(a).tolist() == [0, 1, 3]
    assert np.nonzero(a)[0].tolist() == np.flatnonzero(a).tolist() == [1, 2] == (np.diff(a) + [0, 1]).tolist()
    assert np.repeat(a, [0, 2, 1]).tolist() == [1, 1, 2] and np.argsort(-a, kind="stable").tolist() == [2, 1, 0]
    assert np.sort(-a).tolist() == [-2, -1, 0] == sorted((-a).tolist()) and a.tolist() == [0, 1, 2]
    assert np.ones(2, bool).tolist() == [True, True] and np.ones((1, 2)).dtype == float
    assert 'numpy.linalg' not in sys.modules
"""
    assert run(code + WHOLE) == "good\n"
    assert run(code + code + WHOLE) == "good\n"
    assert run("with light_numpy(False):\n    assert 'numpy' not in sys.modules") == ""


@pytest.mark.parametrize(
    "asked",
    [
        "np.diff(a, prepend=7)",
        "np.diff(a > 1)",
        "np.linalg.norm(a)",
        "np.unique(a)",
        "a.mean()",
        "a.std()",
        "np.__version__",
    ],
)
def test_what_the_core_lacks_numpy_has(asked: str) -> None:
    code = f"""
with light_numpy():
    import numpy as np
    a = np.arange(3)
    {asked}
"""
    assert run(code + WHOLE) == "good\n"


def test_another_numpy_is_imported_as_usual() -> None:
    code = """
kidx.light_numpy._EXTENSION = 'numpy._core._elsewhere'
with light_numpy():
    import numpy as np
    a = np.arange(3)
"""
    assert run(code + WHOLE) == "good\n"


def test_numpy_that_is_there_already_is_left_alone() -> None:
    code = """
import numpy
with light_numpy():
    import numpy as np
    assert np is numpy
    a = np.arange(3)
assert sys.modules['numpy'] is numpy
"""
    assert run(code + WHOLE) == "good\n"


def test_no_numpy_is_said_as_ever() -> None:
    code = """
sys.path[:] = [p for p in sys.path if 'site-packages' not in p]
with light_numpy():
    try:
        import numpy
    except ModuleNotFoundError as e:
        print(e.name)
"""
    assert run(code) == "numpy\n"
