"""Classes of values are sent to workers that cannot import them; those that cannot be sent are refused."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest
from pyspark import cloudpickle

from headrace._runtime.spark.workers.modules import send_with_plan

SCRIPT = """
from __future__ import annotations
import pathlib, sys
from dataclasses import dataclass
from datetime import datetime
import msgspec, pydantic
from headrace import serdes
from headrace._runtime.spark.workers import pickling

@dataclass
class Line:
    item: str
    next: Line | None = None

@dataclass
class Order:
    lines: list[Line]
    at: datetime

class Page(pydantic.BaseModel):
    path: str
    at: datetime | None = None

class Sale(msgspec.Struct):
    cents: int

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "item", "type": "string"}, {"name": "next", "type": ["null", "Line"]}],
}
samples = {
    "order": (serdes.Json(Order), Order([Line("tea", Line("cup"))], datetime(2024, 1, 1))),
    "line": (serdes.Avro(LINE, Line), Line("tea")),
    "page": (serdes.Json(Page), Page(path="/")),
    "pages": (serdes.Json(list[Page]), [Page(path="/")]),
    "sale": (serdes.Json(Sale), Sale(3)),
}
try:
    serde, value = samples[sys.argv[1]]
    pathlib.Path(sys.argv[2]).write_bytes(pickling.dumps((serde, value, serde.serialize(value))))
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
WORKER = """
import pickle, sys
serde, value, data = pickle.load(open(sys.argv[1], "rb"))
print(serde.deserialize(data) == value, serde.serialize(value) == data)
"""

INCOMPLETE = """
import pickle, sys
serde, value, data = pickle.load(open(sys.argv[1], "rb"))
try:
    serde.deserialize(b"{}")
except Exception as error:
    print(error)
"""


def run(*arguments):
    return subprocess.run([sys.executable, "-c", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("value", ["order", "line", "page", "pages"])
def test_classes_of_a_script_are_pickled_with_their_serdes(value, tmp_path):
    sent = run(SCRIPT, value, str(tmp_path / "sent"))
    assert (sent.returncode, sent.stderr) == (0, "")
    assert run(WORKER, str(tmp_path / "sent")).stdout == "True True\n"


def test_a_required_field_of_a_pickled_dataclass_stays_required(tmp_path):
    run(SCRIPT, "order", str(tmp_path / "sent"))
    refused = "Json('Order') cannot deserialize 2 bytes starting b'{}': Object missing required field `lines`\n"
    assert run(INCOMPLETE, str(tmp_path / "sent")).stdout == refused


def test_a_struct_of_a_script_is_refused_with_a_solution(tmp_path):
    refused = run(SCRIPT, "sale", str(tmp_path / "sent"))
    assert refused.stderr == (
        "PicklingError: Sale is a msgspec.Struct of '__main__', which Spark's workers cannot import. Define it in a "
        "module that they can import, or make it a dataclass\n"
    )


def test_modules_beside_an_application_are_sent_unless_their_classes_must_be_imported(tmp_path, monkeypatch):
    (tmp_path / "beside_functions.py").write_text("def f(): pass\n")
    (tmp_path / "beside_structs.py").write_text("import msgspec\nclass S(msgspec.Struct): pass\n")
    (tmp_path / "beside_messages.py").write_text("class M:\n    DESCRIPTOR = 1\n")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = ["beside_functions", "beside_structs", "beside_messages"]
    modules = [importlib.import_module(name) for name in names]
    send_with_plan(tmp_path)
    sent = cloudpickle.list_registry_pickle_by_value()
    for module in modules:
        sys.modules.pop(module.__name__)
    cloudpickle.unregister_pickle_by_value(modules[0])
    assert [name in sent for name in names] == [True, False, False]
    assert os.environ["PYTHONPATH"] == f"{tmp_path}:/elsewhere"
