"""The filter in front of a repartition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace._core.operators.function_operator import FunctionOperator, Take, to_all


class NullKeyFilter(FunctionOperator):
    """Drops records without a key: they have no partition to go to."""

    def bound(self, children: Sequence[Take]) -> Take:
        forward = to_all(children)

        def take(key: Any, value: Any) -> None:
            if key is None:
                self.context.drop(self.name, "null key")
            else:
                forward(key, value)

        return take
