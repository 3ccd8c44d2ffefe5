"""Sigma rules -> translated rules: one for each correlation, and for each other rule that raises alerts itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import EnvironmentFault
from ostinato.sigma_rules.translated_rule import TranslatedRule

if TYPE_CHECKING:
    from sigma.processing.pipeline import ProcessingPipeline

Source = str | Path


@only_our_errors()
def read_sigma(
    sources: Source | Iterable[Source],
    *,
    time: str | Iterable[str] = "timestamp",
    logsource: Mapping[str, str] | None = None,
    pipeline: ProcessingPipeline | None = None,
) -> tuple[TranslatedRule, ...]:
    """Translates Sigma rules: a folder, a file, a text of YAML documents, or several of these.

    `time` are the columns that order events. `logsource` names the columns that hold an event's category, product and
    service; without it, rules don't test the log source. `pipeline` is a pipeline of pySigma that renames fields.

    The result has every correlation, and every other rule that no correlation uses. A rule that can't be translated
    has `problems` and no query.

    >>> from ostinato.sigma_rules import read_sigma
    >>> (rule,) = read_sigma(
    ...     '''
    ... title: Failed login
    ... name: failed_login
    ... logsource: {category: authentication}
    ... detection: {failure: {action: login, result: failure}, condition: failure}
    ... ---
    ... title: Many failed logins
    ... name: many_failed_logins
    ... level: high
    ... correlation:
    ...   type: event_count
    ...   rules: [failed_login]
    ...   group-by: [user]
    ...   timespan: 5m
    ...   condition: {gte: 3}
    ... ''',
    ...     time="ts",
    ... )
    >>> rule.id, rule.severity, rule.keys
    ('many_failed_logins', 'high', ('user',))

    `query` is a clause for `ost.rules`, and with keys and time for `ost.match`:

    >>> import ostinato as ost
    >>> import pyarrow as pa
    >>> from datetime import datetime
    >>> logins = pa.table(
    ...     {
    ...         "ts": [datetime(2025, 1, 1, 12, minute) for minute in (0, 1, 2, 30)],
    ...         "user": ["ann"] * 4,
    ...         "action": ["LOGIN"] * 4,
    ...         "result": ["failure"] * 4,
    ...     }
    ... )
    >>> ost.match(ost.match_recognize(rule.query, keys=rule.keys, time=rule.time), logins).to_pylist()
    [{'user': 'ann', 'began': datetime.datetime(2025, 1, 1, 12, 0),
      'ended': datetime.datetime(2025, 1, 1, 12, 2), 'events': 3}]
    """
    if find_spec("sigma") is None or find_spec("yaml") is None:
        raise EnvironmentFault("EXTRA_MISSING", "Sigma rules need pySigma", hint="pip install 'ostinato[sigma]'")
    from ostinato.sigma_rules.sigma_documents import collection_of, read_documents
    from ostinato.sigma_rules.translation import Translation, checked_logsource, checked_time

    options = checked_time(time), checked_logsource(logsource or {})
    documents = read_documents(sources)
    translation = Translation(collection_of(documents), *options, pipeline)
    return translation.of(documents)
