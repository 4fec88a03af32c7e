"""Scripts that decide what happens before each step: by chance, once at a chosen step, or in a fixed sequence."""

from __future__ import annotations

from typing import NamedTuple

from tests.support.simulation.disk import ROOT
from tests.support.simulation.scheduler import CONTINUE, KILL, KILL_ALL, LOSE_POWER, SWITCH

FOREVER = 1 << 40
WAKE = SWITCH


class RandomEvents(NamedTuple):
    """The chance of each event at each step.

    `aims` multiplies the chances at the most dangerous moments: of a kill before the log's directory is synced, of a
    power loss just after output became visible.
    """

    kills: float = 0.006
    power_losses: float = 0.003
    switches: float = 0.05
    stops: float = 0.004
    starts: float = 0.001
    aims: float = 1.0

    def __call__(self, world, what, where):
        drawn, steps = world.random.random(), world.simulation.steps
        kills = self.kills * (self.aims if what == "sync" and where == f"{ROOT}/log" else 1)
        power_losses = self.power_losses * (self.aims if steps < world.published_at + 4 else 1)
        chances = (kills, KILL), (kills, KILL_ALL), (power_losses, LOSE_POWER), (self.switches, SWITCH)
        for chance, event in chances:
            if drawn < chance:
                return event
            drawn -= chance
        if drawn < self.stops:
            return SWITCH + world.random.randrange(*((300, 3000) if world.random.random() < 0.3 else (5, 100)))
        if drawn < self.stops + self.starts:
            world.spawn_start()
        return CONTINUE


RANDOM_EVENTS = (
    RandomEvents(),
    RandomEvents(kills=0.001, power_losses=0.0, stops=0.01),
    RandomEvents(kills=0.015, power_losses=0.0, switches=0.0, stops=0.0),
    RandomEvents(kills=0.002, power_losses=0.02, switches=0.01),
    RandomEvents(kills=0.01, power_losses=0.005, switches=0.3, starts=0.01, stops=0.02),
    RandomEvents(kills=0.004, power_losses=0.002, stops=0.001, aims=50.0),
)


class SingleEvent:
    """One event happens to the first start, at one step of its first batches.

    Other starts then run some batches without events; a start that was only stopped continues after them.
    """

    def __init__(self, step, event, batches):
        self.happened = False
        self._step = step
        self._event = event
        self._ends_with = batches

    def __call__(self, world, what, where):
        batch = world.history[world.newest].batch if world.newest else -1
        if batch >= self._ends_with or (batch >= 5 and not self.happened):
            world.stop_events()
        elif not self.happened and world.simulation.current.processes[0].name == "/start/1":
            self._step -= 1
            if self._step < 0:
                self.happened = True
                return self._event
        return CONTINUE


class Scenario:
    """A fixed sequence: each event happens at the first step whose text starts as given; then some batches run."""

    def __init__(self, *events):
        self.pending = list(events)

    def __call__(self, world, what, where):
        if not self.pending:
            if world.newest and world.history[world.newest].batch >= 5:
                world.stop_events()
            return CONTINUE
        awaited, event = self.pending[0]
        if not f"{what} {where}".startswith(awaited):
            return CONTINUE
        del self.pending[0]
        if event == WAKE:
            for actor in world.simulation.actors:
                actor.stopped_until = 0
        return event
