"""An application to be submitted to a cluster: `spark-submit ... submitted.py BROKERS STATE_DIR [MAX_RECORDS]`."""

import sys

import headrace as hr
from headrace import serdes


def topology():
    builder = hr.StreamsBuilder()
    (
        builder.stream("lines", value_serde=serdes.String())
        .flat_map_values(str.split)
        .group_by(lambda _, word: word, value_serde=serdes.String())
        .count(store="words")
        .to_stream()
        .to("counts")
    )
    return builder.build()


def main(brokers, state_dir, max_records="1000000"):
    config = hr.StreamsConfig(
        application_id="words",
        bootstrap_servers=brokers,
        state_dir=state_dir,
        max_records_per_batch=int(max_records),
    )
    with hr.Streams(topology(), config) as app:
        app.process_available()
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
