"""Text that will not be the same at the next request: clocks, dates, ids, counters, random hex.

Invariant: linear in the text, whatever stands in it (no pattern can match a character twice); equal
texts give equal findings; a finding's text is the text between its ends.

Two grades. `shapes` are all places of a form that volatile text has: a time, a date, a UUID, digits
behind a counter's label. `find_volatile` keeps those whose surroundings say that they are volatile:
"Today is 2026-08-14" is, "knowledge cutoff 2026-08-14" and "e.g. 2026-08-14" are not. What only a
second text can show is the comparer's (`core.volatile_change`). Source of the kinds: the reports
collected in demand.md, row 3 (clock, UUID, request id, session URL, counter in the prefix).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What kind of volatile text it is."""

    CLOCK = "clock"
    DATE = "date"
    UUID = "UUID"
    REQUEST_ID = "request id"
    SESSION_PATH = "session path"
    COUNTER = "counter"
    HEX = "random hex"


class Pace(StrEnum):
    """How often text of a kind changes."""

    REQUEST = "with every request"
    DAY = "daily"
    SESSION = "with every session"


PACES = {
    Kind.CLOCK: Pace.REQUEST,
    Kind.DATE: Pace.DAY,
    Kind.UUID: Pace.SESSION,
    Kind.REQUEST_ID: Pace.REQUEST,
    Kind.SESSION_PATH: Pace.SESSION,
    Kind.COUNTER: Pace.REQUEST,
    Kind.HEX: Pace.SESSION,
}


class Volatile(NamedTuple):
    """One place of volatile text: [start, end) in characters, `at` and `size` in UTF-8 bytes."""

    kind: Kind
    start: int
    end: int
    text: str
    at: int
    size: int

    @property
    def pace(self) -> Pace:
        """How often such text changes; a lone date daily."""
        return PACES[self.kind]

    @property
    def words(self) -> str:
        """`clock '15:09:20' at byte 8, changes with every request`."""
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"{self.kind} {shown!r} at byte {self.at}, changes {self.pace}"


def find_volatile(text: str) -> list[Volatile]:
    """The places that will differ at a later request, by what stands around them; in order.

    >>> [v.words for v in find_volatile("Time is 15:09:20. Open 9:00 to 17:00.")]
    ["clock '15:09:20' at byte 8, changes with every request"]
    """
    return [found for found in shapes(text) if _is_live(text, found)]


def shapes(text: str) -> list[Volatile]:
    """Every place whose form is that of volatile text, disjoint and in order."""
    spans = sorted(_spans(text), key=lambda s: (s[1], s[0]))
    found: list[Volatile] = []
    end = at = done = 0
    for order, start, stop in spans:
        if start < end:
            continue
        at += _bytes(text[done:start])
        size = _bytes(text[start:stop])
        found.append(Volatile(_SHAPES[order][0], start, stop, text[start:stop], at, size))
        done, at, end = stop, at + size, stop
    return found


def masked(text: str, found: list[Volatile]) -> tuple[str, ...]:
    """The text around the places, and their kinds: text, kind, text, ... text. Equal for two texts
    exactly when they differ in nothing but what stands at these places."""
    pieces: list[str] = []
    done = 0
    for each in found:
        pieces += [text[done : each.start], each.kind.value]
        done = each.end
    return (*pieces, text[done:])


# -- forms ---------------------------------------------------------------------------------------

# Quantifiers are bounded or possessive and runs are entered at their first character only, so that
# no text makes a search quadratic.
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}+"
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}+,?[ ])?"
_DATE = (
    rf"(?:20\d\d[-/.](?:0[1-9]|1[0-2])[-/.](?:0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|{_DAY}{_MONTH}[ ]\d\d?(?:st|nd|rd|th)?,?[ ]20\d\d"
    rf"|{_DAY}\d\d?(?:st|nd|rd|th)?[ ]{_MONTH},?[ ]20\d\d"
    rf"|\d\d?/\d\d?/20\d\d)"
)
_TIME = (
    r"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?!\d)(?:[ ]?[AaPp]\.?[Mm]\b\.?)?"
    r"(?:[ ]?(?:Z|UTC|GMT|CET|CEST|[A-Z][SD]T|[+-]\d\d:?\d\d)\b)?"
)
_UUID = r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}"
_ID = r"(?=[\w.~-]{0,64}?\d)[\w.~-]{6,128}"
# Digits and letters mixed as in an id: at least two digits, and none of them a version's.
_SEGMENT = (
    r"(?=[\w-]{0,24}?\d[a-z]{0,6}\d|[\w-]{0,24}?\d[a-z])(?![\w-]{0,24}-v\d)[\w-]{8,64}+(?![.\w-])"
)
_OWNERS = (
    r"request|trace|span|correlation|conversation|session|run|thread|transaction|invocation|job|"
    r"build|execution|interaction|container|sandbox"
)
_SHAPES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    # An id inside an address or a path belongs to it.
    (
        Kind.SESSION_PATH,
        re.compile(
            rf"(?<=[/?&=])(?:(?:{_OWNERS})s?(?:[-_]?id)?|chats?|messages?)[/=]({_UUID}|{_SEGMENT})"
            rf"|(?<=/)(?:tmp|temp|scratch(?:pad)?)/(?:[\w.%-]{{1,80}}/){{0,4}}?({_UUID}|{_SEGMENT})"
            rf"|(?<=[?&])(?:sig|signature|token|sid|nonce|X-Amz-Signature|X-Amz-Date)=([\w.%-]{{6,200}})"
            r"|(?<=/T/)(\w{6,40})(?=/)",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.REQUEST_ID,
        re.compile(
            rf"(?<![A-Za-z])(?:{_OWNERS})(?:[ _-]?(?:id|ID|Id|identifier))(?:\W{{1,4}}|[ ]is[ ])({_ID})"
            rf"|(?<![\w-])(?:nonce|cache[-_ ]?buster|traceparent|cch)[\"']?[:=][ ]?[\"']?([\w.-]{{4,128}})"
            r"|(?<![\w-])((?:req|trace|span|msg|sess|session|conv|chatcmpl|resp|run|thread)_"
            r"(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{12,64})(?!\w)"
            r"|(?<![\w-])(00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})(?!\w)",
            re.IGNORECASE,
        ),
    ),
    (Kind.UUID, re.compile(rf"(?<![\w-])({_UUID})(?![\w-])")),
    (
        Kind.CLOCK,
        re.compile(
            rf"(?<![\w.:/-])({_DATE}(?:T|,?[ ](?:at[ ])?){_TIME}"
            rf"|{_DAY}{_MONTH}[ ]{{1,2}}\d\d?[ ]\d\d:\d\d:\d\d(?:[ ][A-Z]{{3,4}})?[ ]20\d\d"
            rf"|{_TIME}|1[5-9]\d{{8}}(?:\d{{3}})?(?:\.\d{{1,9}})?)(?![\w:])"
        ),
    ),
    (Kind.DATE, re.compile(rf"(?<![\w./-])({_DATE})(?![\w-])")),
    (
        Kind.COUNTER,
        re.compile(
            r"(?<![A-Za-z])(?:(?:tokens?|messages?|turns?|steps?|requests?|calls?|attempts?|budget|"
            r"context|time|cost|credits?|uptime|elapsed|spent|usage)"
            r"(?:[ _-](?:used|usage|left|remaining|spent|consumed|elapsed|so[ ]far|count|number|no))?"
            r"(?:[\"'>*]{0,3}[:=#][ \"'*]{0,3}|>|[ ](?:is[ ])?#?)|(?:count|counter|seq|unread|pending|iteration)"
            r"[\"'*]{0,3}[:=][ ]?)"
            r"(\$?\d[\d,._]{0,20}(?:%|ms|s|m|k)?(?:[ ]?(?:/|of)[ ]?\$?\d[\d,._]{0,20})?)(?!\w)"
            r"|(?<![\w.$])(\$?\d[\d,._]{0,20}[ ]?%?(?=[ ](?:of[ ](?:your[ ])?\w{1,20}[ ])?"
            r"(?:tokens?[ ]|messages?[ ]|turns?[ ]|steps?[ ]|requests?[ ]|seconds?[ ]|minutes?[ ]|calls?[ ])?"
            r"(?:used|left|remaining|spent|consumed|elapsed|so[ ]far)(?!\w)))",
            re.IGNORECASE,
        ),
    ),
    (
        Kind.HEX,
        re.compile(
            r"(?<![\w:+/=.-])((?=[0-9]{0,40}[a-f])(?=[a-f]{0,40}[0-9])[0-9a-f]{16,64}"
            r"|(?:(?<=[hH][aA][sS][hH][ :=])|(?<=[hH][aA][sS][hH]: ))[0-9a-f]{7,15})(?![\w-])"
        ),
    ),
)


def _spans(text: str) -> Iterator[tuple[int, int, int]]:
    for start, end in _with_digits(text):
        for order, (_, pattern) in enumerate(_SHAPES):
            for match in pattern.finditer(text, start, end):
                group = match.lastindex or 0
                yield order, match.start(group), match.end(group)


def _with_digits(text: str) -> Iterator[tuple[int, int]]:
    """The lines that hold a digit: all volatile text does, and most lines do not."""
    end = 0
    while (found := _DIGIT.search(text, end)) is not None:
        start = text.rfind("\n", end, found.start()) + 1 or end
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield start, end


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


_DIGIT = re.compile(r"\d")


# -- surroundings --------------------------------------------------------------------------------

_WINDOW = 64
# A label says that what follows is of now: at the start of a line, a sentence or a field.
_NOW = re.compile(
    r"(?:\b(?:now|current(?:ly)?|today(?:'s|’s)?|right now|this moment|local time|system time|"
    r"server time|wall clock|clock|generated|rendered|refreshed|session started|started at|"
    r"fetched|synced|it is|it's)\b"
    r"|(?:^|[.;,!?(\[{<>|*#\"'\n-])\s*(?:the\s+)?(?:utc[_ ]|local[_ ])?"
    r"(?:date|time|day|datetime|date[ _/]?(?:and )?[ _]?time|timestamp|ts|as of)(?:\s+is)?"
    r"(?=[\s:=<>\"'*(]))[^.!?;\n]{0,40}$",
    re.IGNORECASE,
)
# Figures "as of" a day are of that day for good; "as of" a time of day they are of now.
_AS_OF = re.compile(r"\bas of\W{1,3}$", re.IGNORECASE)
_AFTER = re.compile(r"^[^.!?\n]{0,20}\bis (?:the current|today|now)", re.IGNORECASE)
_STATIC = re.compile(
    r"(?:e\.g\.?|\beg\b|(?<![.\w])examples?|for instance|such as|formats?|formatted|like|i\.e\.|cut-?off|since|"
    r"until|before|after|between|version|released?|deprecated|expire[sd]?|deadline|default|opens?|"
    r"closes?|due|born|copyright|©|schema|pattern|placeholder|sample|instead of|was|were|"
    r"up to|at most|at least|max(?:imum)?|limit|every|within|per)\b[^.!?\n]{0,40}$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\s>*_`\"'\[(-]*$")
_STAMP_LENGTH = len("2026-08-14 15:09")
# UUIDs that stand in every documentation.
_DOCUMENTED = ("00000000-", "11111111-", "12345678-", "123e4567-", "550e8400-", "ffffffff-")
_ADDRESS = re.compile(r"://\S{1,64}$")
_ELSEWHERE = re.compile(
    r"(?:sha\d{1,3}|md5|integrity|digest|checksum|pinned)\W{0,4}$", re.IGNORECASE
)
_UP_OR_DOWN = re.compile(
    r"used|left|remaining|spent|consumed|elapsed|so far|uptime|unread|counter|seq", re.IGNORECASE
)
_TURN = re.compile(
    r"(?:turn|step|attempt|iteration|message|request|call)s?\s?[ #:=]", re.IGNORECASE
)
_OF = re.compile(r"/|of")
_CLAUSE = re.compile(r"[.!?;,|(]\s")
_SPAN = re.compile(r"\s?(?:-|–|—|to|until|and)\s?\d")


def is_fixed(text: str, start: int) -> bool:
    """Whether the words in front of a place say that it stays: an example, a limit, a past day."""
    return _STATIC.search(_line_before(text, start)) is not None


def _line_before(text: str, start: int) -> str:
    before = text[max(0, start - _WINDOW) : start]
    return before[before.rfind("\n") + 1 :].replace("_", " ")


def _is_live(text: str, found: Volatile) -> bool:
    line = _line_before(text, found.start)
    if _STATIC.search(line):
        return False
    match found.kind:
        case Kind.CLOCK | Kind.DATE:
            dated = found.kind is Kind.DATE and _AS_OF.search(line)
            return not dated and _is_of_now(text, found, line)
        case Kind.UUID:
            known = found.text.lower().startswith(_DOCUMENTED) or len(set(found.text)) <= 6
            # Behind an address it names a thing on the net; a session's is a session path.
            return not known and not _ADDRESS.search(line)
        case Kind.REQUEST_ID | Kind.SESSION_PATH:
            return len(set(found.text)) > 3 and any(c.isdigit() for c in found.text)
        case Kind.COUNTER:
            return _counts(text, found, line)
        case Kind.HEX:
            return not _ELSEWHERE.search(line) and len(set(found.text)) > 6


def _is_of_now(text: str, found: Volatile, line: str) -> bool:
    """A clock or date under a label of now, or alone on its line."""
    after = text[found.end : found.end + _WINDOW]
    if _range(after):
        return False
    begins_line = len(line) == found.start or text[found.start - len(line) - 1] == "\n"
    if begins_line and _ALONE.match(line) and _ALONE.match(after.split("\n", 1)[0]):
        # Day and time alone on a line; a lone day is as often a heading of a list of changes.
        return (
            found.kind is Kind.CLOCK and len(found.text) >= _STAMP_LENGTH
        ) or found.start == len(line)
    return bool(_NOW.search(line) or _AFTER.match(after))


def _range(after: str) -> bool:
    """`09:00 to 17:00` and `09:00-17:00` are opening hours, not clocks."""
    return _SPAN.match(after) is not None


def _counts(text: str, found: Volatile, line: str) -> bool:
    """A counter counts something up or down; a limit or a numbered instruction does not."""
    after = text[found.end : found.end + 24].split("\n", 1)[0].split(".", maxsplit=1)[0]
    label = _CLAUSE.split(line)[-1][-32:]
    if _UP_OR_DOWN.search(label + after):
        return True
    return bool(_OF.search(found.text) and _TURN.search(label))
