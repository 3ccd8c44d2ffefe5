"""Similarity by sentence embeddings: relations with the same meaning count, even if they share no word.

The model comes inside a wheel (extra: embeddings); nothing is downloaded when it is used.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import EnvironmentFault
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.similarity import named_relations, tokens

Embed = Callable[[str], NDArray[np.float32]]


class EmbeddingSimilarity:
    """The cosine between the embeddings of a path's words and a query's, never below 0.

    A query without named relations has similarity 1 to every path.
    """

    def __init__(self, embed: Embed | None = None) -> None:
        """`embed`: sentence -> vector; None: the model of the extra."""
        self._embed = functools.lru_cache(maxsize=65_536)(embed or _shipped_model())

    def __call__(self, relations: Sequence[str], query: PathQuery) -> float:
        """How similar the relations of a path are to those of a query, from 0 to 1."""
        wanted = named_relations(query)
        if not wanted:
            return 1.0
        if not relations:
            return 0.0
        one, other = self._embed(_sentence(relations)), self._embed(_sentence(wanted))
        size = float(np.linalg.norm(one) * np.linalg.norm(other))
        return round(max(0.0, min(1.0, float(one @ other) / size)), 6) if size else 0.0  # single precision


def _sentence(relations: Sequence[str]) -> str:
    """The relations as words, with `inverse` before those walked backwards.

    >>> _sentence(["written_by", "^film.directed_by"])
    'written by, inverse film directed by'
    """
    phrases = []
    for relation in relations:
        words = " ".join(token.removeprefix("^") for token in tokens(relation))
        phrases.append(f"inverse {words}" if relation.startswith("^") else words)
    return ", ".join(phrases)


def _shipped_model() -> Embed:
    try:
        import wordllama
    except ImportError:
        raise EnvironmentFault(
            "EXTRA_MISSING", "embeddings need a model", hint="pip install 'ostinato[embeddings]'"
        ) from None
    folder = Path(wordllama.__file__).parent
    # WordLlama doesn't look into the wheel's folder of tokenizers, unless it is given as its cache.
    model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda sentence: np.asarray(model.embed([sentence])[0], np.float32)
