"""One of the processes that hammer a store: started anew, so it shares nothing with the others."""

import datetime as dt
import os
import sys
import time
import uuid
from functools import partial

from contracts.store_cases import LEASE, OURS, intent, run, wrote
from penstock.app.services.workers import beating
from penstock.core.errors import LeaseHeldError
from penstock.core.records import Holder, Status
from penstock.state.lease import process_of
from penstock.state.open import open_store
from penstock.state.patience import Patience, PatientStore


class WallClock:
    """The time of this machine, or one that is ahead; ids that no other process gives."""

    def __init__(self, ahead=0.0):
        self._ahead = dt.timedelta(seconds=ahead)

    def now(self):
        return dt.datetime.now(dt.UTC) + self._ahead

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


def work_through_outages(url, number, models, ahead):
    """Do steps of own models and of a shared one as a run does, however often the line is cut."""
    holder = Holder(f"run-{number}", f"host-{number}", os.getpid(), "ann")
    lapse = (LEASE.length - LEASE.heartbeat).total_seconds()  # as for a run
    patience, clock = Patience(300.0, lapse), WallClock(ahead)
    open_one = partial(open_store, url, identity=OURS, clock=clock, lease=LEASE)
    store = PatientStore(patience.repeat(open_one), patience)
    store.journal.start_run(run(holder, clock.now()))
    with beating(store.leases, holder.run, 0.5):
        for model in range(models):
            for name in (f"own-{number}-{model}", "shared"):
                step = f"{name}/{number}/{model}"
                while True:
                    try:
                        store.journal.begin(intent(step, name, holder), {}, holder, None)
                        break
                    except LeaseHeldError:
                        time.sleep(0.05)
                time.sleep(0.02)  # its statement
                store.journal.finish(step, wrote(model))
    store.journal.end_run(holder.run, Status.SUCCESS)
    store.close()


def die_in_begin(url):
    """Take a target, then leave without a word."""
    holder = Holder("run-dead", "host-a", os.getpid(), "ann", process_of(os.getpid()))
    store = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
    store.journal.begin(intent("step-dead", holder=holder), {}, holder, None)
    sys.stdout.flush()
    os._exit(9)
