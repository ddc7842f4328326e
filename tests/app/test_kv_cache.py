"""The KV cache page with tiny models: bytes, windows, and both measurements."""

from __future__ import annotations

import pytest

from tests.app.test_shell import shown
from tests.app.test_timeline import failed_checks, measured, opened


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "qwen2_moe", "deepseek_v3"])
def test_every_check_passes_for_families_with_other_caches(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    app = opened(monkeypatch, "kv_cache", family, prompt="the cat is on", step="2", temperature="0")
    assert not app.exception and not failed_checks(app)
    assert len([item for item in app.caption if ":material/check_circle:" in item.value]) >= 2


@pytest.mark.parametrize("prompt", ["a", "the cat the cat the cat", "éé"])
def test_it_opens_with_any_prompt(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened(monkeypatch, "kv_cache", prompt=prompt)
    assert not app.exception and not failed_checks(app)
    assert "**Read from the cache**: nothing" in shown(app)


def test_a_step_adds_the_bytes_that_the_page_foretold(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "kv_cache", prompt="the cat", temperature="0")
    now, growth, _ = (metric.value for metric in app.metric)
    per_token = 2 * 3 * 2 * 8 * 4
    assert growth == f"{per_token} bytes"
    assert now == f"{3 * per_token / 1000:.3g} KB"
    app.button(key="nt_step_next").click().run()
    assert app.metric[0].value == f"{4 * per_token / 1000:.3g} KB"
    assert "keys and values of the 3 tokens before it" in shown(app)


def test_a_latent_cache_says_what_it_keeps_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "**one compressed vector** for all heads" in shown(opened(monkeypatch, "kv_cache", "deepseek_v3"))


def test_full_windows_say_that_they_have_stopped_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "kv_cache", "gemma3_text", prompt="a b c d e f g h")
    assert "Layers 0, 2 have **stopped growing**" in shown(app)
    app = opened(monkeypatch, "kv_cache", "gemma3_text", prompt="a")
    assert "it is not full yet" in shown(app)


def test_shared_heads_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "6 query heads share 2 K/V heads, 3 each" in shown(opened(monkeypatch, "kv_cache", prompt="the"))
    assert "query heads share" not in shown(opened(monkeypatch, "kv_cache", "gpt2", prompt="the"))


def test_the_same_step_is_measured_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "kv_cache", prompt="the cat is", step="1", temperature="0")
    app = measured(app, "nt_measure_start_step")
    assert not app.exception and not failed_checks(app)
    text = shown(app)
    assert "**With the cache**: 1 column" in text and "multiply-adds" in text
    assert any("Logits with the cache against those without" in item.value for item in app.caption)


def test_a_whole_answer_is_measured_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "kv_cache", prompt="the cat is")
    app.select_slider(key="nt_kv_answer").set_value(8).run()
    app = measured(app, "nt_measure_start_answer")
    assert not app.exception and not failed_checks(app)
    assert "8 tokens took" in shown(app)


def test_results_about_another_prompt_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    app = measured(opened(monkeypatch, "kv_cache", prompt="the cat is"), "nt_measure_start_step")
    assert "**With the cache**" in shown(app)
    app.button(key="nt_try_try_repeat").click().run()
    assert not app.exception
    assert "**With the cache**" not in shown(app)
