"""Generate: the run stepped one token at a time, with each distribution before each choice."""

from core.components.generate import generate, header
from core.lessons.generate import candidates, choices, facts, ribbon
from core.ui.generate import answered, labels, on_event, run_key
from core.ui.page import open_page

page = open_page("generate")
run, codec, params = page.run, page.model.codec, page.session.params
run.limit(page.session.link.tokens)
generate(
    header(
        run_key=run_key(page.session),
        tokens=ribbon(codec, run.prompt_ids + tuple(step.token_id for step in run.steps)),
        prompt_length=len(run.prompt_ids),
        chosen=choices(run.steps, params),
        state=facts(run),
        params=params,
        names=candidates(codec, run.tip.logits),
        layers=page.model.shape.n_layers,
        labels=labels(),
        position=page.selection.position,
        **answered(page.session),
    ),
    run.tip.logits,
    on_event(page.session),
)
page.intro()
