"""What a count says of itself: how sure it is, and how its total splits by kind."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens.estimate import (
    FOREIGN,
    OWN,
    RELATED,
    Evidence,
    Posterior,
    Sample,
    Trust,
    base_model,
    family_of,
    observed,
    split_by_kind,
    trust_of,
)
from ctxkit.tokens.shape import Shape

INTERCEPT = Sample((1.0,) + (0.0,) * 7, 0, 0)

DAY = date(2026, 11, 30)
NUMBERS = st.floats(min_value=-1_000, max_value=1_000)
FEATURES = st.tuples(*[NUMBERS] * 8)


def learned(*observations: tuple[tuple[float, ...], float]) -> Evidence:
    evidence = Evidence()
    for features, beyond in observations:
        added = Evidence(observed(features, beyond, 4.0), weight=1.0, observations=1, seen=DAY)
        evidence = evidence.followed_by(added, kept=1.0)
    return evidence


def test_a_sample_tells_definitions_exchanges_text_and_what_is_unsure_apart() -> None:
    shape = Shape(
        total=1_111,
        by_key={
            ("system", None): 7,
            ("user_text", None): 4,
            ("tool_definition", "search"): 100,
            ("tool_call", "search"): 300,
            ("tool_result", "search"): 200,
            ("image", None): 499,
            ("thinking", None): 1,
        },
        numbers={"tool_definition": 3, "turn": 5, "tool_call": 2},
    )
    sample = Sample.of(shape)
    assert sample.features == (1, 1, 100, 3, 11, 500, 5, 2)
    assert sample.tokens == 1_111
    assert sample.unsure == 500


def test_what_is_new_in_a_sample_holds_no_constant() -> None:
    before = Sample((1, 1, 100, 3, 10, 0, 1, 0), 110, 0)
    after = Sample((1, 1, 100, 3, 15, 40, 3, 1), 165, 10)
    assert after.since(before) == Sample((0, 0, 0, 0, 5, 40, 2, 1), 55, 10)


@given(observations=st.lists(st.tuples(FEATURES, NUMBERS), max_size=12))
def test_evidence_adds_up_in_any_order(observations: list[tuple[tuple[float, ...], float]]) -> None:
    forwards, backwards = learned(*observations), learned(*reversed(observations))
    assert forwards.sums == pytest.approx(backwards.sums, abs=1e-6)
    assert forwards.observations == backwards.observations == len(observations)


def test_evidence_that_is_not_kept_is_gone_entirely() -> None:
    old, new = learned((OWN.sds, 5.0)), learned((OWN.sds, 7.0))
    assert old.followed_by(new, kept=0.0) == new


def test_evidence_keeps_its_latest_day_and_that_it_was_reopened() -> None:
    first = Evidence(seen=date(2026, 1, 1), reopened=True)
    assert first.followed_by(Evidence(seen=DAY), kept=0.5) == Evidence(seen=DAY, reopened=True)
    assert first.followed_by(Evidence(), kept=0.5).seen == date(2026, 1, 1)


def test_only_misses_larger_than_predicted_change_the_scale() -> None:
    assert Evidence(weight=10.0, squares=10.0).scale == 1.0
    assert Evidence().scale == 1.0
    assert Evidence(weight=10.0, squares=0.0).scale == 1.0
    assert Evidence(weight=10.0, squares=200.0).scale > 2.0


@given(features=FEATURES)
def test_nothing_observed_predicts_the_prior(features: tuple[float, ...]) -> None:
    mean, variance = Posterior(OWN.sds, Evidence().sums).predict(features)
    assert mean == 0.0
    expected = sum((sd * value) ** 2 for sd, value in zip(OWN.sds, features, strict=True))
    assert variance == pytest.approx(expected)


def test_a_posterior_agrees_with_the_formula_for_one_feature() -> None:
    features = (1.0,) + (0.0,) * 7
    mean, variance = Posterior(OWN.sds, learned((features, 12.0), (features, 8.0)).sums).predict(features)
    precision = 1 / OWN.sds[0] ** 2 + 2 / 4.0
    assert variance == pytest.approx(1 / precision)
    assert mean == pytest.approx((12.0 + 8.0) / 4.0 / precision)


def test_a_posterior_finds_weights_that_explain_the_observations() -> None:
    weights = (30.0, 50.0, 0.1, 5.0, 0.02, -0.03, 2.0, 10.0)
    rows = [
        tuple(float((row * 7 + place * 3) % 11 + (row == place)) for place in range(8)) for row in range(40)
    ]
    truth = [sum(a * b for a, b in zip(weights, row, strict=True)) for row in rows]
    wide = (1_000.0,) * 8
    posterior = Posterior(wide, learned(*zip(rows, truth, strict=True)).sums)
    assert [posterior.predict(row)[0] for row in rows] == pytest.approx(truth, rel=0.01, abs=0.5)


def test_sums_of_no_observations_are_refused() -> None:
    with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
        Posterior(OWN.sds, (-1e9, *Evidence().sums[1:]))


def test_noise_grows_with_the_tokens_and_most_with_images() -> None:
    text = Sample((1, 0, 0, 0, 1_000, 0, 1, 0), 1_000, 0)
    trust = Trust(OWN.sds, noise_sds=(2.0, 0, 0, 0, 0.01, 0, 0, 0))
    assert trust.noise(INTERCEPT) == 4.0
    assert trust.noise(text) == pytest.approx(4.0 + 10.0**2)
    assert trust.noise(Sample(text.features, 1_000, 800)) > 400.0**2


def test_models_of_a_family_differ_by_half_of_what_is_unknown() -> None:
    assert OWN.spread(INTERCEPT) == (OWN.sds[0] / 2) ** 2


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("ft:gpt-4o-mini-2024-07-18:acme:secret-project:id", "gpt-4o-mini-2024-07-18"),
        ("openai/ft:gpt-4o:acme::id", "openai/gpt-4o"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        (None, "unknown"),
        ("", "unknown"),
    ],
)
def test_a_fine_tuned_model_is_kept_under_its_base(model: str | None, base: str) -> None:
    assert base_model(model) == base


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("claude-sonnet-4-5", "us.anthropic.claude-3-5-haiku-20241022-v1:0", True),
        ("claude-opus-4-6", "claude-opus-4-7", False),
        ("claude-opus-4-8", "anthropic/claude-sonnet-5", True),
        ("gpt-5-mini", "openai/gpt-5.4", True),
        ("gpt-4o", "gpt-5", False),
        ("us.amazon.nova-2-lite-v1:0", "us.amazon.nova-micro-v1:0", False),
        ("gemini-2.5-flash", "google/gemini-2.5-pro", True),
        ("7b", "8b", False),
    ],
)
def test_models_of_one_name_and_generation_are_a_family(one: str, other: str, same: bool) -> None:
    assert (family_of(one) == family_of(other)) is same


@pytest.mark.parametrize(
    ("model", "counter", "trust"),
    [
        ("gpt-5", "o200k_base", OWN),
        ("gpt-5", "cl100k_base", RELATED),
        ("claude-sonnet-4-5", "ctok-v3", OWN),
        ("claude-sonnet-4-5", "claude-v3", RELATED),
        ("claude-sonnet-4-5", "o200k_base", RELATED),
        ("claude-sonnet-5-5", "ctok-v4.8", RELATED),
        ("gemini-2.5-flash", "o200k_base", RELATED),
        ("deepseek-chat", "o200k_base", FOREIGN),
    ],
)
def test_a_models_own_tokenizer_is_trusted_most(model: str, counter: str, trust: Trust) -> None:
    assert trust_of(model, counter) is trust


@given(
    total=st.integers(min_value=0, max_value=10**6),
    parts=st.dictionaries(
        st.sampled_from(["system", "user_text", "tool_call"]), st.integers(min_value=0, max_value=10**5)
    ),
)
def test_a_split_adds_up_to_its_total_and_has_no_part_below_zero(total: int, parts: dict[str, int]) -> None:
    shape = Shape(sum(parts.values()), {(kind, None): tokens for kind, tokens in parts.items()}, {})
    split = split_by_kind(total, shape)
    assert sum(split.values()) == total
    assert all(tokens >= 0 for tokens in split.values())


def test_tokens_that_no_block_has_are_of_another_kind() -> None:
    assert split_by_kind(5, Shape(0, {}, {})) == {"other": 5}
    assert split_by_kind(0, Shape(0, {}, {})) == {}


def test_what_a_request_is_spared_is_no_part_below_zero() -> None:
    shape = Shape(6, {("system", None): -4, ("user_text", None): 10}, {})
    assert split_by_kind(6, shape) == {"system": 0, "user_text": 6}


def test_a_kind_stands_for_all_of_its_tools() -> None:
    shape = Shape(40, {("tool_result", "a"): 10, ("tool_result", "b"): 30}, {})
    assert split_by_kind(80, shape) == {"tool_result": 80}
