"""Many machines on one server: a slow line, a line that is cut, clocks that differ."""

import json
import multiprocessing as mp
import signal
import time
from contextlib import closing
from dataclasses import replace
from functools import partial

import pytest

from contracts.postgres_server import USER, programs, replica_of, started
from contracts.store_cases import ELSEWHERE, HERE, LEASE, OURS, intent
from contracts.tcp_proxy import proxied
from fakes.builders import a_model, a_source
from fakes.workshop import Workshop
from penstock.app.commands.status import status
from penstock.app.planning.make_plan import make_plan
from penstock.app.request import RunRequest, StatusRequest
from penstock.app.services.wire import Stores
from penstock.core.errors import LeaseHeldError
from penstock.core.records import Status
from penstock.state.open import open_store
from unit.state.hammer import WallClock, work_through_outages


@pytest.fixture(scope="module")
def server():
    """Give a server that no other test uses: these stop it."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(folder) as server:
        yield server


NUMBERS = ("id", "model_id", "fingerprint_id", "step_seq", "last_step_seq")
ONCE = ("project", "runs")


def recorded(models):
    """Give a workshop with so many built models, and its state as the document of a project.

    One model is run, and what it left in the state and in the lake is repeated for the others.
    """
    source, first = a_source("events"), a_model("mzero", "raw.events")
    one = Workshop(source, first)
    one.run()
    document = json.loads(one.store.archive.export())
    document |= {"project": "shop", "target": "dev"}
    document["tables"]["project"][0] |= {"name": "shop", "target": "dev"}
    step, table = document["tables"]["steps"][0]["id"], one.lake.tables[one.uri("mzero")]

    def copy(row, number):
        text = json.dumps(row).replace(step, f"{step}-{number}").replace("mzero", f"m{number}")
        made = json.loads(text)
        return made | {k: made[k] + number for k in NUMBERS if isinstance(made.get(k), int)}

    for name, rows in document["tables"].items():
        if name not in ONCE:
            changed = [copy(row, number) for number in range(models) for row in rows]
            if name == "execution_history":
                changed = [row | {"id": f"{row['id']}-{n}"} for n, row in enumerate(changed)]
            document["tables"][name] = list({json.dumps(row): row for row in changed}.values())
    workshop = Workshop(source, *(a_model(f"m{n}", "raw.events") for n in range(models)))
    workshop.clock.advance(seconds=60)
    for number in range(models):
        commits = [replace(each, step=each.step and f"{step}-{number}") for each in table.commits]
        workshop.lake.tables[workshop.uri(f"m{number}")] = replace(table, commits=commits)
    return workshop, json.dumps(document)


@pytest.mark.parametrize(
    ("models", "seconds"), [(40, 0.0), pytest.param(5_000, 0.02, marks=pytest.mark.matrix)]
)
def test_reading_commands_take_few_round_trips_on_one_connection(server, models, seconds):
    workshop, document = recorded(models)
    database = server.new()
    opened = open_store(server.url(database), identity=OURS, clock=WallClock(), lease=LEASE)
    with closing(opened) as store:
        store.archive.load(document)
    cost = {}

    for name, command in (
        ("status", lambda services: status(services, StatusRequest()).models),
        ("plan", lambda services: make_plan(services, RunRequest()).plan.steps),
    ):
        with proxied(server.socket, seconds) as proxy:
            target = replace(workshop.project.target, state=proxy.url(database, USER))
            project = replace(workshop.project, target=target)
            stores = Stores(project, workshop.clock, {})
            services = replace(
                workshop.services(),
                project=project,
                open_reading=stores.open_reading,
                open_writing=stores.open_writing,
                has_state=stores.exists,
            )
            found = command(services)
            services.close()
            cost[name] = (len(found), proxy.connections, proxy.round_trips <= 60)
            if name == "status":
                assert not any(each.states for each in found)

    assert cost == {"status": (models, 1, True), "plan": (0, 1, True)}


@pytest.fixture
def primary():
    """Give a server whose place another one may take."""
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL here: scripts/ensure-postgres --install finds or installs it")
    with started(folder) as server:
        yield server


@pytest.mark.parametrize(
    ("processes", "models", "away"),
    [
        (4, 5, 0.6),
        pytest.param(50, 20, 60.0, marks=[pytest.mark.matrix, pytest.mark.timeout(1800)]),
    ],
)
def test_processes_lose_nothing_while_the_line_is_cut_and_the_server_restarts_and_is_replaced(
    primary, processes, models, away
):
    database = primary.new()
    store = open_store(primary.url(database), identity=OURS, clock=WallClock(), lease=LEASE)
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["unit.state.hammer"])
    with proxied(primary.socket) as proxy, replica_of(primary) as replica:
        url = proxy.url(database, USER)
        skews = [(-300.0, 0.0, 300.0)[number % 3] for number in range(processes)]
        all_of = [
            context.Process(target=work_through_outages, args=(url, number, models, skew))
            for number, skew in enumerate(skews)
        ]
        for each in all_of:
            each.start()
        until = time.monotonic() + 60
        while len(store.records.models()) < processes and time.monotonic() < until:
            time.sleep(0.05)
        store.close()
        proxy.cut()
        time.sleep(away)
        proxy.mend()
        for how in (signal.SIGQUIT, signal.SIGINT):
            time.sleep(min(away / 2, 4))
            primary.stop(how)
            time.sleep(min(away, 8))
            primary.start()
        time.sleep(min(away / 2, 4))
        primary.stop(signal.SIGQUIT)
        proxy.cut()
        replica.promote()
        proxy.mend(replica.socket)
        for each in all_of:
            each.join(900)

        url = replica.url(database)
        fresh = open_store(url, identity=OURS, clock=WallClock(), lease=LEASE)
        own = [f"own-{number}-{model}" for number in range(processes) for model in range(models)]
        done = {name: [each.status for each in fresh.records.history(name, None)] for name in own}
        shared = [each.status for each in fresh.records.history("shared", None)]
        left = (fresh.journal.running(), fresh.leases.taken())
        fresh.close()
    assert [each.exitcode for each in all_of] == [0] * processes
    assert done == {name: [Status.SUCCESS] for name in own}
    assert shared == [Status.SUCCESS] * processes * models
    assert left == ((), ())


@pytest.mark.parametrize("ahead", [-600.0, 600.0])
def test_no_lease_is_taken_from_a_machine_whose_clock_is_wrong(server, ahead):
    open_one = partial(
        open_store, server.url(server.new()), identity=OURS, lease=LEASE, is_gone=lambda _: False
    )
    wrong, right = open_one(clock=WallClock(ahead)), open_one(clock=WallClock())
    wrong.journal.begin(intent("step-1", "held"), {}, HERE, None)

    with pytest.raises(LeaseHeldError):
        right.journal.begin(intent("step-2", "held", ELSEWHERE), {}, ELSEWHERE, None)
    right.journal.begin(intent("step-3", "other", ELSEWHERE), {}, ELSEWHERE, None)
    with pytest.raises(LeaseHeldError):
        wrong.journal.begin(intent("step-4", "other"), {}, HERE, None)
    skew = wrong.leases.clock_skew().total_seconds()
    seen = [wrong.leases.taken()[0], right.leases.taken()[0]]
    apart = (seen[0].expires - seen[1].expires).total_seconds()
    wrong.close()
    right.close()

    assert abs(skew + ahead) < 5
    assert abs(apart - ahead) < 5
