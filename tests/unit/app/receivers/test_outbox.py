"""A queue to another program: in order, in the background, and never in the way."""

import threading
import time

from penstock.app.receivers.outbox import Outbox

SOON = 20.0


def test_items_arrive_in_order_on_another_thread():
    sent = []
    outbox = Outbox("x", lambda: lambda item: sent.append((item, threading.current_thread().name)))

    for item in "abc":
        outbox.put(item)

    assert outbox.close(time.monotonic() + SOON) == ""
    assert sent == [(item, "penstock-x") for item in "abc"]


def test_nothing_to_send_starts_no_thread_and_connects_to_nothing():
    outbox = Outbox("x", lambda: 1 / 0)

    assert (outbox.is_used, outbox.close(time.monotonic() + SOON)) == (False, "")


def test_an_item_that_fails_does_not_stop_the_next_and_the_first_reason_is_the_warning():
    sent = []

    def send(item):
        if item in "bc":
            raise OSError(f"no {item} at x://u:hunter2@h\nand more")
        sent.append(item)

    outbox = Outbox("x", lambda: send)
    for item in "abcd":
        outbox.put(item)

    assert outbox.close(time.monotonic() + SOON) == (
        "x: 2 of 4 messages were not delivered: OSError: no b at x://***@h and more"
    )
    assert sent == ["a", "d"]


def test_a_receiver_that_hangs_is_given_up_at_the_time_and_gets_nothing_later():
    sent, free = [], threading.Event()

    def send(item):
        free.wait(SOON)
        sent.append(item)

    outbox = Outbox("x", lambda: send)
    outbox.put("a")
    outbox.put("b")
    begun = time.monotonic()

    warning = outbox.close(begun + 0.2)

    assert time.monotonic() - begun < SOON / 2
    assert warning == "x: 2 of 2 messages were not delivered: no answer in time"
    free.set()
    outbox._thread.join(SOON)
    assert sent == ["a"]
