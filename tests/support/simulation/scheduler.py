"""Processes that take turns one step at a time, and are killed, stopped or struck by power losses between steps."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random

from tests.support.simulation.disk import SimulatedDisk

_REPORTED_STEPS = 60

# What may happen before a step of a process: nothing; the process is killed, alone or with the one that waits for it;
# the power fails; other processes get a turn. A number above SWITCH stops the process for that many steps.
CONTINUE, KILL, KILL_ALL, LOSE_POWER, SWITCH = range(5)
Event = int


class Killed(BaseException):
    """Raised inside a process that was killed: nothing that it does afterwards has any effect."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.name)
        self.process = process


class Process:
    """An operating system process: when it is killed, its memory and its unfinished work are lost together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dead = False


class Actor:
    """A process and those that it started and waits for: the last of `processes` is the one that acts."""

    def __init__(self, name: str) -> None:
        self.processes = [Process(name)]
        self.stopped_until = 0
        self.turn = threading.Semaphore(0)

    @property
    def name(self) -> str:
        return self.processes[-1].name

    def kill(self) -> None:
        self.stopped_until = 0
        for process in self.processes:
            process.dead = True

    def raise_if_killed(self) -> None:
        for process in self.processes:
            if process.dead:
                raise Killed(process)


class Simulation:
    """Actors that take turns, one step at a time. The random numbers decide whose turn it is.

    Args:
        random: the only source of randomness, so that a seed repeats the whole run.
        next_event: decides what happens to the current actor before its next step.
    """

    def __init__(self, random: Random, next_event: Callable[[Simulation, str, str], Event]) -> None:
        self.random = random
        self.actors: list[Actor] = []
        self.current: Actor | None = None
        self.disk = SimulatedDisk(self.step)
        self.steps = 0
        self.crashes = 0
        self.power_losses = 0
        self.failure: BaseException | None = None
        self.when_power_fails: Callable[[], None] = lambda: None
        self._next_event = next_event
        self._main = threading.Semaphore(0)
        self._last_steps: deque[tuple[int, str, str]] = deque(maxlen=_REPORTED_STEPS)

    def spawn(self, name: str, body: Callable[[Actor], None]) -> Actor:
        """Adds an actor; it acts when it gets a turn."""
        actor = Actor(name)
        self.actors.append(actor)
        threading.Thread(target=self._run_actor, args=(actor, body), daemon=True).start()
        return actor

    def run(self) -> None:
        """Runs until no actor is left; raises the first error of any of them."""
        while self.actors and self.failure is None:
            self.current = self._next()
            self.current.turn.release()
            self._main.acquire()
        for actor in list(self.actors):
            actor.kill()
            self.current = actor
            actor.turn.release()
            self._main.acquire()
        self.current = None
        if self.failure is not None:
            raise self.failure

    def step(self, what: str, where: str = "") -> None:
        """Marks the moment before something that other processes can see: here any event may happen.

        Does nothing within `without_steps`, when no actor is current.
        """
        actor = self.current
        if actor is None:
            return
        actor.raise_if_killed()
        self.steps += 1
        event = self._next_event(self, what, where)
        self._last_steps.append((event, actor.name, f"{what} {where}"))
        if event != CONTINUE:
            self._apply(actor, event)
            actor.raise_if_killed()

    @contextmanager
    def without_steps(self) -> Iterator[None]:
        """Lets the test look at files without taking steps."""
        actor, self.current = self.current, None
        try:
            yield
        finally:
            self.current = actor

    @contextmanager
    def process(self, name: str) -> Iterator[Process]:
        """Has the current actor start a process and wait for it; the new process may be killed alone."""
        actor = self.current
        assert actor is not None
        process = Process(name)
        actor.processes.append(process)
        try:
            yield process
        finally:
            process.dead = True
            actor.processes.remove(process)

    def pause(self, steps: int) -> None:
        """Lets other actors run for that many steps, or until all of them have ended or are stopped for longer."""
        actor = self.current
        assert actor is not None
        self._apply(actor, SWITCH + steps)
        actor.raise_if_killed()

    def describe_last_steps(self) -> str:
        """The steps before a failure, one per line."""
        names = {CONTINUE: "", KILL: "KILLED", KILL_ALL: "KILLED, all", LOSE_POWER: "POWER LOSS", SWITCH: "others run"}
        lines = [
            f"  {name}: {names.get(event, f'stopped for {event} steps')}{', before: ' if event else ''}{what}"
            for event, name, what in self._last_steps
        ]
        return "\n".join(lines)

    def _apply(self, actor: Actor, event: Event) -> None:
        if event == LOSE_POWER:
            self.crashes += 1
            self.power_losses += 1
            for other in self.actors:
                other.kill()
            self.disk.lose_power(self.random)
            try:
                self.when_power_fails()
            except BaseException as failure:
                self.failure = self.failure or failure  # the current actor was just killed and may not report it
                raise
        elif event == KILL:
            self.crashes += 1
            actor.processes[-1].dead = True
        elif event == KILL_ALL:
            self.crashes += 1
            actor.kill()
        else:
            actor.stopped_until = self.steps + (0 if event == SWITCH else event)
            other = self._next()
            if other is not actor:
                self.current = other
                other.turn.release()
                actor.turn.acquire()

    def _next(self) -> Actor:
        ready = [actor for actor in self.actors if actor.stopped_until <= self.steps]
        if ready:
            return self.random.choice(ready)
        return min(self.actors, key=lambda actor: actor.stopped_until)

    def _run_actor(self, actor: Actor, body: Callable[[Actor], None]) -> None:
        actor.turn.acquire()
        try:
            actor.raise_if_killed()
            body(actor)
        except Killed:
            pass
        except BaseException as failure:
            if self.failure is None:
                self.failure = failure
        self.actors.remove(actor)
        if self.failure is None and self.actors and self.current is actor:
            self.current = self._next()
            self.current.turn.release()
        else:
            self._main.release()
