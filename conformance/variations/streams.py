"""Streams without tables and windows."""

from __future__ import annotations

from conformance import inputs
from conformance.inputs import Lane, Shape
from conformance.variations.variation import Variation, all_together, one_input, several_inputs

_PLAIN = Shape()
_TWO = Shape((Lane("in"), Lane("other", values=inputs.capitals)))
_THREE = Shape((*_TWO.lanes, Lane("third", values=inputs.deletable)))
_WORDS = Shape.of(inputs.words)
_NUMBERS = Shape.of(inputs.numbers, null_value=0)
_KEYLESS = Shape(null_key=0.2, null_value=0.15)
_FEW = Shape.of(inputs.few_letters)
_DELETABLE = Shape.of(inputs.deletable)

_DELETABLE_TWO = Shape((Lane(values=inputs.deletable), Lane("other", values=inputs.capitals)))
_RESULT = ({"result_history": 15}, {"result_history": 1000})

_STATELESS = (
    "filter",
    "filter-not",
    "map",
    "map-values",
    "map-values-with-key",
    "flat-map",
    "flat-map-values-with-key",
    "select-key",
    "peek",
    "split-with-default",
    "split-without-default",
    "split-and-merge",
    "split-into-consumers",
    "split-into-functions",
    "two-sinks",
    "one-topic-twice",
    "repartition",
)
_BY_HEAD = (
    "reduce-by-head",
    "aggregate-by-head",
    "two-aggregates",
    "select-key-and-count",
    "count-after-repartition",
    "count-letters",
    "two-repartitions",
    "three-repartitions",
)

VARIATIONS: dict[str, list[Variation]] = {
    **dict.fromkeys(_STATELESS, one_input(_KEYLESS)),
    **dict.fromkeys(("flat-map-values", "through-topic"), one_input(_WORDS)),
    "chain": one_input(_WORDS.but(null_key=0.2)),
    **dict.fromkeys(("merge", "several-topics"), several_inputs(_TWO, count=6) + all_together(_TWO)),
    **dict.fromkeys(("count", "reduce", "aggregate", "sum-of-lengths"), one_input(_PLAIN, count=6, cached=True)),
    **dict.fromkeys(("reduce-delete", "aggregate-delete"), one_input(_DELETABLE, count=6, cached=True)),
    "count-in-given-store": one_input(_PLAIN, cached=True),
    **dict.fromkeys(
        ("count-versioned", "reduce-versioned", "reduce-versioned-and-aggregate"), one_input(_PLAIN, *_RESULT)
    ),
    "aggregate-versioned": one_input(_DELETABLE, *_RESULT, count=6),
    "cogroup-versioned": several_inputs(_DELETABLE_TWO, *_RESULT),
    "count-words": one_input(_WORDS, cached=True),
    "count-of-merged": several_inputs(_TWO, count=6, cached=True) + all_together(_TWO),
    "count-by-head": one_input(_FEW, cached=True),
    "aggregate-and-pass": one_input(_PLAIN),
    **dict.fromkeys(_BY_HEAD, one_input(_FEW)),
    **dict.fromkeys(
        ("dynamic-topics", "dynamic-topics-by-context", "partitioner-of-a-sink", "partitioner-of-a-dynamic-topic"),
        one_input(_KEYLESS, count=4),
    ),
    "dynamic-topics-that-are-read": one_input(_WORDS, count=4),
    "dynamic-topics-of-a-processor": one_input(_PLAIN, count=4),
    **dict.fromkeys(("dynamic-topics-of-counts", "partitioner-of-a-repartition"), one_input(_FEW, count=4)),
    "merge-order": [Variation(inputs.out_of_order_only)],
    **dict.fromkeys(("extractor-of-value", "extractor-falling-back", "extractor-and-count"), one_input(_NUMBERS)),
    "extractor-of-partition-time": one_input(_KEYLESS),
    "cogroup": several_inputs(_TWO, cached=True) + all_together(_TWO),
    "cogroup-by-head": several_inputs(_TWO, cached=True),
    "cogroup-by-two-heads": several_inputs(
        Shape((Lane("in", values=inputs.few_letters), Lane("other", values=inputs.few_letters))), cached=True
    ),
    "cogroup-three": several_inputs(_THREE, cached=True, count=6),
    "cogroup-and-aggregate": several_inputs(_THREE),
    **dict.fromkeys(
        ("cogroup-of-one-stream", "cogroup-of-texts"),
        one_input(Shape((Lane(keys=("p", "q", "r"), values=inputs.few_letters),), length=16)),
    ),
}
