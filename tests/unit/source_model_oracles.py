"""Forward passes of the models that read a source, by loops in float64 NumPy."""

import numpy as np

from tests.unit.model_oracles import (
    as_float64,
    attention_of,
    gelu,
    normalised,
    sigmoid,
)


def affine(part, rows):
    return rows @ as_float64(part.weight) + as_float64(part.bias)


def _heads(layer, asking, keys_of, mask, heads):
    """What a layer's heads give the rows `asking` from `keys_of`, and their patterns."""
    query, key, value = (
        np.split(affine(part, rows), heads, axis=1)
        for part, rows in ((layer.query, asking), (layer.key, keys_of), (layer.value, keys_of))
    )
    found = []
    for q, k, v in zip(query, key, value, strict=True):
        if mask == "causal":
            found.append(attention_of(q, k, v, mask="causal", scale=q.shape[1] ** -0.5))
            continue
        scores = q @ k.T / np.sqrt(q.shape[1])
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        pattern = weights / weights.sum(axis=1, keepdims=True)
        found.append((pattern @ v, pattern))
    outputs = np.hstack([output for output, _ in found])
    return affine(layer.output, outputs), [pattern for _, pattern in found]


def _mlp(layer, rows):
    if layer.mlp is None:
        return rows
    wide, narrow = layer.mlp
    return rows + affine(narrow, gelu(affine(wide, normalised(rows, layer.normalisations[1], ""))))


def encoder_decoder_forward(model, source, written):
    """(logits, patterns in the order of the trace), with learned positions and `pre`."""
    heads, tokens = model.options.heads, as_float64(model.tokens)
    of_source, of_target = (as_float64(table) for table in model.positions)
    rows, patterns = tokens[list(source)] + of_source, []
    for layer in model.encoder:
        read = normalised(rows, layer.normalisations[0], "")
        added, pattern = _heads(layer, read, read, "none", heads)
        rows = _mlp(layer, rows + added)
        patterns.append(pattern)
    encoded = normalised(rows, model.normalisations[0], "")
    begun = [len(tokens) - 1, *written]
    rows = tokens[begun] + of_target[: len(begun)]
    for layer, cross in zip(model.decoder, model.crossing, strict=True):
        read = normalised(rows, layer.normalisations[0], "")
        added, pattern = _heads(layer, read, read, "causal", heads)
        rows = rows + added
        patterns.append(pattern)
        read = normalised(rows, cross.normalisations[0], "")
        added, pattern = _heads(cross, read, encoded, "none", heads)
        rows = _mlp(cross, rows + added)
        patterns.append(pattern)
    return affine(model.unembedding, normalised(rows, model.normalisations[1], "")), patterns


def _after(cell, carried, x):
    gates, h = cell.gates, carried[0]
    if cell.kind == "tanh":
        inputs = as_float64(gates.inputs.weight), as_float64(gates.inputs.bias)
        return [np.tanh(x @ inputs[0] + inputs[1] + h @ as_float64(gates.carried))]
    from_x = as_float64(gates.weight_ih) @ x + as_float64(gates.bias) * (cell.kind == "lstm")
    from_h = as_float64(gates.weight_hh) @ h
    if cell.kind == "lstm":
        i, f, g, o = np.split(from_x + from_h, 4)
        memory = sigmoid(f) * carried[1] + sigmoid(i) * np.tanh(g)
        return [sigmoid(o) * np.tanh(memory), memory]
    from_x = from_x + as_float64(gates.bias)
    reset, update, new = zip(np.split(from_x, 3), np.split(from_h, 3), strict=True)
    r, z = sigmoid(sum(reset)), sigmoid(sum(update))
    n = np.tanh(new[0] + r * (new[1] + as_float64(gates.bias_n)))
    return [n + z * (h - n)]


def encoded_rnn_forward(model, source, written):
    """(logits, patterns) of the recurrent families."""
    vocab, size = model.vocab, model.options.hidden_size
    carried = [np.zeros(size) for _ in range(2 if model.encoder.kind == "lstm" else 1)]
    states = []
    for token in source:
        carried = _after(model.encoder, carried, np.eye(vocab)[token])
        states.append(carried[0])
    logits, pattern = [], []
    for token in (None, *written):
        x = np.zeros(vocab) if token is None else np.eye(vocab)[token]
        if model.heads is not None:
            query = affine(model.heads.query, carried[0])
            keys = [affine(model.heads.key, state) for state in states]
            score = {
                "additive": lambda q, k: as_float64(model.heads.weights) @ np.tanh(q + k),
                "dot": lambda q, k: q @ k,
                "scaled": lambda q, k: q @ k / np.sqrt(len(q)),
            }[model.options.score]
            weights = np.exp([score(query, key) for key in keys])
            pattern.append(weights / weights.sum())
            x = np.concatenate([x, sum(w * s for w, s in zip(pattern[-1], states, strict=True))])
        carried = _after(model.decoder, carried, x)
        logits.append(affine(model.unembedding, carried[0]))
    return np.array(logits), [[np.array(pattern)]] if pattern else []
