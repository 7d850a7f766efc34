"""Run a function over many items in forked processes: threads gain nothing where numpy waits for Python between passes.

The numbers of items and the pickled results go through pipes. A fork shares everything that its parent had loaded, so
starting one costs about a millisecond and a function may be a closure; multiprocessing and concurrent.futures, which
pickle the function and start threads, cost some twenty. Workers end with Ctrl-C and with their parent, even if that is
killed.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TypeVar

from kidx.errors import KidxError

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_TASKS = 4096  # their numbers, 4 bytes each, fit a pipe's buffer at once
_TASKS_A_JOB = 16
_HEAD = struct.Struct("<II")  # number of the item's task, bytes of the pickle that follows
_FAILED = 0xFFFFFFFF
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def cpu_count() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_jobs() -> int:
    """How many processes work by default."""
    return min(2, cpu_count())


def run_forked(function: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[tuple[Item, Result]]:
    """Each item with its result, in the order they are done; with one job or one item nothing is forked.

    A KidxError or other exception of `function` ends the run and is raised here. Raises KidxError where a process is
    killed from outside (out of memory): its items were not done.
    """
    jobs = min(jobs, len(items))
    if jobs <= 1:
        for item in items:
            yield item, function(item)
        return
    with forked(function, items, jobs) as results:
        yield from results


@contextmanager
def forked(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[Iterator[tuple[Item, Result]]]:
    """Start `jobs` processes on the items; their results as from run_forked. The caller may work meanwhile.

    The processes are ended when the context is left.
    """
    if not items:
        yield iter(())
        return
    tasks = min(_MAX_TASKS, max(jobs, min(len(items), jobs * _TASKS_A_JOB)))
    cuts = [len(items) * i // tasks for i in range(tasks + 1)]
    queue_out, queue_in = os.pipe()
    os.write(queue_in, b"".join(struct.pack("<I", task) for task in range(tasks)))
    os.close(queue_in)
    children: dict[int, int] = {}  # descriptor to read results from: process id
    done: set[int] = set()  # descriptors of those that have sent all their results
    parent = os.getpid()
    try:
        for _ in range(jobs):
            results_out, results_in = os.pipe()
            pid = os.fork()
            if pid == 0:
                _work(function, items, cuts, queue_out, results_in, parent)
            os.close(results_in)
            children[results_out] = pid
        yield _collect(children, done, items, cuts)
    finally:
        os.close(queue_out)
        for descriptor, pid in children.items():
            os.close(descriptor)
            with suppress(ProcessLookupError, ChildProcessError):
                if descriptor not in done:  # the reader of these results stopped early, or something failed
                    os.kill(pid, signal.SIGTERM)
                os.waitpid(pid, 0)


def run_parallel(function: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> dict[Item, Result]:
    """Each item with its result, by `jobs` processes: this one works on a share of the items, forks on the others."""
    jobs = min(jobs, len(items))
    mine = -(-len(items) // jobs) if jobs else 0
    with forked(function, items[mine:], jobs - 1) as results:
        return {item: function(item) for item in items[:mine]} | dict(results)


def _work(
    function: Callable[[Item], Result], items: Sequence[Item], cuts: list[int], queue: int, results: int, parent: int
) -> None:
    """A child's life: take task numbers until there are none left. It never returns."""
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _end_with(parent)
        while number := os.read(queue, 4):
            if os.getppid() != parent:
                break
            task = struct.unpack("<I", number)[0]
            try:
                done: object = [function(item) for item in items[cuts[task] : cuts[task + 1]]]
            except Exception as e:
                _send(results, _FAILED, e)
                break
            _send(results, task, done)
        status = 0
    except (KeyboardInterrupt, BrokenPipeError):
        pass
    finally:
        os._exit(status)


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent ends, however that ends; only Linux can.

    It is the end of the thread that forked that counts: `forked` waits for its children in that thread.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)


def _send(descriptor: int, number: int, value: object) -> None:
    data = pickle.dumps(value, -1)
    message = memoryview(_HEAD.pack(number, len(data)) + data)
    while message:
        message = message[os.write(descriptor, message) :]


def _collect(
    children: dict[int, int], done: set[int], items: Sequence[Item], cuts: list[int]
) -> Iterator[tuple[Item, Result]]:
    waiting = set(range(len(cuts) - 1))
    open_pipes = select.poll()
    for descriptor in children:
        open_pipes.register(descriptor, select.POLLIN)
    while len(done) < len(children):
        for descriptor, _ in open_pipes.poll():
            head = _receive(descriptor, _HEAD.size)
            number, size = _HEAD.unpack(head) if head is not None else (0, 0)
            data = _receive(descriptor, size) if head is not None else None
            if data is None:
                open_pipes.unregister(descriptor)
                done.add(descriptor)
                continue
            value = pickle.loads(data)
            if number == _FAILED:
                raise value
            waiting.discard(number)
            yield from zip(items[cuts[number] : cuts[number + 1]], value, strict=True)
    if waiting:
        raise KidxError("a worker process was killed before it was done (out of memory?); try --jobs 1")


def _receive(descriptor: int, size: int) -> bytes | None:
    """Exactly `size` bytes, or None where the other side is gone."""
    data = bytearray()
    while len(data) < size:
        piece = os.read(descriptor, min(size - len(data), 1 << 20))
        if not piece:
            return None
        data += piece
    return bytes(data)
