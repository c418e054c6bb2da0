"""Records results of encoder–decoder models in double precision, like record.py.

    python3 record_encoder_decoders.py

Recorded with PyTorch 1.13 of Debian 12 (python3-torch), on the CPU.

expected.safetensors contains, for N source tokens and M target tokens: "ids" (N) and "targets" (M),
whose first token is the start token; "memory" (N, E), the output of the encoder; "hidden" (M, E), the
output of the decoder after its last norm; "logits" (M, V); the weights of each layer,
"encoder_weights.0" (H, N, N), "self_weights.0" (H, M, M) and "cross_weights.0" (H, M, N) and so on;
and "greedy" (8): the tokens with the largest logits after the start token, chosen one at a time. Each of
these logits exceeds the next smaller one by at least 1e-3.
"""

import math

import torch

from record import Weights, folder, frequencies, gelu_tanh, layer_norm, rms_norm, save, save_config, save_expected, silu

LENGTH, TARGETS = 13, 9


def attention(q, k, v, scale, bias=None, causal=False):
    """q is (M, H, D), k and v are (N, H, D). Returns weights (H, M, N) and joined heads (M, H·D)."""
    scores = scale * torch.einsum("ihd,jhd->hij", q, k)
    if bias is not None:
        scores = scores + bias
    if causal:
        i, j = torch.arange(q.shape[0])[:, None], torch.arange(k.shape[0])
        scores = scores.masked_fill(j > i, -math.inf)
    weights = torch.softmax(scores, -1)
    return weights, torch.einsum("hij,jhd->ihd", weights, v).flatten(1)


# T5 (arXiv:1910.10683). Version 1.1 has a gated feed-forward network (arXiv:2002.05202).


def t5_bucket(distance, buckets, most, bidirectional):
    """`distance` is the position of the key minus the position of the query."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    share = math.log(distance / exact) / math.log(most / exact)
    return first + min(exact + int(share * (buckets - exact) * (1 + 1e-14)), buckets - 1)


def t5_stack(w, how, name, ids, memory=None):
    """Returns the output, and the weights of self-attention and of cross attention in each layer."""
    is_decoder = memory is not None

    def linear(name, x):
        return x @ w[name + ".weight"].T

    def norm(name, x):
        return rms_norm(x, w[name + ".weight"], how["eps"])

    def attend(at, x, source, bias, causal):
        q, k, v = (linear(at + n, y).unflatten(-1, (how["heads"], -1)) for n, y in (("q", x), ("k", source), ("v", source)))
        weights, y = attention(q, k, v, 1.0, bias, causal)
        return weights, linear(at + "o", y)

    table = w[f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    places = range(len(ids))
    buckets = [[t5_bucket(j - i, how["buckets"], how["most"], not is_decoder) for j in places] for i in places]
    bias = table[torch.tensor(buckets)].permute(2, 0, 1)
    x = w["shared.weight"][ids]
    self_weights, cross_weights = [], []
    for layer in range(how["layers"][is_decoder]):
        at = f"{name}.block.{layer}.layer."
        y = norm(at + "0.layer_norm", x)
        weights, y = attend(at + "0.SelfAttention.", y, y, bias, is_decoder)
        x = x + y
        self_weights.append(weights)
        if is_decoder:
            weights, y = attend(at + "1.EncDecAttention.", norm(at + "1.layer_norm", x), memory, None, False)
            x = x + y
            cross_weights.append(weights)
        at += "2." if is_decoder else "1."
        y = norm(at + "layer_norm", x)
        if how["gated"]:
            y = gelu_tanh(linear(at + "DenseReluDense.wi_0", y)) * linear(at + "DenseReluDense.wi_1", y)
        else:
            y = torch.relu(linear(at + "DenseReluDense.wi", y))
        x = x + linear(at + "DenseReluDense.wo", y)
    return norm(name + ".final_layer_norm", x), self_weights, cross_weights


def t5(w, how, ids, targets):
    memory, encoder_weights, _ = t5_stack(w, how, "encoder", ids)
    hidden, self_weights, cross_weights = t5_stack(w, how, "decoder", targets, memory)
    if "lm_head.weight" in w:
        logits = hidden @ w["lm_head.weight"].T
    else:
        logits = hidden / math.sqrt(hidden.shape[-1]) @ w["shared.weight"].T
    return {"memory": memory, "hidden": hidden, "logits": logits, "encoder_weights": encoder_weights,
            "self_weights": self_weights, "cross_weights": cross_weights}


def t5_weights(w, c, how):
    e, f, inner = c["d_model"], c["d_ff"], c["d_kv"] * c["num_heads"]
    w.draw("shared.weight", c["vocab_size"], e, deviation=1.5)
    for stack, name in enumerate(("encoder", "decoder")):
        table = f"{name}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        w.draw(table, how["buckets"], c["num_heads"], deviation=1.0)
        for layer in range(how["layers"][stack]):
            at = f"{name}.block.{layer}.layer."
            kinds = ["SelfAttention", "EncDecAttention", "DenseReluDense"] if stack else ["SelfAttention", "DenseReluDense"]
            for i, kind in enumerate(kinds):
                w.draw(f"{at}{i}.layer_norm.weight", e, mean=1, deviation=0.2)
                if kind == "DenseReluDense":
                    for n in ("wi_0", "wi_1") if how["gated"] else ("wi",):
                        w.draw(f"{at}{i}.{kind}.{n}.weight", f, e)
                    w.draw(f"{at}{i}.{kind}.wo.weight", e, f)
                else:
                    # There is no scale of scores, so queries are small.
                    w.draw(f"{at}{i}.{kind}.q.weight", inner, e, deviation=(e * c["d_kv"]) ** -0.5)
                    for n in "kv":
                        w.draw(f"{at}{i}.{kind}.{n}.weight", inner, e)
                    w.draw(f"{at}{i}.{kind}.o.weight", e, inner)
        w.draw(name + ".final_layer_norm.weight", e, mean=1, deviation=0.2)
    if not c["tie_word_embeddings"]:
        w.draw("lm_head.weight", c["vocab_size"], e)


# Marian (arXiv:1804.00344): the Transformer of Vaswani et al. 2017, with all sines of the positional encoding before
# all cosines.


def sinusoids(count, width):
    """The first columns are the sines of all frequencies, and the other columns are the cosines."""
    angles = torch.arange(count)[:, None] * frequencies(width, 10000.0)
    return torch.cat([torch.sin(angles), torch.cos(angles)[:, : width // 2]], -1)


def marian_stack(w, how, name, ids, memory=None):
    is_decoder = memory is not None
    heads = how["heads"][is_decoder]

    def linear(name, x):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)

    def attend(at, x, source, causal):
        q, k, v = (linear(f"{at}{n}_proj", y).unflatten(-1, (heads, -1)) for n, y in (("q", x), ("k", source), ("v", source)))
        weights, y = attention(q, k, v, q.shape[-1] ** -0.5, None, causal)
        return weights, linear(at + "out_proj", y)

    x = w["model.shared.weight"][ids]
    if how["scaled"]:
        x = x * math.sqrt(x.shape[-1])
    table = w.get(f"model.{name}.embed_positions.weight")
    x = x + (sinusoids(len(ids), x.shape[-1]) if table is None else table[: len(ids)])
    self_weights, cross_weights = [], []
    for layer in range(how["layers"][is_decoder]):
        at = f"model.{name}.layers.{layer}."
        weights, y = attend(at + "self_attn.", x, x, is_decoder)
        x = norm(at + "self_attn_layer_norm", x + y)
        self_weights.append(weights)
        if is_decoder:
            weights, y = attend(at + "encoder_attn.", x, memory, False)
            x = norm(at + "encoder_attn_layer_norm", x + y)
            cross_weights.append(weights)
        y = linear(at + "fc2", how["activation"](linear(at + "fc1", x)))
        x = norm(at + "final_layer_norm", x + y)
    return x, self_weights, cross_weights


def marian(w, how, ids, targets):
    memory, encoder_weights, _ = marian_stack(w, how, "encoder", ids)
    hidden, self_weights, cross_weights = marian_stack(w, how, "decoder", targets, memory)
    logits = hidden @ w["model.shared.weight"].T + w["final_logits_bias"][0]
    return {"memory": memory, "hidden": hidden, "logits": logits, "encoder_weights": encoder_weights,
            "self_weights": self_weights, "cross_weights": cross_weights}


def marian_weights(w, c, how, table):
    e = c["d_model"]
    w.draw("model.shared.weight", c["vocab_size"], e, deviation=0.3)
    for stack, name in enumerate(("encoder", "decoder")):
        if table:
            w[f"model.{name}.embed_positions.weight"] = sinusoids(c["max_position_embeddings"], e).half().double()
        f = c[name + "_ffn_dim"]
        for layer in range(how["layers"][stack]):
            at = f"model.{name}.layers.{layer}."
            for kind in ("self_attn", "encoder_attn") if stack else ("self_attn",):
                for n in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    w.draw(f"{at}{kind}.{n}.weight", e, e)
                    w.draw(f"{at}{kind}.{n}.bias", e, deviation=0.2)
                w.draw(f"{at}{kind}_layer_norm.weight", e, mean=1, deviation=0.2)
                w.draw(f"{at}{kind}_layer_norm.bias", e, deviation=0.2)
            for n, rows, columns in (("fc1", f, e), ("fc2", e, f)):
                w.draw(f"{at}{n}.weight", rows, columns)
                w.draw(f"{at}{n}.bias", rows, deviation=0.2)
            w.draw(at + "final_layer_norm.weight", e, mean=1, deviation=0.2)
            w.draw(at + "final_layer_norm.bias", e, deviation=0.2)
    w.draw("final_logits_bias", 1, c["vocab_size"], deviation=0.5)


def record(path, run, w, start, vocabulary):
    ids = w.ids(vocabulary, LENGTH)
    targets = torch.cat([torch.tensor([start]), w.ids(vocabulary, TARGETS - 1)])
    said = [start]
    while len(said) < 9:
        best = run(ids, torch.tensor(said))["logits"][-1].topk(2)
        assert best.values[0] - best.values[1] >= 1e-3, path.name
        said.append(int(best.indices[0]))
    result = run(ids, targets)
    more = {"ids": ids, "targets": targets, "greedy": torch.tensor(said[1:])}
    for name in ("encoder_weights", "self_weights", "cross_weights"):
        more |= {f"{name}.{layer}": values for layer, values in enumerate(result.pop(name))}
    save_expected(path, result, **more)


def main():
    # T5, and the copies of the embedding and the unused table that its oldest files contain.
    config = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"], "vocab_size": 29, "d_model": 18,
              "d_kv": 5, "d_ff": 27, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 4,
              "relative_attention_num_buckets": 10, "relative_attention_max_distance": 11, "layer_norm_epsilon": 1e-6,
              "feed_forward_proj": "relu", "is_encoder_decoder": True, "tie_word_embeddings": True,
              "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "dropout_rate": 0.1}
    how = {"layers": (3, 2), "heads": 4, "buckets": 10, "most": 11, "gated": False, "eps": 1e-6}
    path, w = folder("t5"), Weights("F32", 30)
    t5_weights(w, config, how)
    record(path, lambda ids, targets: t5(w, how, ids, targets), w, 0, 29)
    copies = {f"{name}.embed_tokens.weight": w["shared.weight"] for name in ("encoder", "decoder")}
    copies["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = torch.ones(10, 4)
    save(path / "model.safetensors", w | copies, {"format": "pt"})
    save_config(path, config)

    # T5 1.1, whose output layer is not tied to the embedding.
    config |= {"vocab_size": 26, "d_model": 20, "d_kv": 6, "d_ff": 23, "num_layers": 2, "num_heads": 3,
               "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "decoder_start_token_id": 2,
               "dense_act_fn": "gelu_new", "is_gated_act": True, "layer_norm_epsilon": 1e-5}
    for name in ("num_decoder_layers", "relative_attention_num_buckets", "relative_attention_max_distance"):
        del config[name]
    how = {"layers": (2, 2), "heads": 3, "buckets": 32, "most": 128, "gated": True, "eps": 1e-5}
    path, w = folder("t5_gated"), Weights("BF16", 31)
    t5_weights(w, config, how)
    record(path, lambda ids, targets: t5(w, how, ids, targets), w, 2, 26)
    save(path / "model.safetensors", w, {"format": "pt"}, "BF16")
    save_config(path, config)

    # Marian, without a table of positions in the file and with one.
    config = {"model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": 27, "d_model": 21,
              "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 3, "decoder_attention_heads": 7,
              "encoder_ffn_dim": 34, "decoder_ffn_dim": 31, "activation_function": "swish", "scale_embedding": True,
              "static_position_embeddings": True, "normalize_before": False, "normalize_embedding": False,
              "add_final_layer_norm": False, "max_position_embeddings": 32, "is_encoder_decoder": True,
              "decoder_start_token_id": 26, "pad_token_id": 26, "eos_token_id": 0, "num_beams": 4}
    how = {"layers": (2, 3), "heads": (3, 7), "scaled": True, "activation": silu}
    path, w = folder("marian"), Weights("F32", 32)
    marian_weights(w, config, how, table=False)
    record(path, lambda ids, targets: marian(w, how, ids, targets), w, 26, 27)
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    config |= {"vocab_size": 31, "d_model": 20, "decoder_layers": 2, "encoder_attention_heads": 5, "decoder_attention_heads": 4,
               "activation_function": "relu", "scale_embedding": False, "max_position_embeddings": 17,
               "decoder_start_token_id": 30, "pad_token_id": 30}
    how = {"layers": (2, 2), "heads": (5, 4), "scaled": False, "activation": torch.relu}
    path, w = folder("marian_table"), Weights("F16", 33)
    marian_weights(w, config, how, table=True)
    record(path, lambda ids, targets: marian(w, how, ids, targets), w, 30, 31)
    copies = {name: w["model.shared.weight"] for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")}
    save(path / "model.safetensors", w | copies, {"format": "pt"}, "F16")
    save_config(path, config)


main()
