"""A comparison as one HTML file that needs nothing else.

Invariant: everything a transcript says is data: it leaves here as JSON that no HTML parser can end,
and the page shows it as text only. The page's policy lets no script run but its own, by its hash, and
nothing be fetched from anywhere.

One script element per session holds its rows, a second one its texts: the browser reads them when
they are first looked at.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from base64 import b64encode
from string import Template
from typing import Any

from tenure.cli.report_rows import head, rows
from tenure.core.data import read_data
from tenure.replay.compare import Comparison

SCRIPTS = ("base.js", "charts.js", "plots.js", "table.js", "panel.js", "page.js")


def render(comparison: Comparison) -> str:
    """The page; text that UTF-8 can encode, whatever the transcripts hold.

    A comparison without results gives a page that says so.
    """
    style = _file("report.css")
    script = "".join(map(_file, SCRIPTS))
    blocks = [_block("head", head(comparison))]
    for number, result in enumerate(comparison.results):
        session, texts = rows(result, comparison.settings)
        blocks += [_block(f"session-{number}", session), _block(f"texts-{number}", texts)]
    return Template(_file("template.html")).substitute(
        title=html.escape(_encodable(_title(comparison))),
        policy=f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'",
        style=style,
        data="\n".join(blocks),
        script=script,
    )


def embedded(value: Any) -> str:
    """JSON that can stand inside a script element: no `<`, no lone surrogate, no line separator."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")


def _block(name: str, value: Any) -> str:
    return f'<script type="application/json" id="{name}">{embedded(value)}</script>'


def _title(comparison: Comparison) -> str:
    results = comparison.results
    what = results[0].name if len(results) == 1 else f"{len(results)} sessions"
    return f"tenure replay: {what}"


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return read_data(f"cli/report_data/{name}").decode("utf-8")
