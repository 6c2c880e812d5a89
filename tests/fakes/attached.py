"""`penstock` on a JVM that somebody else started: a process that is cheap to start and to kill.

Run as a program; `PYSPARK_GATEWAY_PORT` and `PYSPARK_GATEWAY_SECRET` say where the JVM is. The
process is as real as any: what it holds in its hands dies with it, the JVM does not.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from penstock.ui.cli.main import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def address(spark: SparkSession) -> dict[str, str]:
    """Give what a process must find in its environment to attach to a session's JVM."""
    parameters = spark.sparkContext._gateway.gateway_parameters
    return {
        "PYSPARK_GATEWAY_PORT": str(parameters.port),
        "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
    }


def attach() -> None:
    """Make the Spark of that JVM the running one of this process, as in a notebook."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from penstock.engine.launch import _interrupt_anyway

    gateway = launch_gateway()
    java = gateway.jvm.org.apache.spark
    context = java.api.java.JavaSparkContext.fromSparkContext(java.SparkContext.getOrCreate())
    conf = SparkConf(_jvm=gateway.jvm, _jconf=context.getConf())
    SparkSession(SparkContext(gateway=gateway, jsc=context, conf=conf))
    _interrupt_anyway()  # Ctrl-C does what it does where penstock started the JVM


def drop_strangers(spark: SparkSession) -> None:
    """Let a JVM forget the objects that other processes held, which have ended.

    Nobody tells it of their end. Plans and sessions of a few hundred of them fill the memory, and
    then each collection of garbage takes seconds.
    """
    from py4j.finalizer import ThreadSafeFinalizer
    from py4j.java_gateway import JavaObject

    gateway = spark.sparkContext._gateway
    client = gateway._gateway_client
    begin = f"{client.address}{client.port}"
    java = gateway.jvm.java
    held = JavaObject("GATEWAY_SERVER", client).getGateway().getBindings().keySet()
    names = {each for each in java.lang.String.join(",", held).split(",") if each[1:].isdigit()}
    ours = {each.removeprefix(begin) for each in [*ThreadSafeFinalizer.finalizers]}
    if strangers := names - ours:
        names_of_strangers = java.util.StringTokenizer(",".join(strangers), ",")
        held.removeAll(java.util.HashSet(java.util.Collections.list(names_of_strangers)))


def run(root: str, words: tuple[str, ...], environ: dict[str, str], output: str) -> None:
    """Be `penstock WORDS` in a project's folder; what is printed goes to a file."""
    os.chdir(root)
    os.environ.clear()
    os.environ.update(environ)
    written = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(written, stream.fileno())
    sys.argv = ["penstock", *words]
    attach()
    sys.exit(main())


if __name__ == "__main__":
    attach()
    sys.exit(main())
