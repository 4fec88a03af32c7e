"""A damaged state directory is reported, and never read as another state."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from headrace._runtime.spark import starting
from headrace._runtime.spark.session.session import parallelism
from headrace._runtime.spark.state_directory.log import current_view
from headrace.errors import StateError
from headrace.model.offset_reset import AutoOffsetReset
from tests.property.crashes.application import CORES
from tests.property.crashes.world import World, run_undisturbed
from tests.support.dose import examples
from tests.support.simulation.scheduler import CONTINUE


class Damage(NamedTuple):
    """A damaged file: what happened to it, and its content now; `None` if it is missing."""

    path: str
    how: str
    data: bytes | None


def damages(path, data, random):
    yield Damage(path, "is missing", None)
    yield Damage(path, "is empty", b"")
    yield Damage(path, "is cut short", data[: random.randrange(len(data))])
    yield Damage(path, "has zeros at its end", data[: -len(data) // 3] + bytes(len(data) // 3))
    for at in (0, len(data) - 1, *random.sample(range(len(data)), min(len(data), examples(20)))):
        flipped = data[at] ^ (1 << random.randrange(8))
        yield Damage(path, f"is altered at byte {at}", data[:at] + bytes([flipped]) + data[at + 1 :])


def start_on_damaged(world):
    """Starts the application; returns the error's message, or the state that was read."""
    world.backends.clear()
    world.process_memory.clear()
    world.replicas.clear()
    actor = SimpleNamespace(name=world.new_name("start"))
    reset = AutoOffsetReset.earliest()
    config = SimpleNamespace(application_id="model", state_dir=Path(actor.name), sync_state=True, offset_reset=reset)
    try:
        plan = starting.start(None, config, "", partial(parallelism, CORES, 1))
        view = current_view(plan)
        world.check_state(view)
    except StateError as error:
        return str(error)
    return view.state


@pytest.mark.usefixtures("in_memory")
def test_damage_raises_an_error_that_names_the_file_and_never_yields_another_state():
    random = Random(1)
    world = World(1, script=lambda *_: CONTINUE)
    world.retention_ms = 1000
    run_undisturbed(world, 70)
    world.checks_log = False
    disk, whole = world.simulation.disk, world.simulation.disk.contents()
    undamaged, newest = start_on_damaged(world), max(path for path in whole if path.startswith("log/"))
    reported = 0
    for path, data in whole.items():
        for damage in damages(path, data, random):
            disk.replace_contents({name: content for name, content in whole.items() if name != path})
            if damage.data is not None:
                disk.replace_contents({**whole, path: damage.data})
            result = start_on_damaged(world)
            if result == undamaged:
                continue  # the damaged bytes are not needed
            reported += 1
            assert isinstance(result, str), damage
            name = path.partition("/")[2]
            if (path, damage.how) == (newest, "is missing"):
                # Only the topics show that the newest entry is missing.
                assert "The state directory is older than the topics" in result
            else:
                assert name in result or f"entry {name.lstrip('0')} of the state log" in result, (damage, result)
    assert reported > len(whole)
