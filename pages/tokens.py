"""Tokens: from text to words, merges, tokens and ids; other tokenizers, other languages, the template."""

import streamlit as st

from core.charts.tokens import language_heatmap
from core.components.tokens import merge_player, token_list, tokenizer_rows
from core.lessons.tokens import MEASURES, count, language_table, origins, replay_errors, samples, word_stories
from core.ui.guess import guess_first
from core.ui.page import Page, Try, open_page
from core.ui.tokens import chooser, chosen_tokenizers, labels, merge_table

EXPERIMENTS = {
    "try_numbers": "The year 1969, 384400 km, pi = 3.14159265",
    "try_rare": "antidisestablishmentarianism and floccinaucinihilipilification",
    "try_emoji": "My family 👩‍👩‍👧‍👦 loves 🍜",
    "try_code": "def add(a, b):\n    return a + b",
    "try_thai": "สวัสดี hello",
    "try_spaces": "a  b   c    d",
    "try_special": "The end<|im_end|> or not?",
}

page = open_page("tokens", grid=False)
table = merge_table(page.model.codec, page.model.name)


def words(page: Page) -> None:
    """Each word of the prompt with its merges, played one by one."""
    page.section("words")
    if table is None:
        st.info(page.label("no_bpe"))
        return
    stories = word_stories(page.model.codec, table, page.run.prompt_ids)
    merge_player(
        stories,
        position=page.selection.position,
        table_rows=len(table.ranks),
        labels=labels(),
        on_choose=chooser(page),
    )
    page.check("check_replay", replay_errors(stories, page.run.prompt_ids), 0)


def listing(page: Page) -> None:
    """The tokens of the run with their ids, bytes and offsets."""
    page.section("list")
    codec, link, ids = page.model.codec, page.session.link, page.trace.token_ids
    chat = link.chat and codec.has_chat_template
    token_list(
        codec.pieces(ids),
        origins(codec, link.prompt, ids, len(page.run.prompt_ids), chat),
        position=page.selection.position,
        labels=labels(),
        on_choose=chooser(page),
    )
    page.tensor("input_ids", (1, page.trace.n_positions), "int64")
    page.check("check_round_trip", codec.round_trip(link.prompt, specials_as_text=link.literal).errors, 0)


def rule(page: Page) -> None:
    """The count as a formula, and what the chat template added."""
    codec, ids = page.model.codec, page.run.prompt_ids
    if table is not None:
        stories = word_stories(codec, table, ids)
        page.section("rule")
        page.formula(
            "count",
            letters=sum(len(story.letters) for story in stories),
            merges=sum(len(story.replay.merges) for story in stories),
            tokens=len(ids),
        )
    if page.session.link.chat and codec.has_chat_template:
        page.section("template")
        st.caption(page.label("template_text"))
        st.code(codec.decode(ids), language=None, wrap_lines=True)


@st.fragment
def comparison(page: Page) -> None:
    """Other tokenizers on the same text, and on the same sentence in many languages."""
    page.section("compare")
    chosen = chosen_tokenizers(page)
    text = page.session.link.prompt
    tokenizer_rows([count(name, *both, text) for name, both in chosen.items()], labels=labels())
    page.section("languages")
    measure = st.segmented_control(
        page.label("measure"),
        MEASURES,
        default=MEASURES[0],
        format_func=lambda name: page.label(f"measure_{name}"),
        key="nt_token_measure",
    )
    titles = [title for title, _ in chosen.values()]
    numbers = language_table({name: codec for name, (_, codec) in chosen.items()}, measure or MEASURES[0])
    rows = [[float(value) for value in row] for row in numbers]
    names = [sample.name for sample in samples()]
    page.figure(
        language_heatmap(numbers, names, titles, page.label("languages_hover"), page.theme),
        "languages",
        alt=page.label("languages_alt"),
        csv=([page.label("language"), *titles], [[n, *row] for n, row in zip(names, rows, strict=True)]),
        height=520,
    )
    with st.expander(page.label("samples")):
        st.dataframe([{page.label("language"): s.name, page.label("column_text"): s.text} for s in samples()])


page.intro()
page.try_this([Try(name, {"prompt": prompt}) for name, prompt in EXPERIMENTS.items()])
guess_first(page)
page.follow(words, listing)
rule(page)
comparison(page)
