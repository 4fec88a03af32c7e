"""merge, and the heads of branches."""

from __future__ import annotations

from collections.abc import Sequence

from headrace._core.operators.function_operator import FunctionOperator, Take, to_all


class PassThrough(FunctionOperator):
    """Forwards every record unchanged."""

    def bound(self, children: Sequence[Take]) -> Take:
        return to_all(children)
