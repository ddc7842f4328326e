"""The promise of links: what is written is read back, and nothing in an address can break a page."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.decoding.params import SamplingParams
from core.ui.links import MAX_TOKEN_LIMIT, NAMES, Link, format_link, parse, writable

text = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=60)
place = st.none() | st.integers(0, 2000)


@st.composite
def link_values(draw: st.DrawFn) -> Link:
    tokens = draw(st.integers(1, MAX_TOKEN_LIMIT))
    step = draw(st.integers(0, tokens))
    taken = draw(st.dictionaries(st.integers(0, MAX_TOKEN_LIMIT - 1), st.integers(0, 200_000), max_size=4))
    return Link(
        prompt=draw(text),
        model=draw(st.sampled_from(["smollm2-135m", "org/Model-1.5", "/models/my model", "C:\\models\\x"])),
        chat=draw(st.booleans()),
        literal=draw(st.booleans()),
        tokens=tokens,
        seed=draw(st.integers(0, 2**53 - 1)),
        temperature=draw(st.floats(0, 100, allow_subnormal=False)),
        top_k=draw(st.integers(0, 60_000)),
        top_p=draw(st.floats(0, 1, allow_subnormal=False)),
        min_p=draw(st.floats(0, 1, allow_subnormal=False)),
        penalty=draw(st.floats(0.01, 10)),
        step=step,
        ahead=draw(st.integers(0, tokens - step)),
        taken=tuple(sorted(taken.items())),
        layer=draw(place),
        head=draw(place),
        position=draw(place),
    )


@given(link_values())
def test_a_written_link_reads_back_equal(link: Link) -> None:
    assert parse(format_link(link)) == (link, ())


@given(st.dictionaries(st.sampled_from(sorted(NAMES)) | st.text(max_size=8), st.text(max_size=12)))
def test_any_address_gives_a_usable_link(query: dict[str, str]) -> None:
    link, refused = parse(query)
    assert isinstance(link.params(), SamplingParams)
    assert 0 <= link.step <= link.step + link.ahead <= link.tokens <= MAX_TOKEN_LIMIT
    assert set(refused) <= NAMES
    assert parse(format_link(link)) == (link, ())


@given(st.text(st.characters(categories=["Cs", "Cc", "L"]), max_size=30))
def test_typed_text_can_stand_in_a_link(typed: str) -> None:
    link = Link(prompt=writable(typed))
    assert parse(format_link(link)) == (link, ())
    assert writable(link.prompt) == link.prompt


def test_defaults_are_left_out_of_the_address() -> None:
    assert format_link(Link()) == {}
    assert format_link(Link(prompt="Hi", step=2, layer=0)) == {"prompt": "Hi", "step": "2", "layer": "0"}


def test_malformed_values_keep_their_default_and_are_named() -> None:
    query = {
        "prompt": "Hi",
        "chat": "yes",
        "tokens": "-3",
        "temperature": "nan",
        "top_p": "1.5",
        "top_k": "1e3",
        "layer": "two",
        "head": "١",
        "seed": "99999999999999999999",
        "taken": "5:1,2:1",
        "model": "a\nb",
    }
    link, refused = parse(query)
    assert link == Link(prompt="Hi")
    assert set(refused) == set(query) - {"prompt"}


def test_unknown_names_are_no_complaint() -> None:
    assert parse({"utm_source": "x", "stop": "3"}) == (Link(), ())


def test_a_step_beyond_the_token_limit_goes_back_to_the_limit() -> None:
    link, refused = parse({"tokens": "5", "step": "9"})
    assert (link.step, link.ahead, refused) == (5, 0, ("step",))


def test_an_empty_prompt_is_kept_as_empty() -> None:
    assert parse({"prompt": ""})[0].prompt == ""
    assert format_link(Link(prompt="")) == {"prompt": ""}


def test_integers_are_fine_where_numbers_are_asked_for() -> None:
    assert parse({"temperature": "1"})[0].temperature == 1.0
    assert parse({"temperature": "0"})[0].params().greedy
