"""Where we differ from Kafka Streams on purpose: what we write instead, derived from what it wrote by the rule alone.

`conformance/deviations.md` tells why.
"""

from __future__ import annotations


def expected(golden):
    """The outputs a replay must show."""
    rule = _RULES.get(golden.id)
    return golden.outputs if rule is None else rule(golden)


def _group_zero_never_was(golden):
    """Kafka Streams takes the first count of a key from the group of those counted 0 times."""
    return {topic: [record for record in records if record[0] != "n0"] for topic, records in golden.outputs.items()}


def _first_count_replaces_nothing(golden):
    """Kafka Streams takes the first count of a key, 1, for a change from 0: an even one, which it then deletes."""
    first = {}
    for number, step in enumerate(golden.steps):
        if step[1] is not None and step[2] is not None:
            first.setdefault(step[1], number)
    return {
        topic: [
            record for record, cause in zip(records, golden.causes[topic], strict=True) if cause not in first.values()
        ]
        for topic, records in golden.outputs.items()
    }


_RULES = {"count-of-counts": _group_zero_never_was, "filtered-count": _first_count_replaces_nothing}
