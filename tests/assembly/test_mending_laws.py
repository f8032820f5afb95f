"""The laws of mending as a session keeps them, over histories that are broken on purpose.

Invariant: what is looked at are the bytes of the request, the record and what `recall` gives; how a
mend is made is not.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.legal import Terms
from tenure.core.message import JsonObject
from tenure.wire.detect import WIRES
from tests.assembly.apis import APIS, Api
from tests.assembly.test_mending import session_of, user, without_marks
from tests.wire import anthropic_broken, broken
from tests.wire.finds import FINDS
from tests.wire.strategies import conversations

Law: TypeAlias = Callable[[Api, list[JsonObject]], None]
ANY_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.wire)


@st.composite
def broken_histories(draw: st.DrawFn, api: Api) -> list[JsonObject]:
    """A history that any harm may have befallen, without what `append` refuses by name: what is no
    object with a role or a type, and what can't be written as JSON."""
    made: Any = (
        anthropic_broken.broken()
        if api.wire == "anthropic_messages"
        else broken.broken(WIRES[api.wire])
    )
    kept = [m for m in draw(made) if isinstance(m, dict) and {"role", "type"} & m.keys()]
    kept = [message for message in kept if is_json(message)]
    return [*kept, user("the last word")]


def is_json(value: Any) -> bool:
    """True when Python can write a value as JSON: not an integer of thousands of digits."""
    try:
        json.dumps(value)
    except ValueError:
        return False
    return True


def sent(api: Api, body: bytes) -> list[Any]:
    """The messages of a body."""
    messages: list[Any] = json.loads(body)[WIRES[api.wire].key]
    return messages


# -- the laws ------------------------------------------------------------------------------------


def what_leaves_breaks_no_rule_and_the_record_is_what_came(
    api: Api, history: list[JsonObject]
) -> None:
    before = copy.deepcopy(history)
    session = session_of(api, history)
    body = session.request().body
    wire = WIRES[api.wire]
    head = {k: v for k, v in json.loads(body).items() if k != wire.key}
    left = wire.violations(sent(api, body), Terms(head=head, model=api.model))
    assert [v for v in left if wire.rules[v.rule].mend] == []
    kept = [message.data for message in session._machine.transcript.messages]
    assert repr(kept) == repr(history) == repr(before)


def every_word_leaves_or_comes_back_under_a_handle(api: Api, history: list[JsonObject]) -> None:
    session = session_of(api, history)
    found = [sent(api, session.request().body)]
    kept = [session.recall(mend.handle) for mend in session.explain().mends if mend.handle]
    text = "\n".join([*broken.words_of(found), *kept])
    text += json.dumps([found, kept], ensure_ascii=False)
    for word in broken.words_of(history):
        assert any(form in text for form in forms(word)), word


def forms(word: str) -> list[str]:
    """A text as it may stand somewhere: as it is, as JSON, what cannot be sent replaced."""
    clean = (
        word.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")
    )
    as_json = json.dumps(clean, ensure_ascii=False)
    twice = json.dumps(as_json, ensure_ascii=False)
    return [word, clean, json.dumps(word)[1:-1], as_json[1:-1], twice[2:-2]]


def one_history_has_one_request_and_what_left_leaves_again_as_it_is(
    api: Api, history: list[JsonObject]
) -> None:
    first = session_of(api, history)
    body = first.request().body
    assert first.request().body == body
    assert session_of(api, copy.deepcopy(history)).request().body == body
    again = session_of(api, sent(api, body))
    assert without_marks(sent(api, again.request().body)) == without_marks(sent(api, body))
    assert again.explain().mends == ()


LAWS: list[Law] = [
    what_leaves_breaks_no_rule_and_the_record_is_what_came,
    every_word_leaves_or_comes_back_under_a_handle,
    one_history_has_one_request_and_what_left_leaves_again_as_it_is,
]
EACH_LAW = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
FOUND = [(api, name) for api in APIS for name in FINDS[api.wire]]


@pytest.mark.fuzz
@EACH_LAW
@ANY_API
@settings(max_examples=30)
@given(st.data())
def test_over_broken_histories(law: Law, api: Api, data: st.DataObject) -> None:
    law(api, data.draw(broken_histories(api)))


@EACH_LAW
@pytest.mark.parametrize(("api", "name"), FOUND, ids=lambda x: getattr(x, "wire", x))
def test_over_what_was_found(law: Law, api: Api, name: str) -> None:
    law(api, [*FINDS[api.wire][name], user("the last word")])


@pytest.mark.fuzz
@ANY_API
@settings(max_examples=30)
@given(st.data())
def test_a_legal_history_leaves_with_its_own_bytes(api: Api, data: st.DataObject) -> None:
    wire = WIRES[api.wire]
    made = anthropic_broken.legal() if api.wire == "anthropic_messages" else conversations(wire)
    history = data.draw(made)
    session = session_of(api, history)
    body = session.request().body
    assert session.explain().mends == ()
    assert without_marks(sent(api, body)) == without_marks(list(history))
    if api.wire != "anthropic_messages":  # There a mark may make a block of a text.
        assert all(wire.message(message).raw in body for message in history)
