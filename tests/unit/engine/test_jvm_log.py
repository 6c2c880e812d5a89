"""What a JVM says of itself before it dies, found in a run's log."""

import pytest

from penstock.engine.jvm import Sign, signs_in, warnings_of

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
