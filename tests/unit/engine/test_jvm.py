"""Which errors mean that Spark's JVM is gone, and what is said then; by real processes.

What a JVM says of itself before it dies, found in a run's log.
"""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.core.errors import PenstockError, SparkDiedError
from penstock.core.findings import Location
from penstock.engine import jvm, spark_errors
from penstock.engine.jvm import LogCopy, Sign, StartedJvm, end_behind, signs_in, warnings_of

CUT_OFF = [
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(104, "Connection reset by peer"),
    BrokenPipeError(32, "Broken pipe"),
    Py4JNetworkError("Answer from Java side is empty"),
    Py4JError("An error occurred while calling o42.sql"),
]


@pytest.fixture
def process():
    """A process that lives until it is killed, as a JVM does."""
    made = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield made
    made.kill()
    made.wait()
    made.stdin.close()


@pytest.fixture
def started(process, tmp_path, monkeypatch):
    found = StartedJvm()
    found.started(process, tmp_path / "run.log")
    monkeypatch.setattr(spark_errors, "JVM", found)
    return found


def killed(process):
    process.kill()
    process.wait()


@pytest.mark.parametrize("error", CUT_OFF, ids=repr)
def test_a_broken_connection_to_a_jvm_that_was_killed_is_one_sentence(
    started, process, tmp_path, error
):
    killed(process)

    told = spark_errors.explained(error, Location("models/a.sql", 3))

    assert isinstance(told, SparkDiedError)
    assert told.render() == (
        f"error: spark-died: Spark's JVM was killed (signal 9); its log is {tmp_path}/run.log\n"
        "  hint: systems kill what takes too much memory: lower driver_memory of the target's "
        "spark, or --threads, and run again"
    )


def test_what_the_jvm_said_last_is_told_with_what_helps(started, process, tmp_path):
    (tmp_path / "run.log").write_text("Out of space in CodeCache for adapters\n")
    process.stdin.close()
    process.wait()

    told = spark_errors.explained(CUT_OFF[0])

    assert told.sentence == (
        "Spark's JVM ended (exit code 1) after saying 'Out of space in CodeCache for adapters'; "
        f"its log is {tmp_path}/run.log"
    )
    assert "-XX:ReservedCodeCacheSize=512m" in told.hint


def test_whatever_is_raised_when_the_jvm_is_gone_is_its_end(started, process):
    killed(process)

    assert spark_errors.explained(ValueError("no such column")).code == "spark-died"


def test_a_jvm_that_cuts_its_connections_and_stays_is_ended_before_it_is_called_gone(
    started, process, monkeypatch
):
    monkeypatch.setattr(jvm, "_PATIENCE_SECONDS", 0.1)

    assert started.is_lost(Py4JNetworkError("Answer from Java side is empty"))
    assert process.poll() == -9


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        OSError(2, "No such file"),
        Py4JError("An error occurred while calling o1.foo. Trace:\npy4j.Py4JException: Method"),
        Py4JError("org.foo does not exist in the JVM"),
        PenstockError("row-outside-partition", "a row lies outside"),
    ],
    ids=repr,
)
def test_other_errors_of_a_jvm_that_lives_are_not_its_end(started, process, error):
    assert not started.is_lost(error)
    assert process.poll() is None


def test_the_end_of_a_jvm_that_somebody_else_started_is_seen_by_its_connection():
    theirs = StartedJvm()

    assert theirs.is_lost(ConnectionRefusedError(111, "Connection refused"))
    assert not theirs.is_lost(ValueError("x"))
    assert theirs.lost().sentence == "Spark's JVM does not answer"
    assert not theirs.has_ended()


def test_letting_go_of_what_was_in_a_jvm_that_is_gone_is_no_error(started, process):
    asked = []
    started.let_go(lambda: asked.append("living"))
    killed(process)

    started.let_go(lambda: asked.append("gone"))

    assert asked == ["living"]


def test_letting_go_hides_no_other_error(started):
    with pytest.raises(ValueError, match="a bug"):
        started.let_go(lambda: (_ for _ in ()).throw(ValueError("a bug")))


def test_py4j_prints_no_stack_of_a_call_that_met_a_dead_jvm():
    program = (
        "import logging; from penstock.engine.jvm import silence_py4j; silence_py4j()\n"
        "from py4j.java_gateway import JavaGateway\n"
        "import py4j.java_gateway as g\n"
        "class Dead(g.GatewayClient):\n"
        "    def _get_connection(self):\n"
        "        class C:\n"
        "            def send_command(self, command):\n"
        "                raise g.Py4JNetworkError('gone')\n"
        "            def close(self, reset=False): pass\n"
        "        return C()\n"
        "    def _should_retry(self, *args): return False\n"
        "print(Dead().send_command('x'))\n"
        "exec(compile('logger.error(1, exc_info=True)', g.__file__, 'exec'), vars(g))\n"
        "logging.getLogger().error('somebody else')\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert told.stderr == "ERROR:root:somebody else\n"


FULL = """\
2026-01-01 10:00:00.000 WARN Utils: nothing
OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.
OpenJDK 64-Bit Server VM warning: Try increasing the code cache size
CodeCache: size=49152Kb used=48126Kb max_used=48126Kb free=1025Kb
OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.
"""


def log_of(tmp_path, text):
    log = tmp_path / "run.log"
    log.write_text(text)
    return log


@pytest.mark.parametrize(
    ("text", "says", "word"),
    [
        (
            "Out of space in CodeCache for method handle intrinsic\n",
            "Out of space in CodeCache for method handle intrinsic",
            "ReservedCodeCacheSize",
        ),
        (
            "CodeHeap 'non-profiled nmethods' is full. Compiler has been disabled.\n",
            "CodeHeap 'non-profiled nmethods' is full. Compiler has been disabled",
            "ReservedCodeCacheSize",
        ),
        (
            "Caused by: java.lang.OutOfMemoryError: Java heap space\n\tat x.Y\n",
            "java.lang.OutOfMemoryError: Java heap space",
            "driver_memory",
        ),
        (
            "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n",
            "A fatal error has been detected by the Java Runtime Environment",
            "Java",
        ),
        (
            "# There is insufficient memory for the Java Runtime Environment to continue.\n",
            "There is insufficient memory for the Java Runtime Environment",
            "driver_memory",
        ),
    ],
)
def test_a_sign_is_told_in_the_words_of_the_jvm_with_what_helps(tmp_path, text, says, word):
    (sign,) = signs_in(log_of(tmp_path, text))

    assert (sign.says, sign.times) == (says, 1)
    assert word in sign.hint


def test_the_same_sign_is_told_once_with_how_often_it_was_said(tmp_path):
    log = log_of(tmp_path, FULL)

    (warning,) = warnings_of(log)

    assert warning == (
        "spark-in-trouble: Spark's log says 'CodeCache is full. Compiler has been disabled' "
        f"(2 times): {log}; give the target more room: conf: {{spark.driver.extraJavaOptions: "
        "-XX:ReservedCodeCacheSize=512m}"
    )


def test_a_log_without_signs_and_one_that_is_not_there_tell_nothing(tmp_path):
    assert signs_in(log_of(tmp_path, "WARN CodeCache: all is well\n")) == ()
    assert signs_in(tmp_path / "nowhere.log") == ()


def test_of_a_large_log_the_beginning_and_the_end_are_read_and_never_twice(tmp_path):
    line = "Out of space in CodeCache\n"
    middle = "x" * (1 << 20)

    small = log_of(tmp_path, line + middle)
    assert [sign.times for sign in signs_in(small)] == [1]
    large = log_of(tmp_path, line + middle * 2 + line + middle * 4 + line)
    assert [sign.times for sign in signs_in(large)] == [2]


def test_a_line_without_end_is_cut(tmp_path):
    (sign,) = signs_in(log_of(tmp_path, "java.lang.OutOfMemoryError: " + "y" * 5000))

    assert sign == Sign("java.lang.OutOfMemoryError: " + "y" * 132, 1, sign.hint)


def test_what_the_jvm_says_is_in_the_log_without_secrets(tmp_path, secret):
    log = tmp_path / "run.log"
    reading, writing = os.pipe()

    copying = LogCopy(reading, log)
    copying.start()
    os.write(writing, f"WARN at {secret}\nx://u:p4ss@h, pass".encode())
    os.write(writing, b"word=hunter2 \xff")
    os.close(writing)
    copying.join(10)

    assert log.read_text() == "WARN at ***\nx://***@h, password=*** \ufffd"


def test_pyspark_is_asked_about_values_of_numpy_alone_and_imports_no_pandas_for_others():
    program = (
        "import sys\n"
        "from py4j.protocol import INPUT_CONVERTER\n"
        "from penstock.engine.jvm import numpy_alone\n"
        "numpy_alone(); numpy_alone()\n"
        "asked = [each.can_convert(True) for each in INPUT_CONVERTER]\n"
        "print(any(asked), 'pandas' in sys.modules)\n"
        "import numpy\n"
        "for value in (numpy.float64(1.5), numpy.array([1])):\n"
        "    print([type(e).__name__ for e in INPUT_CONVERTER if e.can_convert(value)][0])\n"
        "print(next(e for e in INPUT_CONVERTER if e.can_convert(numpy.int8(7))).convert("
        "numpy.int8(7), None))\n"
    )

    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert told.stdout == "False False\n_NumpyAlone\n_NumpyAlone\n7\n"


def test_nobody_waits_for_a_server_that_ends_late():
    ending, ended = threading.Event(), threading.Event()
    server = SimpleNamespace(shutdown=lambda: ending.wait(10) and ended.set())
    end_behind(server)

    server.shutdown()

    assert not ended.is_set()
    ending.set()
    assert ended.wait(10)
