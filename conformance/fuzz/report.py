"""Shows a case as Python code, and two answers side by side."""

from __future__ import annotations

import json
from typing import Any

from conformance.fuzz.description import Case, Node, kinds
from conformance.fuzz.run import Answer


def as_code(case: Case) -> str:
    """The topology as lines of Python-like code, one per node."""
    lines = []
    for number, node in enumerate(case.nodes):
        call = _call(node, number, is_table=bool(node.inputs) and kinds(case.nodes)[node.inputs[0]].is_table)
        lines.append(call if node.op == "to" else f"n{number} = {call}")
    return "\n".join(lines)


def differing(case: Case, ours: Answer, theirs: Answer, other: str = "Kafka Streams") -> str:
    """The case, its input, and both outputs; topics on which both agree are left out."""
    shown = [as_code(case), "", "input:", *(f"    {_step(step)}" for step in case.steps)]
    if "refused" in ours or "refused" in theirs:
        return "\n".join([*shown, f"{other}: {_refusal(theirs)}", f"Headrace:      {_refusal(ours)}"])
    for part in ("outputs", "stores"):
        for name in sorted({*ours.get(part, {}), *theirs.get(part, {})}):
            here, there = ours.get(part, {}).get(name), theirs.get(part, {}).get(name)
            if here != there:
                shown += [f"{name}:", f"    {other}: {_records(there)}", f"    Headrace:      {_records(here)}"]
    for who, answer in ((other, theirs), ("Headrace", ours)):
        if "failed" in answer:
            shown.append(f"{who} fails at step {answer['failed']}: {answer['message'][:300]}")
    return "\n".join(shown)


def _call(node: Node, number: int, *, is_table: bool) -> str:
    names = [f"n{given}" for given in node.inputs]
    arguments = [*names[1:], *(_argument(name, value) for name, value in node.options.items() if name != "store")]
    if node.options.get("store"):
        arguments.append(f'store="s{number}"')
    if node.op == "to":
        topic = f"by_size(out{number}-0, out{number}-1)" if "fn" in node.options else f'"out{number}"'
        return f"{names[0]}{'.to_stream()' if is_table else ''}.to({topic})"
    return f"{names[0] if names else 'builder'}.{node.op}({', '.join(arguments)})"


def _argument(name: str, value: Any) -> str:
    if name in ("fn", "mapper", "joiner"):
        return str(value)
    if isinstance(value, dict):
        return f"{name}={value['type']}({', '.join(f'{n}={v}' for n, v in value.items() if n != 'type')})"
    return f"{name}={json.dumps(value)}"


def _step(step: list[Any]) -> str:
    if step[0] == "@advance":
        return f"advance_wall_clock({step[1]})"
    return f"{step[0]} {_record(step[1:])}"


def _record(record: list[Any]) -> str:
    key, value, timestamp_ms = record
    return f"({key}, {json.dumps(value)})@{timestamp_ms}"


def _records(records: list[Any] | None) -> str:
    return "-" if records is None else "  ".join(map(_record, records)) or "nothing"


def _refusal(answer: Answer) -> str:
    return str(answer.get("refused", "accepts it"))[:400]
