"""What the links of each version leave out: the value of a key that a link does not have.

Kept apart from the defaults of the options, which may change without changing the meaning of any
link: a link has what differs from the table. An option that came later needs no line, since a key
that the table lacks is always written. It may get one, which makes links shorter, with the default
that it came with; a line that is there never changes. Other defaults are a new version.
"""

from collections.abc import Mapping

LINK_VERSION = "2"

# Links of version 1 have every key. Those that people shortened by hand took these as well.
_FIRST: Mapping[str, str] = {
    "generator": "markov",
    "markov_initial": "0.3,0.4,0.3",
    "markov_transition": "0.6,0.3,0.1;0.3,0.4,0.3;0.2,0.3,0.5",
    "recall_days": "1,4,8",
    "recall_table_seed": "0",
    "recall_variant": "described",
    "ndays_n": "10",
    "dotmod_n": "10",
    "dotmod_noise": "0.04",
    "dotmod_variant": "described",
    "hmm_initial": "0.5,0.5",
    "hmm_moving": "0.9,0.1;0.2,0.8",
    "hmm_showing": "0.7,0.2,0.1;0.1,0.3,0.6",
    "custom_symbols": "🐱 🐶 🦊",
    "custom_order": "1",
    "custom_table": "0.1,0.8,0.1;0.1,0.1,0.8;0.8,0.1,0.1",
    "length": "10",
    "model": "attention",
    "d_attn": "6",
    "embedding": "one-hot",
    "d_model": "8",
    "position": "learned",
    "scalar_period": "20.0",
    "sinusoidal_base": "10000.0",
    "blog-described_base": "20.0",
    "blog-published_base": "20.0",
    "rotary_base": "10000.0",
    "alibi_slope": "0.5",
    "mask": "causal",
    "scale": "1/sqrt(d)",
    "temperature": "1.0",
    "initialisation": "scaled",
    "day_feature": "without",
    "loss": "last",
    "readout": "last",
    "learning_rate": "0.005",
    "batch_mode": "minibatch",
    "batch": "100",
    "steps": "500",
    "data": "fixed",
    "train_size": "5000",
    "test_size": "10000",
    "seed": "0",
}

# Options that came later, with the defaults that they came with.
_LATER: Mapping[str, str] = {
    "transformer_layers": "1",
    "transformer_heads": "3",
    "transformer_d_attn": "8",
    "transformer_d_model": "24",
    "transformer_mlp_width": "48",
    "transformer_residual": "with",
    "transformer_normalisation": "pre",
    "transformer_position": "learned",
    "transformer_mask": "causal",
    "transformer_scale": "1/sqrt(d)",
    "transformer_temperature": "1.0",
    "transformer_d_value": "0",
    "transformer_activation": "gelu",
    "transformer_normaliser": "LayerNorm",
    "transformer_score": "dot",
    "transformer_attention": "plain",
    "transformer_unembedding": "own",
    "score": "dot",
    "alibi_slopes": "equal",
    "gru_hidden_size": "32",
    "lstm_hidden_size": "32",
    "rnn_hidden_size": "32",
    "ssm_hidden_size": "32",
    "ssm_mlp_width": "64",
    "ssm_activation": "gelu",
    "conv_layers": "3",
    "conv_kernel_size": "3",
    "conv_dilation": "2",
    "conv_d_model": "24",
    "conv_activation": "gelu",
    "mlp_layers": "1",
    "mlp_mlp_width": "64",
    "mlp_activation": "gelu",
    "optimiser": "adam",
    "adamw_weight_decay": "0.01",
    "sgd_momentum": "0.9",
    "schedule": "constant",
    "warm_up": "0.1",
    "clip": "0.0",
}

DEFAULTS: Mapping[str, Mapping[str, str]] = dict.fromkeys(("1", LINK_VERSION), _FIRST | _LATER)
