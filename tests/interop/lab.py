"""A real Kafka for tests: its jars from Maven Central, a broker on loopback, and Java programs that answer lines.

Needs java, javac and mvn. What is fetched and compiled stays in a cache directory: $KIDX_INTEROP_CACHE, or
~/.cache/kidx-interop.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("KIDX_INTEROP_CACHE", Path.home() / ".cache" / "kidx-interop"))
KAFKA = "4.3.1"
_JAVA = ("java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_JAVA_LEAST = 17
_START_SECONDS = 120
_FETCH_SECONDS = 180
_ASKED_AT_ONCE = 50  # their answers have to fit a pipe
STANDARD_SEARCH = "2.0.1"  # the last line before the warm section (KAFKA-6432)
# slf4j-simple, so that a broker says on standard error what it does; 3.x brings another logger, which wants files.
_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>lab</artifactId>
<version>1</version><dependencies>{dependencies}
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>"""
_DEPENDENCY = """
<dependency><groupId>org.apache.kafka</groupId><artifactId>{name}</artifactId><version>{version}</version>{without}</dependency>"""
_WITHOUT = """<exclusions><exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-reload4j</artifactId></exclusion>
<exclusion><groupId>org.slf4j</groupId><artifactId>slf4j-log4j12</artifactId></exclusion></exclusions>"""


class Unavailable(Exception):
    """Raised when a real system is unavailable here; its text is the reason."""


def why_not() -> str:
    """Why no real system can be asked here, or nothing: then the jars of Kafka are there."""
    missing = [tool for tool in ("java", "javac", "mvn") if not shutil.which(tool)]
    if missing:
        return f"needs {' and '.join(missing)}"
    said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < _JAVA_LEAST:
        return f"needs Java {_JAVA_LEAST} or later; there is {said.partition(chr(10))[0] or 'none that answers'}"
    try:
        class_path()
    except Unavailable as e:
        return str(e)
    return ""


def fetch(name: str, pom: str) -> Path:
    """The jars that a POM names, in the cache directory `name`. Raises Unavailable where Maven cannot fetch them."""
    home = CACHE / name
    jars = home / "jars"
    if jars.is_dir():
        return jars
    home.mkdir(parents=True, exist_ok=True)
    (home / "pom.xml").write_text(pom)
    fetching = home / f"fetching-{os.getpid()}"
    command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={fetching}"]
    try:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=_FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"Maven did not fetch {name} within {_FETCH_SECONDS} s") from None
    if done.returncode or not fetching.is_dir():
        errors = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")] or ["it does not say why"]
        raise Unavailable(f"Maven cannot fetch {name}: {errors[0]}")
    try:
        fetching.rename(jars)  # whole or not at all: an interrupted fetch leaves nothing that looks complete
    except OSError:
        shutil.rmtree(fetching)  # another process was first
    return jars


def compiled(jars: Path, *sources: Path) -> str:
    """A class path of jars, and of our own Java sources compiled against them."""
    if not sources:
        return f"{jars}/*"
    classes = jars.parent / "classes"
    classes.mkdir(exist_ok=True)
    for source in sources:
        made = classes / (source.stem + ".class")
        if not made.exists() or made.stat().st_mtime < source.stat().st_mtime:
            quiet = ("-nowarn", "-XDignore.symbol.file")
            subprocess.run(["javac", *quiet, "-cp", f"{jars}/*", "-d", classes, source], check=True)
    return f"{classes}:{jars}/*"


def class_path(version: str = KAFKA, *sources: Path) -> str:
    """Kafka's jars of a version, and our own Java sources compiled against them. Raises Unavailable."""
    names = ["kafka_2.12"] if version == STANDARD_SEARCH else ["kafka_2.13", "kafka-tools"]
    dependencies = "".join(_DEPENDENCY.format(name=name, version=version, without=_WITHOUT) for name in names)
    return compiled(fetch(f"kafka-{version}", _POM.format(dependencies=dependencies)), *sources)


class Program:
    """A Java program of ours that answers lines: `ask` sends fields between tabs and gives the answer's fields."""

    def __init__(
        self, source: Path, *args: str, version: str = KAFKA, jars: str = "", options: Sequence[str] = ()
    ) -> None:
        """`jars` is the class path, with the program's own class; without it, Kafka's of that version."""
        command = [*_JAVA, *options, "-cp", jars or class_path(version, source), source.stem, *args]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, *fields: object) -> list[str]:
        """The answer's fields. Raises RuntimeError where the program says error."""
        return self.ask_many([fields])[0]

    def ask_many(self, questions: Sequence[Sequence[object]]) -> list[list[str]]:
        """The answers in order; the program need not wait for us between them. Raises RuntimeError as `ask` does."""
        assert self._process.stdin and self._process.stdout
        answers = []
        for start in range(0, len(questions), _ASKED_AT_ONCE):
            block = questions[start : start + _ASKED_AT_ONCE]
            self._process.stdin.write("".join("\t".join(map(str, fields)) + "\n" for fields in block))
            self._process.stdin.flush()
            answers += [self._answer(fields[0]) for fields in block]
        return answers

    def _answer(self, asked: object) -> list[str]:
        assert self._process.stdout
        status, *answer = self._process.stdout.readline().rstrip("\n").split("\t")
        if status != "ok":
            raise RuntimeError(f"{asked}: {' '.join(answer) or 'the program ended'}")
        return answer

    def close(self) -> None:
        """End the program."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Broker:
    """A broker and controller in one (KRaft) with its log dir in `root/data`; started and stopped as often as wanted.

    Used in a `with`, it is killed at the end if it still runs. `properties` override those below.
    """

    def __init__(
        self, root: Path, version: str = KAFKA, controller_port: int | None = None, **properties: object
    ) -> None:
        self.root, self.version, self.data = root, version, root / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._client: Program | None = None
        self._starts = 0
        ports = free_ports(2)
        ports[1] = controller_port or ports[1]
        self.server = f"127.0.0.1:{ports[0]}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.voters": f"1@127.0.0.1:{ports[1]}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "listeners": f"PLAINTEXT://{self.server},CONTROLLER://127.0.0.1:{ports[1]}",
            "advertised.listeners": f"PLAINTEXT://{self.server}",
            "log.dirs": self.data,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 1,
            "log.retention.ms": -1,
            "auto.create.topics.enable": "false",
        } | {name.replace("_", "."): value for name, value in properties.items()}
        root.mkdir(parents=True, exist_ok=True)
        self._settings = root / "server.properties"
        self._settings.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def start(self) -> Program:
        """Start it and wait until it answers; the client to ask."""
        jars = class_path(self.version)
        if not (self.data / "meta.properties").exists():
            format_it = ["kafka.tools.StorageTool", "format", "-t", "a2lkeC1pbnRlcm9wLWxhYg", "-c", self._settings]
            subprocess.run([*_JAVA, "-cp", jars, *format_it], check=True, capture_output=True)
        self._starts += 1
        with self._log_file.open("wb") as log:
            command = [*_JAVA, "-Xmx600m", "-cp", jars, "kafka.Kafka", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self._client = Program(HERE / "KafkaClient.java", self.server, version=self.version)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                self._client.ask("ping")
            except RuntimeError:
                time.sleep(0.5)
            else:
                return self._client
        raise RuntimeError(f"the broker did not come up:\n{self.said()[-3000:]}")

    @property
    def _log_file(self) -> Path:
        return self.root / f"start-{self._starts}.log"

    def said(self) -> str:
        """What it has logged since its last start."""
        return self._log_file.read_text(errors="replace")

    def send_signal(self, which: signal.Signals) -> None:
        """Send it a signal, such as SIGSTOP."""
        assert self._process
        self._process.send_signal(which)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it: cleanly, or as `how` says."""
        if self._client:
            self._client.close()
            self._client = None
        if self._process:
            process, self._process = self._process, None
            process.send_signal(how)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise RuntimeError("the broker did not stop within a minute") from None

    def __enter__(self) -> Broker:
        return self

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> None:
        self.stop(signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nothing listens to."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def scratch_copy(source: Path, target: Path) -> Path:
    """A writable copy of a directory: several of Kafka's classes open what they read for writing."""
    shutil.copytree(source, target)
    for path in [target, *target.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o600 | (0o100 if path.is_dir() else 0))
    return target
