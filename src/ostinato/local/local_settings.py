"""`ansi=` and `timezone=` of calls in this process -> the settings that a Spark session would have."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.options import a_text, shown, true_or_false
from ostinato.errors import QueryError
from ostinato.expressions import types as t


def local_settings(ansi: bool, timezone: str) -> t.Settings:
    """Raises INVALID_OPTION for a value that isn't one."""
    true_or_false("ansi", ansi)
    hint = "the name of a zone or an offset: 'UTC', 'Europe/Berlin', '+02:00'"
    settings = t.Settings(ansi=ansi, timezone=a_text("timezone", timezone, hint=hint))
    try:
        pc.local_timestamp(pa.scalar(0, settings.timestamp))
    except pa.ArrowException as error:
        raise QueryError("INVALID_OPTION", f"timezone can't be {shown(timezone)}", hint=hint) from error
    return settings


def refuse_settings(ansi: object, timezone: object) -> None:
    """Raises INVALID_OPTION for settings of a call that only describes a Spark job: the session has them."""
    if (ansi, timezone) != (True, "UTC"):
        raise QueryError(
            "INVALID_OPTION",
            "ansi= and timezone= are for calls that run in this process",
            hint='on Spark the session has them: spark.conf.set("spark.sql.session.timeZone", ...)',
        )
