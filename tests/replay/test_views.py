"""The checker of views finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tenure.core.budget import Budget
from tenure.core.edit import Drop, Edit, Reason, Replace, Span
from tenure.core.policy import Situation
from tenure.core.usage import Usage
from tenure.replay.recording import Settings
from tenure.replay.simulate import simulate
from tenure.replay.thread_run import ThreadRun
from tests.replay.recorded import Recorder, meter, recording_of
from tests.replay.views import ViewLaws

PASTE = "please read this paste " * 2_000
REASON = Reason("test", "told to")


@dataclass
class Once:
    """Makes the given edits at the second request."""

    make: Callable[[Situation], Sequence[Edit]]
    name: str = "once"

    def wakes_at(self, budget: Budget) -> int:
        return 0

    def propose(self, situation: Situation) -> Sequence[Edit]:
        return self.make(situation) if situation.step == 1 else ()


def seen(make: Callable[[Situation], Sequence[Edit]], window: int = 200_000) -> ViewLaws:
    laws = ViewLaws()
    r = Recorder().user(PASTE).call("ls", {}, "result").user("and then?").say("done")
    recording = recording_of([r.thread()], Settings(window=window, max_tokens=1_000))
    simulate(recording, lambda: Once(make), meter, watch=laws.look)
    return laws


def saying(situation: Situation, index: int, text: str) -> Replace:
    transcript = situation.transcript
    block = transcript.blocks[index][0]
    body = transcript.wire.stand_in(block, transcript.messages[index], text)
    return Replace(block.key, (body,), REASON, "t-1")


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    laws = seen(lambda _: ())
    assert (laws.views, laws.user_texts, laws.edited) == (2, 3, 0)
    assert (laws.lost, laws.broken, laws.refused, laws.too_large) == ([], {}, 0, 0)


def test_a_users_text_that_was_changed_or_dropped_is_lost() -> None:
    assert len(seen(lambda s: [saying(s, 3, "other words")]).lost) == 1
    assert len(seen(lambda _: [Drop((Span("m0", "m2"),), REASON)]).lost) == 1


def test_of_a_paste_head_tail_and_handle_suffice() -> None:
    laws = seen(lambda s: [saying(s, 0, f"{PASTE[:500]} [t-1] {PASTE[-500:]}")])
    assert (laws.lost, laws.shortened) == ([], 1)
    assert len(seen(lambda s: [saying(s, 0, f"{PASTE[:500]} {PASTE[-500:]}")]).lost) == 1
    assert len(seen(lambda s: [saying(s, 0, f"{PASTE[:500]} [t-1]")]).lost) == 1


def test_an_orphaned_result_breaks_a_rule() -> None:
    laws = seen(lambda _: [Drop((Span("m1", "m1"),), REASON)])
    assert laws.broken.total() > 0


def test_a_view_over_the_limit_is_too_large_unless_it_was_refused() -> None:
    assert seen(lambda _: (), window=8_000).refused == 2
    laws = ViewLaws()

    def doubled(run: ThreadRun, usage: Usage) -> None:
        laws.look(run, replace(usage, fresh=run.machine.budget.limit))

    recording = recording_of([Recorder().user(PASTE).say("ok").thread()])
    simulate(recording, lambda: Once(lambda _: ()), meter, watch=doubled)
    assert laws.too_large == 1
    assert laws.overshoot > 0


def test_an_edit_that_went_or_is_spelled_anew_is_unstable() -> None:
    assert seen(lambda s: [saying(s, 2, "[t-1]")]).unstable == []
    for spoil in ("went", "spelled anew"):
        laws = ViewLaws()

        def look(run: ThreadRun, usage: Usage, laws: ViewLaws = laws, spoil: str = spoil) -> None:
            laws.look(run, usage)
            edited = [at for at, entry in enumerate(run.view.entries) if entry.edits]
            if edited and spoil == "went":
                before = laws._sent[run.machine.name]
                gone = replace(before.edits[0], handle="t-other")
                laws._sent[run.machine.name] = replace(before, edits=(gone,))
            elif edited:
                raws = laws._sent[run.machine.name].raws
                raws.update(dict.fromkeys(raws, b"{}"))

        r = Recorder().user("go").call("ls", {}, "result " * 90).call("ls", {"a": 1}, "r")
        recording = recording_of([r.say("ok").user("and?").say("done").thread()])
        simulate(recording, lambda: Once(lambda s: [saying(s, 2, "[t-1]")]), meter, watch=look)
        assert len(laws.unstable) == 2
        assert all(words.endswith(spoil) for words in laws.unstable)
