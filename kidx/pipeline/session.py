"""A Spark session for a scan, started within a time limit and ended with all its processes.

The output of Spark, its JVM and the Python workers goes to a log file.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kidx.errors import CannotRead, KidxError, MissingExtra
from kidx.execution import cpu_count
from kidx.pipeline.java import choose_java_home
from kidx.pipeline.masters import check_master, is_local, on_loopback
from kidx.surgery.output import refuse_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REGISTER_SECONDS = 22  # the limit for a master that accepts the connection; with Spark's start about 30 s
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
logger.client.name = org.apache.spark.deploy.client
logger.client.level = info
"""
# The driver's JVM lives for seconds. Without its optimising compiler a short scan takes 40% less CPU time. Set only if
# the user gives no options: a JVM refuses to start with two garbage collectors.
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_REGISTERING = "Connecting to master spark://"  # logged by StandaloneAppClient, once Spark itself has started


def need_spark() -> None:
    """Raises MissingExtra if the packages of kidx[spark] are not installed."""
    for package in ("pyspark", "pyarrow", "pandas"):
        try:
            __import__(package)
        except ImportError:
            raise MissingExtra(
                f"this command needs Spark, and the package {package} is missing; pip install 'kidx[spark]'"
            ) from None


_SCRATCH, _LOCK = "kidx-spark-", "kidx.lock"


@contextmanager
def spark_session(
    master: str = "local[*]", config: Mapping[str, str] | None = None, log_file: str | None = None
) -> Iterator[SparkSession]:
    """A session at `master` for a `with` block. `config` are Spark's own settings, which override kidx's.

    Spark's log goes to `log_file`, else to a temporary file that is kept only if the session fails. The JVM always ends
    with the block. Raises MissingExtra, Refused for a log among evidence, UsageError for a malformed master, CannotRead
    for one that does not answer.
    """
    need_spark()
    if log_file is not None:
        refuse_file(log_file)
    check_master(master)
    _silence_lost_connections()
    _remove_abandoned()
    scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH))
    lock = _lock(scratch / _LOCK, os.O_CREAT)
    log_path = Path(log_file) if log_file else scratch / "spark.log"
    gateway: Any = None
    keep = False
    try:
        with _environment(master, scratch):
            with _interrupts_wait():
                gateway = _launch(master, scratch, dict(config or {}), log_path)
            spark = _connect(gateway, master, log_path)
            yield spark
    except KidxError:
        raise
    except Exception:
        keep = log_file is None and log_path.exists()
        raise
    finally:
        _end(gateway)
        if keep:
            kept = Path(tempfile.gettempdir()) / f"kidx-spark-{os.getpid()}.log"
            shutil.copyfile(log_path, kept)
        shutil.rmtree(scratch, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(path: Path, flags: int = 0) -> int | None:
    """A descriptor that holds a scratch directory's lock as long as the process lives; None where it is held."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def _remove_abandoned() -> None:
    """Remove the scratch directories of this user's scans that were killed: nobody holds their lock any more."""
    for directory in Path(tempfile.gettempdir()).glob(_SCRATCH + "*"):
        try:
            mine = stat.S_ISDIR((status := directory.lstat()).st_mode) and status.st_uid == os.geteuid()
        except OSError:
            continue
        if mine and (lock := _lock(directory / _LOCK)) is not None:
            shutil.rmtree(directory, ignore_errors=True)
            os.close(lock)


def _launch(master: str, scratch: Path, config: dict[str, str], log_path: Path) -> Any:
    """Start the JVM in a session of its own, so that Ctrl-C reaches only kidx."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    log4j = scratch / "log4j2.properties"
    log4j.write_text(_LOG4J, encoding="utf-8")
    settings = _settings(master, scratch) | config
    options = settings.get("spark.driver.extraJavaOptions", _SHORT_LIVED)
    settings["spark.driver.extraJavaOptions"] = f"{options} -Dlog4j2.configurationFile={log4j.as_uri()}".strip()
    launch: Any = launch_gateway
    with log_path.open("ab") as log:
        try:
            return launch(
                SparkConf().setAll(list(settings.items())),
                {"stdout": log, "stderr": log, "start_new_session": True},
            )
        except Exception as e:
            raise CannotRead(f"Spark's JVM did not start: {last_words(log_path) or e}") from None


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block: an interrupted start would leave a JVM whose process id is unknown."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt


def _settings(master: str, scratch: Path) -> dict[str, str]:
    # Retry tasks of a worker that died once: by default Spark fails a local job at once.
    threads = re.fullmatch(r"local\[([^,\]]+)\]", master)
    settings = {
        "spark.master": f"local[{threads[1]},2]" if threads else master,
        "spark.app.name": "kidx",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Tasks spend their time in Python. Compiling a short scan's plans takes longer than the JVM's part of it.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }
    if is_local(master):
        count = threads[1] if threads else "1" if master == "local" else "*"
        cores = str(cpu_count()) if count.startswith("*") else count.partition(",")[0]
        settings |= {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": cores}
        settings["spark.local.dir"] = str(scratch)
        settings["spark.sql.warehouse.dir"] = str(scratch / "warehouse")
    if on_loopback(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return settings


def _connect(gateway: Any, master: str, log_path: Path) -> SparkSession:
    """The session on a running JVM. The JVM is killed if a master accepts the connection and does not answer."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    done, late = threading.Event(), threading.Event()

    def watch() -> None:
        while _REGISTERING not in _text(log_path):
            if done.wait(0.3):
                return
        if not done.wait(REGISTER_SECONDS):
            late.set()
            gateway.proc.kill()

    if master.startswith("spark://"):
        threading.Thread(target=watch, daemon=True).start()
    try:
        context = SparkContext(gateway=gateway, conf=SparkConf(_jvm=gateway.jvm))
        return SparkSession(context)
    except Exception as e:
        if late.is_set():
            raise CannotRead(
                f"--master {master}: it accepted the connection, but gave no Spark master's answer in "
                f"{REGISTER_SECONDS} s"
            ) from None
        from kidx.pipeline.frames import reason  # needs pyarrow, whose absence need_spark reports

        raise CannotRead(f"Spark did not start at {master}: {last_words(log_path) or reason(e)}") from None
    finally:
        done.set()


def last_words(log_path: Path) -> str:
    """The last line of Spark's log that names an error."""
    lines = _text(log_path).splitlines()
    errors = [line.strip() for line in lines if re.search(r"Error|Exception|ERROR", line) and "\tat " not in line]
    return errors[-1][:300] if errors else ""


def _text(log_path: Path) -> str:
    try:
        return log_path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _end(gateway: Any) -> None:
    """End the JVM, in whatever state it is, and with it the Python workers."""
    if gateway is None:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    stopper = threading.Thread(target=_stop, args=(context,), daemon=True)
    stopper.start()
    stopper.join(timeout=1.0)
    process = gateway.proc
    if process is not None:
        with suppress(OSError):
            process.stdin.close()  # the gateway exits at the end of its input
        try:
            process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    with suppress(Exception):
        gateway.shutdown()
    # PySpark keeps the JVM in class attributes and would reuse it for the next session of this process.
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def _stop(context: Any) -> None:
    with suppress(Exception):
        if context is not None:
            context.stop()


@contextmanager
def _environment(master: str, scratch: Path) -> Iterator[None]:
    """Set the environment variables that PySpark reads at start, and restore them at the end of the block."""
    wanted = {"JAVA_HOME": choose_java_home(scratch)}
    if "PYSPARK_PYTHON" not in os.environ:
        wanted["PYSPARK_PYTHON"] = sys.executable
    if on_loopback(master) and "SPARK_LOCAL_IP" not in os.environ:
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _silence_lost_connections() -> None:
    """Keep py4j and the accumulator server from printing a traceback for each connection that the JVM's end breaks.

    py4j logs them, and Python prints log messages if no logging is configured. This is not undone: threads notice the
    end of the JVM after the session has ended.
    """
    from pyspark.accumulators import AccumulatorTCPServer

    AccumulatorTCPServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    for logger in (logging.getLogger(), logging.getLogger("py4j")):
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
