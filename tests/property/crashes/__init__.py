"""Crashes of a whole application, simulated: output appears once and state is never lost, whatever fails, and when.

An application that counts keys runs on a simulated disk, with the product's own state log, tasks, rounds of batches,
commits and starts; only Spark, the records of topics and LMDB are replaced. Several starts of it run at once. Between
any two steps that others can see, a process is killed, or stopped for long while others start, commit and sweep, or the
power fails and unsynced data is lost. A seed repeats a whole run.

`world.py` is the simulated world and checks what happens in it; `application.py` and `topics.py` run in it;
`events.py` decides what fails when; `conftest.py` puts the world in place of Spark, disk, clocks and topics.
"""

import pytest

for _module in ("application", "replacements", "world"):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")
