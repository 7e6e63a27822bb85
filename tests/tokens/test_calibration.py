"""A calibration learns what providers report, says how sure it is, and notices when they change."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import pytest

from ctxkit.messages import Histories, Prompt
from ctxkit.tokens.blocks import BlockCounter
from ctxkit.tokens.calibration import Calibration, Change
from ctxkit.tokens.counters import FunctionCounter
from ctxkit.tokens.estimate import Evidence
from ctxkit.tokens.shape import shape_of
from ctxkit.tokens.structure import structure_for
from ctxkit.usage import Usage
from ctxkit.wire import READERS

DAY = date(2026, 11, 30)
TOOLS = [{"name": "search", "description": "d" * 200, "input_schema": {"type": "object"}}]
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="}}
Truth = Callable[[int], int]
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon")


class Letters:
    """Counts a token a letter."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


LETTERS = BlockCounter(Letters())


def calibration_of() -> Calibration:
    return Calibration(counter_of=lambda prompt: LETTERS, today=lambda: DAY)


def user(*content: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "text", "text": c} if isinstance(c, str) else c for c in content],
    }


def prompt_of(
    *messages: Any,
    histories: Histories | None = None,
    wire: str = "anthropic_messages",
    model: str | None = "claude-sonnet-4-5",
    **body: Any,
) -> Prompt:
    native = {"model": model, "messages": list(messages), **body}
    return Prompt(READERS[wire], native, histories or Histories())


def usage(tokens: int | None) -> Usage:
    return Usage(input_tokens=tokens, output_tokens=1)


def local(prompt: Prompt) -> int:
    """The count of the letters, by which nothing is learned."""
    return shape_of(prompt, LETTERS).total


def questions(seed: int, **body: Any) -> Iterator[Prompt]:
    """Prompts of one message that have nothing in common but tools and model."""
    pick = random.Random(seed)
    while True:
        yield prompt_of(user(" ".join(pick.choices(WORDS, k=pick.randint(5, 60)))), **body)


def loop(seed: int, turns: int, **body: Any) -> Iterator[Prompt]:
    """The requests of one tool-use loop, each going on from the one before."""
    pick, histories = random.Random(seed), Histories()
    messages: list[Any] = [user("Find the bug.")]
    for turn in range(turns):
        yield prompt_of(*messages, histories=histories, tools=TOOLS, **body)
        text = " ".join(pick.choices(WORDS, k=pick.randint(5, 150)))
        call = {"type": "tool_use", "id": f"c{turn}", "name": "search", "input": {"q": text[:9]}}
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": text}
        messages += [{"role": "assistant", "content": [call]}, user(result)]


def teach(calibration: Calibration, prompts: Iterator[Prompt], times: int, truth: Truth) -> None:
    for prompt, _ in zip(prompts, range(times), strict=False):
        calibration.observe(prompt, usage(truth(local(prompt))))


def error(calibration: Calibration, prompt: Prompt, truth: Truth) -> int:
    return abs(calibration.count(prompt).total - truth(local(prompt)))


def test_a_hidden_prompt_of_the_server_is_learned_within_a_few_answers() -> None:
    calibration, asked = calibration_of(), questions(1, tools=TOOLS)
    assert error(calibration, next(asked), lambda tokens: tokens + 500) == 500
    teach(calibration, asked, 4, lambda tokens: tokens + 500)
    prompt = next(asked)
    counted = calibration.count(prompt)
    assert error(calibration, prompt, lambda tokens: tokens + 500) <= 40
    assert counted.low <= local(prompt) + 500 <= counted.high
    teach(calibration, asked, 16, lambda tokens: tokens + 500)
    assert error(calibration, next(asked), lambda tokens: tokens + 500) <= 10


def test_a_tokenizer_that_counts_more_is_learned() -> None:
    calibration, asked = calibration_of(), questions(2)
    teach(calibration, asked, 12, lambda tokens: round(tokens * 1.2))
    prompt = next(asked)
    assert error(calibration, prompt, lambda tokens: round(tokens * 1.2)) <= 0.02 * local(prompt)


def test_what_was_learned_long_ago_is_forgotten() -> None:
    calibration, asked = calibration_of(), questions(3)
    teach(calibration, asked, 20, lambda tokens: tokens + 40)
    teach(calibration, asked, 400, lambda tokens: tokens + 30)
    assert error(calibration, next(asked), lambda tokens: tokens + 30) <= 2


def test_a_single_outlier_changes_nothing() -> None:
    calibration, asked = calibration_of(), questions(4)
    teach(calibration, asked, 20, lambda tokens: tokens + 7)
    prompt = next(asked)
    before = calibration.count(prompt)
    teach(calibration, asked, 1, lambda tokens: tokens + 5_000)
    assert calibration.count(prompt).total == before.total
    teach(calibration, asked, 1, lambda tokens: tokens + 7)
    teach(calibration, asked, 1, lambda tokens: tokens + 5_000)
    assert calibration.count(prompt).total == before.total


def test_outliers_that_come_again_and_again_widen_the_band() -> None:
    calibration, asked = calibration_of(), questions(21)
    teach(calibration, asked, 12, lambda tokens: tokens + 7)
    prompt = next(asked)
    before = calibration.count(prompt)
    for _ in range(6):
        teach(calibration, asked, 1, lambda tokens: tokens + 5_000)
        teach(calibration, asked, 1, lambda tokens: tokens + 7)
    after = calibration.count(prompt)
    assert after.high - after.low > 2 * (before.high - before.low)
    assert abs(after.total - before.total) <= 2


def test_a_changed_server_prompt_reopens_the_band_and_is_learned_rather_than_averaged() -> None:
    calibration, asked = calibration_of(), questions(5, tools=TOOLS)
    teach(calibration, asked, 150, lambda tokens: tokens + 313)
    prompt = next(asked)
    settled = calibration.count(prompt)
    teach(calibration, asked, 2, lambda tokens: tokens + 1_313)
    reopened = calibration.count(prompt)
    assert reopened.high - reopened.low > 1.5 * (settled.high - settled.low)
    assert reopened.low <= local(prompt) + 1_313 <= reopened.high
    teach(calibration, asked, 8, lambda tokens: tokens + 1_313)
    assert error(calibration, next(asked), lambda tokens: tokens + 1_313) <= 20


def test_a_prompt_that_was_reported_is_counted_as_reported() -> None:
    calibration, histories = calibration_of(), Histories()
    calibration.observe(prompt_of(user("one"), histories=histories), usage(1_234))
    counted = calibration.count(prompt_of(user("one"), histories=histories))
    assert (counted.total, counted.low, counted.high) == (1_234, 1_234, 1_234)
    assert counted.source == "reported"


def test_the_next_request_of_a_loop_is_counted_from_the_last_reported_one() -> None:
    calibration = calibration_of()
    prompts = list(loop(6, 3))
    for prompt in prompts[:2]:
        calibration.observe(prompt, usage(local(prompt) + 900))
    counted = calibration.count(prompts[2])
    assert abs(counted.total - local(prompts[2]) - 900) <= 40
    assert counted.low <= local(prompts[2]) + 900 <= counted.high


def test_a_count_from_a_reported_one_is_surer_than_one_from_nothing() -> None:
    calibration, prompts = calibration_of(), list(loop(7, 8))
    calibration.observe(prompts[6], usage(local(prompts[6])))
    anchored = calibration.count(prompts[7])
    alone = calibration.count(list(loop(7, 8))[7])
    assert anchored.high - anchored.low < (alone.high - alone.low) / 2


@pytest.mark.parametrize(
    "changed",
    [{"model": "claude-opus-4-5"}, {"thinking": {"type": "enabled"}}, {"system": "Be brief."}, {"tools": []}],
)
def test_a_reported_count_says_nothing_of_another_model_setting_or_head(changed: dict[str, Any]) -> None:
    calibration, histories = calibration_of(), Histories()
    calibration.observe(prompt_of(user("one"), histories=histories, tools=TOOLS), usage(1_234))
    other = prompt_of(user("one"), histories=histories, **{"tools": TOOLS, **changed})
    assert calibration.count(other).source != "reported"


def test_a_changed_beginning_has_no_reported_count() -> None:
    calibration, histories = calibration_of(), Histories()
    calibration.observe(prompt_of(user("one"), user("two"), histories=histories), usage(90_000))
    assert calibration.count(prompt_of(user("ONE"), user("two"), histories=histories)).total < 1_000


def test_the_same_prompt_reported_twice_is_learned_once() -> None:
    calibration, histories = calibration_of(), Histories()
    prompt = prompt_of(user("one"), histories=histories)
    for _ in range(5):
        calibration.observe(prompt, usage(30))
    assert [row.observations for row in calibration.show()] == [1]


def test_another_count_for_the_same_prompt_is_learned_and_takes_its_place() -> None:
    calibration, prompt = calibration_of(), prompt_of(user("one"))
    calibration.observe(prompt, usage(30))
    calibration.observe(prompt, usage(35))
    assert calibration.count(prompt).total == 35
    assert [row.observations for row in calibration.show()] == [2]


def test_a_few_odd_answers_never_make_a_long_prompt_count_as_nothing() -> None:
    """Some providers leave a part of a prompt out of one report and not out of the next."""
    calibration, pick = calibration_of(), random.Random(7)
    prompts = [
        prompt_of(user(" ".join(pick.choices(WORDS, k=words))), model="nobody-1") for words in (300, 320, 340)
    ]
    for prompt in prompts[:2]:
        calibration.observe(prompt, usage(10))
    count = calibration.count(prompts[2])
    assert local(prompts[2]) // 2 <= count.total
    assert count.low < count.total


def test_an_image_that_is_new_widens_the_band() -> None:
    calibration, histories = calibration_of(), Histories()
    calibration.observe(prompt_of(user("one"), histories=histories), usage(20))
    text = calibration.count(prompt_of(user("one"), user("x" * 1_600), histories=histories))
    image = calibration.count(prompt_of(user("one"), user(IMAGE), histories=histories))
    assert image.high - image.low > 2 * (text.high - text.low)


def test_a_jump_within_a_loop_is_no_lesson_about_what_tokens_cost() -> None:
    calibration, histories = calibration_of(), Histories()
    long = prompt_of(user("word " * 2_000), histories=histories)
    calibration.observe(long, usage(local(long)))
    longer = prompt_of(user("word " * 2_000), user("Go on."), histories=histories)
    calibration.observe(longer, usage(local(longer) + 400))
    assert [row.observations for row in calibration.show()] == [1]
    assert calibration.count(longer).total == local(longer) + 400


def test_nothing_is_learned_where_nothing_is_reported() -> None:
    calibration, prompt = calibration_of(), prompt_of(user("one"))
    calibration.observe(prompt, None)
    calibration.observe(prompt, usage(None))
    assert calibration.show() == []
    assert calibration.count(prompt).source == "estimated"


def test_a_prompt_that_the_provider_keeps_a_part_of_teaches_nothing() -> None:
    calibration = calibration_of()
    body = {"model": "gpt-5", "input": [user("go on")], "previous_response_id": "resp_1"}
    prompt = Prompt(READERS["openai_responses"], body)
    calibration.observe(prompt, usage(9_000))
    assert calibration.show() == []
    assert calibration.count(prompt).total < 100


def test_a_wire_that_is_only_read_is_learned_from() -> None:
    calibration = calibration_of()
    prompt = prompt_of({"role": "user", "content": [{"text": "one"}]}, wire="bedrock_converse")
    calibration.observe(prompt, usage(20))
    assert [row.wire for row in calibration.show()] == ["bedrock_converse"]


def test_a_new_model_starts_from_what_its_family_taught() -> None:
    calibration, sonnet = calibration_of(), questions(9, tools=TOOLS)
    teach(calibration, sonnet, 20, lambda tokens: tokens + 300)
    opus = next(questions(10, tools=TOOLS, model="claude-opus-4-5"))
    assert error(calibration, opus, lambda tokens: tokens + 300) < 60
    stranger = next(questions(10, tools=TOOLS, model="claude-opus-4-7"))
    assert error(calibration, stranger, lambda tokens: tokens + 300) == 300
    assert calibration.count(opus).source == "estimated"


def test_a_model_that_changed_is_no_longer_taken_to_be_like_its_family() -> None:
    calibration = calibration_of()
    teach(calibration, questions(11), 50, lambda tokens: tokens + 5)
    other = questions(12, model="claude-opus-4-5")
    teach(calibration, other, 6, lambda tokens: tokens + 800)
    assert error(calibration, next(other), lambda tokens: tokens + 800) <= 15
    assert error(calibration, next(questions(13)), lambda tokens: tokens + 5) <= 5


def test_each_count_says_how_it_was_made() -> None:
    calibration = Calibration()
    text = prompt_of(user("one"), model="gpt-5", wire="openai_chat")
    assert calibration.count(text).source == "exact"
    assert calibration.count(text).counter == "o200k_base"
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    with_tools = prompt_of(user("one"), model="gpt-5", wire="openai_chat", tools=tools)
    assert calibration.count(with_tools).source == "estimated"
    assert calibration.count(prompt_of(user("one"), model="grok-4", wire="openai_chat")).source == "estimated"
    calibration.observe(text, usage(8))
    assert calibration.count(prompt_of(user("two"), model="gpt-5", wire="openai_chat")).source == "calibrated"


@pytest.mark.parametrize(
    ("counter", "model", "wire", "chars"),
    [
        ("ctok-v3", "claude-opus-4-5", "anthropic_messages", 16_000),
        ("o200k_base", "gpt-5", "openai_chat", 1_000_000),
    ],
)
def test_a_text_that_was_only_sampled_is_not_exact(counter: str, model: str, wire: str, chars: int) -> None:
    letters = FunctionCounter(len, name=counter, exact=True)
    local = BlockCounter(letters, structure_for(model, wire))
    calibration = Calibration(counter_of=lambda prompt: local)
    for length, source in ((chars, "exact"), (chars + 1, "estimated")):
        assert calibration.count(prompt_of(user("x" * length), model=model, wire=wire)).source == source


def test_an_unknown_model_has_a_wider_band_than_one_whose_tokenizer_is_known() -> None:
    known, unknown = (
        Calibration().count(prompt_of(user("one " * 200), model=model, wire="openai_chat"))
        for model in ("gpt-5", "some-new-model")
    )
    assert unknown.high - unknown.low > 10 * (known.high - known.low)


def test_a_count_splits_by_kind_without_a_rest() -> None:
    calibration, asked = calibration_of(), questions(14, tools=TOOLS, system="Be brief.")
    teach(calibration, asked, 3, lambda tokens: tokens + 77)
    counted = calibration.count(next(asked))
    assert sum(counted.by_kind.values()) == counted.total
    assert set(counted.by_kind) == {"tool_definition", "system", "user_text"}


def test_bands_hold_the_truth_in_simulated_loops() -> None:
    held = counted = 0
    for seed in range(40):
        pick, calibration = random.Random(seed), calibration_of()
        ratio, hidden, call = pick.gauss(1.0, 0.1), pick.gauss(0, 60), pick.gauss(0, 10)
        for run in range(3):
            for turn, prompt in enumerate(loop(seed * 10 + run, 12)):
                noise = pick.gauss(0, 2)
                truth = round(local(prompt) * ratio + hidden + call * turn + noise)
                found = calibration.count(prompt)
                held += found.low <= truth <= found.high
                counted += 1
                calibration.observe(prompt, usage(truth))
    assert held / counted >= 0.95


def test_fine_tuned_models_are_kept_under_their_base() -> None:
    calibration = calibration_of()
    teach(calibration, questions(15, model="ft:gpt-4o:acme:secret:id"), 2, lambda tokens: tokens + 3)
    (row,) = calibration.show()
    assert row.model == "gpt-4o"


def test_what_is_known_can_be_looked_at() -> None:
    calibration = calibration_of()
    teach(calibration, questions(16), 30, lambda tokens: tokens + 12)
    (row,) = calibration.show()
    assert (row.model, row.wire, row.counter) == ("claude-sonnet-4-5", "anthropic_messages", "letters")
    assert (row.observations, row.last_seen) == (30, DAY)
    assert row.intercept == pytest.approx(12, abs=3)
    assert 3 < row.typical_error < 10


def test_the_day_of_an_observation_is_todays() -> None:
    calibration = Calibration()
    calibration.observe(prompt_of(user("one")), usage(20))
    (row,) = calibration.show()
    assert row.last_seen is not None
    assert row.last_seen >= DAY


def test_one_model_can_be_forgotten_without_the_others() -> None:
    calibration = calibration_of()
    for model in ("claude-sonnet-4-5", "gpt-4o"):
        teach(calibration, questions(17, model=model), 5, lambda tokens: tokens + 100)
    calibration.reset("gpt-4o")
    assert [row.model for row in calibration.show()] == ["claude-sonnet-4-5"]
    forgotten = next(questions(18, model="gpt-4o"))
    assert calibration.count(forgotten).total == local(forgotten)
    calibration.reset()
    assert calibration.show() == []


def test_an_exchange_that_fails_loses_nothing() -> None:
    calibration = calibration_of()
    teach(calibration, questions(19), 3, lambda tokens: tokens + 100)

    def refuse(changes: Any) -> Any:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full"):
        calibration.exchange(refuse)
    given: list[Change] = []
    calibration.exchange(lambda changes: given.extend(changes.values()) or {})
    assert [change.added.observations for change in given] == [3, 3]


def test_an_exchange_takes_what_others_know() -> None:
    taught, calibration = calibration_of(), calibration_of()
    teach(taught, questions(20), 9, lambda tokens: tokens + 100)
    known: dict[Any, Evidence] = {}
    taught.exchange(lambda changes: known.update({k: c.added for k, c in changes.items()}) or known)
    calibration.exchange(lambda changes: known)
    assert calibration.show() == taught.show()


def test_threads_lose_no_observation() -> None:
    calibration = calibration_of()
    threads = [
        threading.Thread(target=teach, args=(calibration, questions(seed), 50, lambda tokens: tokens + 9))
        for seed in range(30, 34)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.observations for row in calibration.show()] == [200]
