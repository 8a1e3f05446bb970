"""Forward passes and losses of the models in float64 NumPy, one sequence at a time."""

import numpy as np

VOCAB = 3


def as_float64(array):
    return np.asarray(array, dtype=np.float64)


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def attention_inputs(tokens, token_vectors, positions):
    """One-hot tokens, or their vectors, with the positions added or behind them."""
    content = np.eye(VOCAB)[tokens]
    if token_vectors is None:
        return np.hstack([content, positions])
    content = np.array([token_vectors[token] for token in tokens])
    if content.shape == positions.shape:
        return content + positions
    return np.hstack([content, positions])


def attention_forward(model, tokens, *, positions, mask, scale, turn=None, bias=None):
    """(logits, pattern) at every query, from the weights of an attention model.

    `turn` changes all queries, or all keys, before they meet.
    """
    vectors = None if model.tokens is None else as_float64(model.tokens)
    inputs = attention_inputs(tokens, vectors, positions)
    query, key, value = (
        inputs @ as_float64(part.weight) + as_float64(part.bias)
        for part in (model.query, model.key, model.value)
    )
    if turn is not None:
        query, key = turn(query), turn(key)
    return attention_of(query, key, value, mask=mask, scale=scale, bias=bias)


def attention_of(query, key, value, *, mask, scale, bias=None):
    """(output, pattern) by loops over queries and the keys that each may see."""
    length = len(key)
    pattern = np.zeros((length, length))
    for q in range(length):
        seen = {
            "causal": range(q + 1), "none": range(length), "published": range(q, length)
        }[mask]  # fmt: skip
        scores = np.array([scale * (query[q] @ key[k]) for k in seen])
        if bias is not None:
            scores = scores + bias[q, list(seen)]
        weights = np.exp(scores - scores.max())
        pattern[q, list(seen)] = weights / weights.sum()
    return pattern @ value, pattern


def linear_logits(weight, bias, tokens, *, day_feature=False):
    """Flattened one-hot days times the weights; a day may carry its number over 20."""
    rows = []
    for number, token in enumerate(tokens, start=1):
        rows.extend(float(token == weather) for weather in range(VOCAB))
        if day_feature:
            rows.append(number / 20)
    return np.array(rows) @ weight + bias


def loss_of(log_probs, days, *, loss, position):
    """(objective, nll) of one sequence, from log p at every position of the visible days."""
    final = days[-1]
    nll = -log_probs[position, final]
    if loss == "last":
        return nll, nll
    if loss == "next":
        each = [-log_probs[t, days[t + 1]] for t in range(len(days) - 1)]
        return sum(each) / len(each), nll
    return sum(-log_probs[t, final] for t in range(len(days) - 1)), nll
