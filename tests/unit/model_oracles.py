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


def dot(query, key):
    return query @ key


def additive(query, key):
    return sum(np.tanh(q + k) for q, k in zip(query, key, strict=True))


def gaussian(query, key):
    return -sum((q - k) ** 2 for q, k in zip(query, key, strict=True)) / 2


SCORES_OF = {"dot": dot, "additive": additive, "gaussian": gaussian}


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
    score = SCORES_OF[model.options.score]
    return attention_of(query, key, value, mask=mask, scale=scale, bias=bias, score=score)


def attention_of(query, key, value, *, mask, scale, bias=None, score=dot):
    """(output, pattern) by loops over queries and the keys that each may see."""
    length = len(key)
    pattern = np.zeros((length, length))
    for q in range(length):
        seen = {
            "causal": range(q + 1), "none": range(length), "published": range(q, length)
        }[mask]  # fmt: skip
        scores = np.array([scale * score(query[q], key[k]) for k in seen])
        if bias is not None:
            scores = scores + bias[q, list(seen)]
        weights = np.exp(scores - scores.max())
        pattern[q, list(seen)] = weights / weights.sum()
    return pattern @ value, pattern


def normalised(rows, norm, name):
    if name == "RMSNorm":
        size = np.sqrt((rows**2).mean(axis=1, keepdims=True) + 1e-5)
        return rows / size * as_float64(norm.weight)
    centred = rows - rows.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    return centred / spread * as_float64(norm.weight) + as_float64(norm.bias)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def silu(x):
    return x / (1 + np.exp(-x))


ACTIVATIONS = {"gelu": gelu, "relu": lambda x: np.maximum(x, 0), "silu": silu, "tanh": np.tanh}


def transformer_forward(
    model, tokens, *, positions, turn=None, bias_of=lambda head: None, cut=None
):
    """(logits, patterns by layer and head, activations by site) of a stack, head after head.

    With `cut` = (layer, reader, writer, names), the reader's inputs of these names are computed
    without what the writer of the layer below has added to the rows.
    """
    options = model.options
    factor = {
        "1/sqrt(d)": options.d_attn**-0.5, "none": 1.0, "temperature": 1 / options.temperature
    }[options.scale]  # fmt: skip
    rows, patterns = attention_inputs(tokens, as_float64(model.tokens), positions), []
    sites = {"embedding": rows}

    def layer_norm(some_rows, norm):
        return normalised(some_rows, norm, options.normaliser)

    def affine(inputs, projection):
        return inputs @ as_float64(projection.weight) + as_float64(projection.bias)

    written = []
    for number, layer in enumerate(model.layers):
        pre, post = (options.normalisation == name for name in ("pre", "post"))
        inputs = layer_norm(rows, layer.normalisations[0]) if pre else rows
        mixed, of_layer, below, written = as_float64(layer.output.bias), [], written, []
        for head in range(options.heads):
            width = options.d_value or options.d_attn
            compared = slice(head * options.d_attn, (head + 1) * options.d_attn)
            read = slice(head * width, (head + 1) * width)
            seen = dict.fromkeys(("query", "key", "value"), inputs)
            if cut is not None and cut[:2] == (number, head):
                without = rows - below[cut[2]]
                without = layer_norm(without, layer.normalisations[0]) if pre else without
                seen |= dict.fromkeys(cut[3], without)
            query, key = (affine(seen[n], getattr(layer, n))[:, compared] for n in ("query", "key"))
            value = affine(seen["value"], layer.value)[:, read]
            if turn is not None:
                query, key = turn(query), turn(key)
            output, pattern = attention_of(
                query, key, value, mask=options.mask, scale=factor, bias=bias_of(head),
                score=SCORES_OF[options.score],
            )  # fmt: skip
            written.append(output @ as_float64(layer.output.weight)[read])
            mixed = mixed + written[-1]
            of_layer.append(pattern)
        patterns.append(of_layer)
        rows = rows + mixed if options.residual == "with" else mixed
        rows = layer_norm(rows, layer.normalisations[0]) if post else rows
        sites[f"attention.{number}"] = rows
        if options.mlp_width:
            inputs = layer_norm(rows, layer.normalisations[1]) if pre else rows
            wide, narrow = layer.mlp
            made = affine(ACTIVATIONS[options.activation](affine(inputs, wide)), narrow)
            rows = rows + made if options.residual == "with" else made
            rows = layer_norm(rows, layer.normalisations[1]) if post else rows
            sites[f"mlp.{number}"] = rows
    if options.normalisation == "pre":
        rows = layer_norm(rows, model.normalisation)
    sites["final"] = rows
    if options.unembedding == "tied":
        logits = rows[:, : options.d_model] @ as_float64(model.tokens).T
        return logits + as_float64(model.unembedding), patterns, sites
    return affine(rows, model.unembedding), patterns, sites


def gru_logits(model, tokens):
    """Logits after every day, by the equations of Cho et al. (2014)."""
    gates, size = model.gates, model.gates.hidden_size
    from_day, from_state = as_float64(gates.weight_ih), as_float64(gates.weight_hh)
    bias, bias_new = as_float64(gates.bias), as_float64(gates.bias_n)
    state, logits = np.zeros(size), []
    for token in tokens:
        day, carried = from_day[:, token] + bias, from_state @ state
        reset, update = (
            1 / (1 + np.exp(-(day[part] + carried[part])))
            for part in (slice(0, size), slice(size, 2 * size))
        )
        last = slice(2 * size, 3 * size)
        new = np.tanh(day[last] + reset * (carried[last] + bias_new))
        state = (1 - update) * new + update * state
        logits.append(state @ as_float64(model.unembedding.weight) + model.unembedding.bias)
    return np.array(logits)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def unembedded(model, state):
    return state @ as_float64(model.unembedding.weight) + as_float64(model.unembedding.bias)


def lstm_logits(model, tokens):
    """Logits after every token, by the equations of Hochreiter and Schmidhuber with a forget gate.

    Equinox stacks the rows of the input, forget, candidate and output gates.
    """
    gates, size = model.gates, model.gates.hidden_size
    by_gate = [slice(part * size, (part + 1) * size) for part in range(4)]
    from_token, from_state, bias = (
        as_float64(part) for part in (gates.weight_ih, gates.weight_hh, gates.bias)
    )
    state, memory, logits = np.zeros(size), np.zeros(size), []
    for token in tokens:
        entered, forgotten, candidate, out = (
            np.array([from_token[row, token] + from_state[row] @ state + bias[row]
                      for row in range(part.start, part.stop)])
            for part in by_gate
        )  # fmt: skip
        memory = sigmoid(forgotten) * memory + sigmoid(entered) * np.tanh(candidate)
        state = sigmoid(out) * np.tanh(memory)
        logits.append(unembedded(model, state))
    return np.array(logits)


def rnn_logits(model, tokens):
    """Logits after every token of a state that goes through tanh."""
    state, logits = np.zeros(len(model.carried)), []
    for token in tokens:
        entered = as_float64(model.inputs.weight)[token] + as_float64(model.inputs.bias)
        carried = [sum(state * as_float64(model.carried)[:, part]) for part in range(len(state))]
        state = np.tanh(entered + carried)
        logits.append(unembedded(model, state))
    return np.array(logits)


def ssm_forward(model, tokens):
    """(logits, activations by site) after every token; the state is a sum over the past."""
    fading, entered = np.exp(-np.exp(as_float64(model.log_rates))), []
    for token in tokens:
        rows = as_float64(model.inputs.weight)[token] + as_float64(model.inputs.bias)
        entered.append(np.sqrt(1 - fading**2) * rows)
    rows = np.array(
        [sum(fading ** (t - s) * entered[s] for s in range(t + 1)) for t in range(len(tokens))]
    )
    sites = {"state": rows}
    if model.mlp is not None:
        rows = gelu(rows @ as_float64(model.mlp.weight) + as_float64(model.mlp.bias))
        sites["mlp.0"] = rows
    return unembedded(model, rows), sites


def conv_forward(model, tokens):
    """(logits, the shares of every layer by query and key), tap after tap, the nearest first."""
    options, length = model.options, len(tokens)
    rows, patterns = as_float64(model.tokens)[list(tokens)], []
    for number, layer in enumerate(model.layers):
        kernel = as_float64(layer.weight).reshape(options.kernel_size, options.d_model, -1)
        stride = options.dilation**number
        pattern, made = np.zeros((length, length)), np.zeros(rows.shape)
        for t in range(length):
            made[t] = as_float64(layer.bias)
            for tap in range(options.kernel_size):
                if t - tap * stride < 0:
                    continue
                made[t] = made[t] + rows[t - tap * stride] @ kernel[tap]
                pattern[t, t - tap * stride] = np.linalg.norm(kernel[tap])
            pattern[t] /= pattern[t].sum()
        rows = rows + ACTIVATIONS[options.activation](made)
        patterns.append(pattern)
    return np.array([unembedded(model, row) for row in rows]), patterns


def mlp_logits(model, tokens, activation):
    """Flattened one-hot tokens through the hidden layers."""
    rows = np.eye(VOCAB)[list(tokens)].ravel()
    for layer in model.layers:
        rows = activation(rows @ as_float64(layer.weight) + as_float64(layer.bias))
    return unembedded(model, rows)


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


def attention_parts(model):
    """The parameters of an attention model: its positions, then three pairs."""
    pairs = (model.query, model.key, model.value)
    return [model.positions, *(part for pair in pairs for part in pair)]


def attention_objective(experiment, parameters, sequences, weights):
    """Weighted sum of the objectives of an attention model, given its `attention_parts`."""
    positions, *pairs = parameters
    total = 0.0
    for days, weight in zip(sequences, weights, strict=True):
        inputs = attention_inputs(days[:-1], None, positions)
        query, key, value = (inputs @ pairs[i] + pairs[i + 1] for i in range(0, len(pairs), 2))
        scale = experiment.model.d_attn**-0.5
        logits, _ = attention_of(query, key, value, mask="causal", scale=scale)
        loss = experiment.training.loss
        total += weight * loss_of(log_softmax(logits), days, loss=loss, position=len(days) - 2)[0]
    return total


def numpy_gradient(loss, parameters, index, size=1e-5):
    """Central differences with respect to one array of `parameters`."""
    gradient = np.zeros_like(parameters[index])
    for place in np.ndindex(gradient.shape):
        ends = []
        for sign in (1, -1):
            moved = [part.copy() for part in parameters]
            moved[index][place] += sign * size
            ends.append(loss(moved))
        gradient[place] = (ends[0] - ends[1]) / (2 * size)
    return gradient
