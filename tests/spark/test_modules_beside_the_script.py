"""`python app.py` finds the modules beside the script on the workers too, wherever it is started."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODULE = """
import msgspec

class Sale(msgspec.Struct):
    cents: int

def doubled(sale):
    return Sale(sale.cents * 2)
"""
SCRIPT = """
import sys
import headrace as hr
from headrace import serdes
from shop.sales import Sale, doubled

topics = hr.LocalTopics(sys.argv[1] + "/topics")
topics.create("in", partitions=1)
topics.produce("in", [hr.Record("a", Sale(5), 1)])
builder = hr.StreamsBuilder()
builder.stream("in", value_serde=serdes.Json(Sale)).map_values(doubled).to("out")
config = hr.StreamsConfig(application_id="shop", topics_dir=sys.argv[1] + "/topics", state_dir=sys.argv[1] + "/state")
with hr.Streams(builder.build(), config) as app:
    app.process_available()
print([(record.key, record.value) for record in topics.read("out")])
"""


@pytest.mark.spark
def test_a_module_beside_the_script_is_found_from_another_directory(tmp_path):
    program, elsewhere = tmp_path / "program", tmp_path / "elsewhere"
    for directory in (program / "shop", elsewhere):
        directory.mkdir(parents=True)
    (program / "shop" / "__init__.py").touch()
    (program / "shop" / "sales.py").write_text(MODULE)
    (program / "app.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, program / "app.py", tmp_path], cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.returncode) == ("[('a', {'cents': 10})]\n", 0), ended.stderr[-2000:]
