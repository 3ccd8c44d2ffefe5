"""Literal as written -> Python value, for the common forms. Other forms raise NotImplementedError."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from decimal import Decimal

from ostinato.expressions.syntax import Literal

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_UNITS = ("week", "day", "hour", "minute", "second", "millisecond", "microsecond")


def literal_value(literal: Literal) -> object:
    """The Python value of the literal.

    >>> literal_value(Literal("number", "1.50")), literal_value(Literal("string", "'it''s'"))
    (Decimal('1.50'), "it's")
    """
    match literal.kind:
        case "number":
            return _number(literal.text)
        case "string":
            return _string(literal.text)
        case "boolean":
            return literal.text.strip().lower() == "true"
        case "null":
            return None
        case "date":
            return date.fromisoformat(_inside_quotes(literal.text))
        case "timestamp" | "timestamp_ntz" | "timestamp_ltz":
            return datetime.fromisoformat(_inside_quotes(literal.text))
        case "unit":
            return literal.text
        case "interval":
            return _interval(literal.text)
        case _:
            raise NotImplementedError(f"literal {literal.text}")


def _number(text: str) -> object:
    number = re.fullmatch(r"([0-9]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?)(bd|[lsydf])?", text.strip(), re.IGNORECASE)
    if number is None:
        raise NotImplementedError(f"number {text}")
    digits, suffix = number[1], (number[2] or "").lower()
    if suffix == "bd":
        return Decimal(digits)
    if suffix in ("d", "f") or (not suffix and "e" in digits.lower()):
        return float(digits)
    return Decimal(digits) if "." in digits else int(digits)


def _string(text: str) -> str:
    several = re.findall(r"""[rR](?:'[^']*'|"[^"]*")|(?:'(?:[^'\\]|\\.)*')+|(?:"(?:[^"\\]|\\.)*")+""", text, re.DOTALL)
    if len(several) > 1:  # strings in a row are one
        return "".join(_string(each) for each in several)
    text = text.strip()
    if text[0] in "rR":
        return text[2:-1]
    quote, body, characters, position = text[0], text[1:-1], [], 0
    while position < len(body):
        here, following = body[position], body[position + 1 : position + 2]
        if here == "\\" and following == "u" and re.fullmatch("[0-9a-fA-F]{4}", body[position + 2 : position + 6]):
            characters.append(chr(int(body[position + 2 : position + 6], 16)))
            position += 6
        elif here == "\\" and following:
            characters.append(_ESCAPES.get(following, following))
            position += 2
        elif here == quote and following == quote:
            characters.append(quote)
            position += 2
        else:
            characters.append(here)
            position += 1
    return "".join(characters)


def _inside_quotes(text: str) -> str:
    quoted = re.search(r"'([^']*)'|\"([^\"]*)\"", text)
    if quoted is None:
        raise NotImplementedError(f"literal {text}")
    return (quoted[1] or quoted[2] or "").strip()


def _interval(text: str) -> timedelta:
    """`INTERVAL '5' MINUTE`, `INTERVAL 1 HOUR 30 MINUTES`, `INTERVAL '1 02:03:04' DAY TO SECOND`."""
    body = re.sub(r"^\s*interval\s+", "", text.strip(), flags=re.IGNORECASE).replace("'", " ").strip().lower()
    clock = re.fullmatch(r"(-?)\s*(\d+)\s+(\d+):(\d+):(\d+(?:\.\d+)?)\s+day\s+to\s+second", body)
    if clock:
        length = timedelta(days=int(clock[2]), hours=int(clock[3]), minutes=int(clock[4]), seconds=float(clock[5]))
        return -length if clock[1] else length
    amounts = re.findall(r"([+-]?\s*\d+(?:\.\d+)?)\s+([a-z]+)", body)
    if not amounts or "".join("".join(each) for each in amounts).replace(" ", "") != body.replace(" ", ""):
        raise NotImplementedError(f"interval {text}")
    length = timedelta()
    for amount, unit in amounts:
        if unit.rstrip("s") not in _UNITS:
            raise NotImplementedError(f"interval {text}")
        length += timedelta(**{unit.rstrip("s") + "s": float(amount.replace(" ", ""))})
    return length
