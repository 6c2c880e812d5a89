"""One of the processes that hammer a store: started anew, so it shares nothing with the others."""

import datetime as dt
import os
import sys
import uuid

from contracts.store_cases import LEASE, OURS, intent, wrote
from penstock.core.errors import LeaseHeldError
from penstock.core.records import Holder
from penstock.state.lease import process_of
from penstock.state.open import open_store


class WallClock:
    """The time of this machine; ids that no other process gives."""

    def now(self):
        return dt.datetime.now(dt.UTC)

    def new_id(self):
        return str(uuid.uuid4())


def hammer(url, number, rounds):
    """Begin and finish steps on a target of its own, and fight for one with all the others."""
    holder = Holder(f"run-{number}", "host-a", os.getpid(), "ann")
    store = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
    for turn in range(rounds):
        for model in (f"own-{number}", "shared"):
            step = f"{model}/{number}/{turn}"
            try:
                store.journal.begin(intent(step, model, holder), {}, holder, None)
            except LeaseHeldError:
                continue
            store.journal.finish(step, wrote(turn))
    store.close()


def die_in_begin(url):
    """Take a target, then leave without a word."""
    holder = Holder("run-dead", "host-a", os.getpid(), "ann", process_of(os.getpid()))
    store = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
    store.journal.begin(intent("step-dead", holder=holder), {}, holder, None)
    sys.stdout.flush()
    os._exit(9)
