"""The rules for expressions where there is no Spark session: what `ansi=` and `timezone=` say, checked."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.options import a_text, shown, true_or_false
from ostinato.errors import QueryError
from ostinato.expressions import types as t


def local_settings(ansi: bool, timezone: str) -> t.Settings:
    """The session's rules, where there is no session: what `ansi=` and `timezone=` say, checked."""
    true_or_false("ansi", ansi)
    hint = "the name of a zone or an offset: 'UTC', 'Europe/Berlin', '+02:00'"
    settings = t.Settings(ansi=ansi, timezone=a_text("timezone", timezone, hint=hint))
    try:
        pc.local_timestamp(pa.scalar(0, settings.timestamp))
    except pa.ArrowException as error:
        raise QueryError("INVALID_OPTION", f"timezone can't be {shown(timezone)}", hint=hint) from error
    return settings


def refuse_settings(ansi: object, timezone: object) -> None:
    """Raises INVALID_OPTION for rules that a Spark session has, where a call only describes a Spark job."""
    if (ansi, timezone) != (True, "UTC"):
        raise QueryError(
            "INVALID_OPTION",
            "ansi= and timezone= are for calls that run in this process",
            hint='on Spark the session has them: spark.conf.set("spark.sql.session.timeZone", ...)',
        )
