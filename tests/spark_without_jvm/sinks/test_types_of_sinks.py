"""Types that no sink can write are refused when the write begins."""

from __future__ import annotations

import pytest
from pyspark.sql import types as s

from ostinato.errors import unwrap
from ostinato.spark.sinks.data_sources import JsonLinesSink, WebhookSink


@pytest.mark.parametrize("sink", [JsonLinesSink({"path": "/x"}), WebhookSink({"url": "http://h"})])
def test_a_column_of_type_time_is_refused(sink: JsonLinesSink | WebhookSink) -> None:
    at = s.StructField("at", s.ArrayType(s.TimeType(6)))
    for writer in (sink.writer, sink.streamWriter):
        with pytest.raises(RuntimeError) as caught:
            writer(s.StructType([s.StructField("match_id", s.StringType()), at]), False)
        assert str(unwrap(caught.value)).startswith("UNSUPPORTED_TYPE: 'at' is ARRAY<TIME(6)>, which")
