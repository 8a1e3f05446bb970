"""Glossary: the terms used on the other pages."""

import streamlit as st

from attnlab.attention import MASKS
from attnlab.generators import GENERATORS, TASKS
from attnlab.models import ALL_MODELS
from attnlab.models.base import READOUTS
from attnlab.positions import POSITIONS
from attnlab.training.losses import LOSSES
from attnlab.ui.shell import ensure_shell

ensure_shell()
st.title("Glossary", anchor=False)
st.markdown(
    "The terms used on every page. A **generator** is the process that draws sequences of "
    "**days**; each day is a **token**, such as 🌧️ ☁️ ☀️. A model sees `length` days and predicts "
    "the next. In attention every day has a **query**, a **key** and a **value**; `d_attn` is the "
    "width of queries and keys. Query · key gives the **scores**, their softmax the **pattern**: "
    "each row is the attention of one query day and sums to 1. **Loss** is "
    "-log p(observed next day), in nats."
)
st.markdown(
    "The **floor** is the Bayes loss: the lowest expected loss of any predictor. It is the mean "
    "entropy of the next token given the past. The **ceiling** is the Bayes accuracy, that of "
    "always predicting the most probable next token. The expected loss of a model is the floor "
    "plus KL(true ‖ model). A **uniform guess** gives every token the same probability, with "
    "loss log 3 = 1.099 nats for three tokens. The **majority class** is the most common token. "
    "The share **learned** is (uniform − loss) / (uniform − floor). **Baselines** are the best "
    "predictors with less information: the token frequencies, the last k days, or all days "
    "linearly."
)
st.markdown(
    "**The blog post** is “Understanding what self-attention is doing” (10 May 2023). Settings "
    "called **published** follow its code, settings called **described** its text."
)

st.markdown(
    "A **task** is a process whose sequence is a given **source** and the **target** made from "
    "it. The **encoder** reads the source, the **decoder** writes the target one token at a "
    "time. In **cross-attention** the queries come from the decoder and the keys from the "
    "encoder. The **true alignment** says which source tokens a target token comes from. The "
    "**true dependence** says which of them change it while the earlier target tokens stay as "
    "they are. In training and test the decoder reads the true earlier tokens (**teacher "
    "forcing**). With **scheduled sampling** training replaces some of them by its own. **Exact "
    "match** is the share of targets that are entirely correct when the model decodes alone. "
    "**Greedy** decoding takes the most probable token each time; a **beam** of width k keeps "
    "the k most probable beginnings."
)

st.header("Buttons of a run", anchor=False)
st.markdown(
    "**Start** (key S) trains to the last step; after a pause it is called **Continue**. "
    "**Pause** (P) stops within a tenth of a second, or after one step if that takes longer, and "
    "keeps everything. **Step** (N) pauses, then takes exactly one step. **Reset** (B) goes back "
    "to step 0 with the same seed, and so the same data and initial weights; it also applies "
    "changed settings. **New seed** (D) draws another seed and resets."
)

_TERMS = {
    "Generators": {name: kind.summary for name, kind in GENERATORS.items()},
    "Tasks": {
        name: kind.summary.removeprefix("Task: ").capitalize() for name, kind in TASKS.items()
    },
    "Models": {name: kind.summary for name, kind in ALL_MODELS.items()},
    "Positional encodings": {name: kind.summary for name, kind in POSITIONS.items()},
    "Masks": {name: mask.__doc__ for name, mask in MASKS.items()},
    "Losses and readouts": {name: f"{text}." for name, text in (LOSSES | READOUTS).items()},
}
for title, terms in _TERMS.items():
    st.header(title, anchor=False)
    for name, text in terms.items():
        st.markdown(f"**{name}** · {text}")
