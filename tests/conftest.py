"""What every test has: a clock that stands still, lanes by folder, and a guard against hidden JVMs.

The session of Spark is in tests/fakes/spark_session.py.
"""

import os
import random
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

import penstock.strategies.registry  # noqa: F401  strategies are found by their words
from fakes.clock import FixedClock
from penstock.core.masking import SECRETS

pytest_plugins = ["fakes.spark_session", "fakes.drift_fixtures", "fakes.object_store"]

HERE = Path(__file__).parent
LANES = ("spark", "faults", "laws", "cli", "lakes")

# The gate takes a sample, the same in every run; `make test-laws` searches, EXAMPLES a law.
settings.register_profile(
    "penstock", deadline=None, derandomize=True, print_blob=True, max_examples=15
)
settings.register_profile(
    "search",
    parent=settings.get_profile("penstock"),
    derandomize=False,
    max_examples=int(os.environ.get("EXAMPLES", "300")),
)
settings.load_profile("penstock")

os.environ["CI"] = "true"  # no JVM waits for a next command but where a test asks for it

# A shell ignores Ctrl-C for what it starts in the background, and so would all that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock():
    return FixedClock()


@pytest.fixture
def short_folder():
    """Give a folder for sockets, whose names may not be long; that of a test often is."""
    with TemporaryDirectory(prefix="ps-", dir="/tmp") as made:
        yield Path(made)


@pytest.fixture
def secret():
    """Give a value that is shown nowhere."""
    SECRETS.add(["open-sesame"])
    return "open-sesame"


def pytest_runtest_teardown():
    """Forget the secrets of a test: what is hidden in one must be seen in the next."""
    SECRETS.__init__()


def pytest_addoption(parser):
    """Offer another order of tests: none may depend on those that ran before it."""
    parser.addoption("--shuffle", metavar="SEED", help="run tests in the random order of a seed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark each test with the lanes that its folders name: tests/laws/spark/ is laws and spark.

    Files that take longest come first, so that the processes of the gate end together.
    """
    for item in items:
        if HERE in item.path.parents:
            for lane in set(item.path.relative_to(HERE).parts[:-1]) & set(LANES):
                item.add_marker(lane)
    items.sort(key=_haste)
    seed = config.getoption("shuffle")
    if seed is not None:
        items[:] = _shuffled(items, random.Random(seed))  # noqa: S311  # an order, no secret


def _shuffled(items, chance):
    """Mix the tests; those on Spark stay with their file, because files share tables."""
    places = {}
    for item in items:
        alone = item.get_closest_marker("spark") is None
        places.setdefault(item.nodeid if alone else item.path, []).append(item)
    groups = list(places.values())
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    return [item for group in groups for item in group]


def _haste(item):
    """Give 0 for laws on Spark and killed processes, 1 for others on Spark, 2 without a JVM."""
    lanes = {mark.name for mark in item.iter_markers()}
    if "faults" in lanes or {"laws", "spark"} <= lanes:
        return 0
    return 1 if "spark" in lanes else 2


@pytest.fixture(autouse=True)
def _no_hidden_jvm(request):
    """Fail a test that starts Spark in this process without being marked `spark`."""
    before = _gateway()
    yield
    if before is None and _gateway() is not None and not request.node.get_closest_marker("spark"):
        pytest.fail("this test started a JVM: mark it spark, or move it below tests/spark")


def _gateway():
    module = sys.modules.get("pyspark.core.context") or sys.modules.get("pyspark.context")
    return module and module.SparkContext._gateway
