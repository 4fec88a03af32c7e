"""The mutations of `conformance` still match the source they change."""

from __future__ import annotations

import pytest

from conformance.mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_each_mutation_matches_its_source_exactly_once(mutation):
    assert (ROOT / "headrace" / mutation.file).read_text().count(mutation.right) == 1
