"""What is killed or stopped in a bucket ends as undisturbed, for every kind of model."""

import time

import pytest

from fakes.bucket_place import COMMANDS, FIRST_TIME, UNDISTURBED, WHOLE, BucketPlace
from fakes.command import Command, kill_at

pytestmark = [pytest.mark.spark, pytest.mark.matrix]

LEASE_SECONDS = 4.5


@pytest.fixture
def place(tmp_path, spark, bucket, object_server):
    """Give a project after its first run, with a second delivery waiting."""
    made = BucketPlace(tmp_path / "shop", spark, str(bucket), object_server)
    made.deliver_first()
    for words in WHOLE:
        done(made, *(FIRST_TIME.get(word, word) for word in words))
    made.deliver_second()
    return made


def done(place, *words):
    code, output = Command(place.root, *words, spark=place.spark).ended()
    assert code == 0, output
    return output


def settled(place):
    """Run all a second time, and hold what is left against an undisturbed run."""
    for words in WHOLE:
        done(place, *words)
    services = place.services()
    left = services.writing.leases.taken(), services.writing.journal.running()
    services.close()
    assert left == ((), ())
    assert place.left() == UNDISTURBED


@pytest.mark.parametrize("point", ["before-commit", "after-commit", "during-finish"])
def test_a_step_of_each_kind_that_was_killed_ends_as_undisturbed(place, point):
    for words in WHOLE:
        kill_at(f"{point}:1", place.root, *words, spark=place.spark)

    settled(place)

    for words in WHOLE:
        if words[0] == "run":  # `plan` is for these
            assert "nothing to do" in done(place, "plan", *words[1:])


@pytest.mark.parametrize("model", ["log", "best", "people"])
def test_a_writer_that_wakes_after_its_step_was_given_up_adds_nothing(place, model):
    words = COMMANDS[model]
    writer = Command(place.root, *words, spark=place.spark, fault="stop:at-statement:1")
    writer.wait_until_stopped()
    time.sleep(LEASE_SECONDS)
    done(place, *words)

    code, output = writer.ended()

    assert code == 1
    assert "lease-lost" in output
    assert "Traceback" not in output
    settled(place)
