"""Generate: the run stepped one token at a time, with each distribution before each choice."""

import streamlit as st

from core.components.generate import generate, header
from core.lessons.generate import candidates, choices, facts, ribbon
from core.ui.generate import answered, labels, on_event, run_key
from core.ui.page import Page, open_page

page = open_page("generate", grid=False)


@st.fragment
def live() -> None:
    """What a step changes: drawn alone, so that a step costs little more than the model's own time."""
    now = Page("generate", page.session, page.model)
    run, codec, params = now.run, now.model.codec, now.session.params
    run.limit(now.session.link.tokens)
    now.grid()
    generate(
        header(
            run_key=run_key(now.session),
            tokens=ribbon(codec, run.prompt_ids + tuple(step.token_id for step in run.steps)),
            prompt_length=len(run.prompt_ids),
            chosen=choices(run.steps, params),
            state=facts(run),
            params=params,
            names=candidates(codec, run.tip.logits),
            layers=now.model.shape.n_layers,
            labels=labels(),
            position=now.selection.position,
            **answered(now.session),
        ),
        run.tip.logits,
        on_event(now.session),
    )
    now.sync_link()


live()
page.intro()
