"""Two ways of doing one thing, in turn, as medians and a ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Seconds of ours and of the baseline, round by round."""

    ours: tuple[float, ...]
    baseline: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: a machine that drifts drifts for both."""
        return statistics.median(self.ratios)

    @property
    def ratios(self) -> tuple[float, ...]:
        """Each round's ratio."""
        return tuple(a / b for a, b in zip(self.ours, self.baseline, strict=True))


def side_by_side(
    ours: Callable[[], object],
    baseline: Callable[[], object],
    rounds: int,
    before: Callable[[], object] = lambda: None,
    warm: int = 1,
) -> Pair:
    """Run both `warm` times to warm up, then in turn; who goes first changes every round.

    `before` runs before each of them, outside of the time.
    """
    times: dict[str, list[float]] = {"ours": [], "baseline": []}
    for number in range(rounds + warm):
        order = [("ours", ours), ("baseline", baseline)]
        for name, work in order if number % 2 else reversed(order):
            before()
            started = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - started)
    return Pair(tuple(times["ours"][warm:]), tuple(times["baseline"][warm:]))


def tell(what: str, pair: Pair, aim: str) -> None:
    """Print one line: medians, ratio, aim."""
    ours, base = statistics.median(pair.ours), statistics.median(pair.baseline)
    low, high = min(pair.ratios), max(pair.ratios)
    ratio = f"ratio {pair.ratio:5.2f} ({low:.2f} to {high:.2f})"
    print(f"{what:<52} {ours:8.2f} s {base:8.2f} s  {ratio}  (aim {aim})", flush=True)


def spread(values: Iterable[float]) -> str:
    """Give the median of some seconds, with the lowest and the highest.

    >>> spread([3, 1, 2])
    '  2.00 s (1.00 to 3.00)'
    """
    found = sorted(values)
    return f"{statistics.median(found):6.2f} s ({found[0]:.2f} to {found[-1]:.2f})"


def median_of(work: Callable[[], object], rounds: int) -> float:
    """Run once to warm up and give the median seconds of the rounds."""
    return statistics.median(seconds_of(work, rounds))


def seconds_of(work: Callable[[], object], rounds: int) -> list[float]:
    """Run once to warm up and give the seconds of each round."""
    work()
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return times
