"""Records results of language models in double precision, for the tests that read model files.

    python3 record.py

writes a folder for each model next to this file. The folder contains the model's files under the
names that its family uses (config.json, and model.safetensors or several files with an index), and
expected.safetensors. Every model is implemented here from the published equations, in plain tensor
operations. Weights are random, and sizes are unusual. Recorded with PyTorch 2.14.1 of Debian
unstable (python3-torch), on the CPU.

expected.safetensors contains, for N tokens: "ids" (N); "weights.0" (H, N, N) and so on, the weights
of each layer; "hidden" (N, E), the output of the last layer after the last norm; "logits" (N, V);
and for causal models "greedy" (12): the first four of `ids`, followed by the tokens with the largest
logits, chosen one at a time. Each of these logits exceeds the next smaller one by at least 1e-3. BERT
also has "token_types" (N) and "pooled" (E). Models without an embedding have "x" (N, E) instead of
"ids". Numbers are stored as float32, to within 6e-8.
"""

import json
import math
import pathlib
import shutil
import struct

import torch

HERE = pathlib.Path(__file__).parent
LENGTH = 13
torch.set_default_dtype(torch.float64)

FORMATS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64}


# Files


def save(path, tensors, metadata, dtype="F32"):
    """The format: https://huggingface.co/docs/safetensors"""
    header, data = {"__metadata__": metadata}, b""
    for key in sorted(tensors):
        own = "I64" if tensors[key].dtype == torch.int64 else dtype
        values = tensors[key].to(FORMATS[own]).contiguous()
        content = values.flatten().view(torch.uint8).numpy().tobytes()
        header[key] = {
            "dtype": own,
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def folder(name):
    path = HERE / name
    if path.exists():
        shutil.rmtree(path)
    path.mkdir()
    return path


def save_config(path, config):
    (path / "config.json").write_text(json.dumps(config, indent=1) + "\n")


class Weights(dict):
    """Random weights, rounded as in a file of this dtype."""

    def __init__(self, dtype, seed):
        super().__init__()
        self.dtype, self.generator = dtype, torch.Generator().manual_seed(seed)

    def draw(self, name, *shape, mean=0.0, deviation=None):
        if deviation is None:
            deviation = 1 / math.sqrt(shape[-1])
        values = mean + deviation * torch.randn(*shape, generator=self.generator)
        self[name] = values.to(FORMATS[self.dtype]).double()

    def ids(self, vocabulary, length=LENGTH):
        return torch.randint(vocabulary, (length,), generator=self.generator)


# Equations


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdim=True)
    return centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + eps) * weight + bias


def rms_norm(x, weight, eps):
    return x / torch.sqrt((x**2).mean(-1, keepdim=True) + eps) * weight


def gelu(x):
    return x * (1 + torch.erf(x / math.sqrt(2))) / 2


def gelu_tanh(x):
    return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2


def silu(x):
    return x / (1 + torch.exp(-x))


def rotate(x, frequencies, factor=1.0):
    """x is (N, H, D); column j is rotated together with column j + D/2."""
    angles = torch.arange(x.shape[0])[:, None] * frequencies
    cos, sin = factor * torch.cos(angles)[:, None], factor * torch.sin(angles)[:, None]
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def attention(q, k, v, causal, scale, window=None, softcap=None, sinks=None):
    """q is (N, H, D), k and v are (N, Hkv, D). Returns weights (H, N, N) and joined heads (N, H·D)."""
    length, heads, _ = q.shape
    k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    scores = scale * torch.einsum("ihd,jhd->hij", q, k)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    i, j = torch.arange(length)[:, None], torch.arange(length)
    if causal:
        scores = scores.masked_fill(j > i, -math.inf)
    if window:
        scores = scores.masked_fill(i - j >= window, -math.inf)
    if sinks is not None:
        column = sinks[:, None, None].expand(heads, length, 1)
        weights = torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]
    else:
        weights = torch.softmax(scores, -1)
    return weights, torch.einsum("hij,jhd->ihd", weights, v).flatten(1)


def frequencies(width, base):
    return base ** (-torch.arange(0, width, 2) / width)


def linear_frequencies(width, base, rule):
    return frequencies(width, base) / rule["factor"]


def dynamic_frequencies(width, base, rule, most, length):
    """NTK-aware frequencies for a sequence of `length` tokens. They differ from the usual ones if `length` exceeds `most`."""
    if length > most:
        ratio = rule["factor"] * length / most - (rule["factor"] - 1)
        base = base * ratio ** (width / (width - 2))
    return frequencies(width, base)


def llama3_frequencies(width, base, rule):
    plain, original = frequencies(width, base), rule["original_max_position_embeddings"]
    low, high = rule["low_freq_factor"], rule["high_freq_factor"]
    result = []
    for f in plain.tolist():
        wavelength = 2 * math.pi / f
        if wavelength < original / high:
            result.append(f)
        elif wavelength > original / low:
            result.append(f / rule["factor"])
        else:
            smooth = (original / wavelength - low) / (high - low)
            result.append((1 - smooth) * f / rule["factor"] + smooth * f)
    return torch.tensor(result)


def yarn_frequencies(width, base, rule):
    """Returns the frequencies, and the factor of cosines and sines (arXiv:2309.00071)."""
    plain, original = frequencies(width, base), rule["original_max_position_embeddings"]

    def place(rotations):
        return width * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = place(rule.get("beta_fast", 32)), place(rule.get("beta_slow", 1))
    if rule.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    if low == high:
        high += 0.001
    ramp = ((torch.arange(width // 2) - low) / (high - low)).clamp(0, 1)
    return (1 - ramp) * plain + ramp * plain / rule["factor"], 0.1 * math.log(rule["factor"]) + 1


# Families


def gpt2(w, config, ids, prefix=""):
    heads, eps = config["n_head"], config["layer_norm_epsilon"]
    x = w[prefix + "wte.weight"][ids] + w[prefix + "wpe.weight"][: len(ids)]
    shown = []
    for layer in range(config["n_layer"]):

        def conv1d(name, x):
            return x @ w[f"{at}{name}.weight"] + w[f"{at}{name}.bias"]

        def norm(name, x):
            return layer_norm(x, w[f"{at}{name}.weight"], w[f"{at}{name}.bias"], eps)

        at = f"{prefix}h.{layer}."
        q, k, v = conv1d("attn.c_attn", norm("ln_1", x)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (heads, -1)) for t in (q, k, v))
        weights, y = attention(q, k, v, True, q.shape[-1] ** -0.5)
        x = x + conv1d("attn.c_proj", y)
        x = x + conv1d("mlp.c_proj", gelu_tanh(conv1d("mlp.c_fc", norm("ln_2", x))))
        shown.append(weights)
    hidden = layer_norm(x, w[prefix + "ln_f.weight"], w[prefix + "ln_f.bias"], eps)
    return {"hidden": hidden, "logits": hidden @ w[prefix + "wte.weight"].T, "weights": shown}


def gpt2_weights(w, config, prefix=""):
    e, f = config["n_embd"], config.get("n_inner") or 4 * config["n_embd"]
    w.draw(prefix + "wte.weight", config["vocab_size"], e, deviation=0.7)
    w.draw(prefix + "wpe.weight", config["n_positions"], e, deviation=0.5)
    for layer in range(config["n_layer"]):
        at = f"{prefix}h.{layer}."
        for name, rows, columns in (
            ("attn.c_attn", e, 3 * e),
            ("attn.c_proj", e, e),
            ("mlp.c_fc", e, f),
            ("mlp.c_proj", f, e),
        ):
            w.draw(f"{at}{name}.weight", rows, columns, deviation=rows**-0.5)
            w.draw(f"{at}{name}.bias", columns, deviation=0.2)
        for name in ("ln_1", "ln_2"):
            w.draw(f"{at}{name}.weight", e, mean=1, deviation=0.2)
            w.draw(f"{at}{name}.bias", e, deviation=0.2)
    w.draw(prefix + "ln_f.weight", e, mean=1, deviation=0.2)
    w.draw(prefix + "ln_f.bias", e, deviation=0.2)


BERT_NAMES = {
    "word": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "type": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "layer": "encoder.layer.",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "norm1": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm2": "output.LayerNorm",
}
DISTILBERT_NAMES = BERT_NAMES | {
    "type": None,
    "layer": "transformer.layer.",
    "q": "attention.q_lin",
    "k": "attention.k_lin",
    "v": "attention.v_lin",
    "o": "attention.out_lin",
    "norm1": "sa_layer_norm",
    "up": "ffn.lin1",
    "down": "ffn.lin2",
    "norm2": "output_layer_norm",
}
BERT_HEAD = ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias")
ROBERTA_HEAD = ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
DISTILBERT_HEAD = ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias")


def bert(w, sizes, ids, types, prefix, names, head, first=0):
    heads, eps = sizes["heads"], sizes["eps"]

    def dense(name, x):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)

    words = w[prefix + names["word"] + ".weight"]
    x = words[ids] + w[prefix + names["position"] + ".weight"][first : first + len(ids)]
    if names["type"]:
        x = x + w[prefix + names["type"] + ".weight"][types]
    x = norm(prefix + names["norm"], x)
    shown = []
    for layer in range(sizes["layers"]):
        at = f"{prefix}{names['layer']}{layer}."
        q, k, v = (dense(at + names[n], x).unflatten(-1, (heads, -1)) for n in "qkv")
        weights, y = attention(q, k, v, False, q.shape[-1] ** -0.5)
        x = norm(at + names["norm1"], x + dense(at + names["o"], y))
        y = dense(at + names["down"], gelu(dense(at + names["up"], x)))
        x = norm(at + names["norm2"], x + y)
        shown.append(weights)
    result = {"hidden": x, "weights": shown}
    if head:
        transform, head_norm, bias = head
        result["logits"] = norm(head_norm, gelu(dense(transform, x))) @ words.T + w[bias]
    if prefix + "pooler.dense.weight" in w:
        result["pooled"] = torch.tanh(dense(prefix + "pooler.dense", x[0]))
    return result


def bert_weights(w, sizes, prefix, names, head, pooler):
    e, f = sizes["width"], sizes["hidden"]

    def dense(name, rows, columns):
        w.draw(name + ".weight", rows, columns)
        w.draw(name + ".bias", rows, deviation=0.2)

    def norm(name):
        w.draw(name + ".weight", e, mean=1, deviation=0.2)
        w.draw(name + ".bias", e, deviation=0.2)

    for name, rows in (("word", "vocabulary"), ("position", "positions"), ("type", "types")):
        if names[name]:
            w.draw(f"{prefix}{names[name]}.weight", sizes[rows], e, deviation=0.6)
    norm(prefix + names["norm"])
    for layer in range(sizes["layers"]):
        at = f"{prefix}{names['layer']}{layer}."
        for name in "qkvo":
            dense(at + names[name], e, e)
        dense(at + names["up"], f, e)
        dense(at + names["down"], e, f)
        norm(at + names["norm1"])
        norm(at + names["norm2"])
    if pooler:
        dense(prefix + "pooler.dense", e, e)
    if head:
        transform, head_norm, bias = head
        dense(transform, e, e)
        norm(head_norm)
        w.draw(bias, sizes["vocabulary"], deviation=0.2)


def dense(w, name, x):
    y = x @ w[name + ".weight"].T
    return y + w[name + ".bias"] if name + ".bias" in w else y


def gpt_neox(w, how, ids):
    """GPT-NeoX (arXiv:2204.06745), whose first columns of each head are rotated."""
    heads, width, eps = how["heads"], how["rotary_dim"], how["eps"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)

    def turn(x):
        return torch.cat([rotate(x[..., :width], frequencies(width, how["base"])), x[..., width:]], -1)

    x = w["gpt_neox.embed_in.weight"][ids]
    shown = []
    for layer in range(how["layers"]):
        at = f"gpt_neox.layers.{layer}."
        joined = dense(w, at + "attention.query_key_value", norm(at + "input_layernorm", x))
        # The rows of a head's query, key and value are adjacent.
        q, k, v = joined.unflatten(-1, (heads, 3, -1)).unbind(2)
        weights, y = attention(turn(q), turn(k), v, True, q.shape[-1] ** -0.5)
        middle = x + dense(w, at + "attention.dense", y)
        y = norm(at + "post_attention_layernorm", x if how["parallel"] else middle)
        x = middle + dense(w, at + "mlp.dense_4h_to_h", gelu(dense(w, at + "mlp.dense_h_to_4h", y)))
        shown.append(weights)
    hidden = norm("gpt_neox.final_layer_norm", x)
    return {"hidden": hidden, "logits": hidden @ w["embed_out.weight"].T, "weights": shown}


def gpt_neo(w, how, ids):
    """GPT-Neo: GPT-2 without a scale of scores, and with a window in some layers."""
    heads, eps = how["heads"], how["eps"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: len(ids)]
    shown = []
    for layer, window in enumerate(how["windows"]):
        at = f"transformer.h.{layer}."
        y = norm(at + "ln_1", x)
        q, k, v = (dense(w, f"{at}attn.attention.{n}_proj", y).unflatten(-1, (heads, -1)) for n in "qkv")
        weights, y = attention(q, k, v, True, 1.0, window=window)
        x = x + dense(w, at + "attn.attention.out_proj", y)
        y = gelu_tanh(dense(w, at + "mlp.c_fc", norm(at + "ln_2", x)))
        x = x + dense(w, at + "mlp.c_proj", y)
        shown.append(weights)
    hidden = norm("transformer.ln_f", x)
    return {"hidden": hidden, "logits": hidden @ w["transformer.wte.weight"].T, "weights": shown}


def opt(w, how, ids):
    """OPT (arXiv:2205.01068). The first token has the third row of the table of positions."""
    heads, first = how["heads"], how["norm_first"]

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], 1e-5)

    body = "model.decoder."
    x = w[body + "embed_tokens.weight"][ids]
    if body + "project_in.weight" in w:
        x = dense(w, body + "project_in", x)
    x = x + w[body + "embed_positions.weight"][2 : 2 + len(ids)]
    shown = []
    for layer in range(how["layers"]):
        at = f"{body}layers.{layer}."
        y = norm(at + "self_attn_layer_norm", x) if first else x
        q, k, v = (dense(w, f"{at}self_attn.{n}_proj", y).unflatten(-1, (heads, -1)) for n in "qkv")
        weights, y = attention(q, k, v, True, q.shape[-1] ** -0.5)
        x = x + dense(w, at + "self_attn.out_proj", y)
        x = x if first else norm(at + "self_attn_layer_norm", x)
        y = norm(at + "final_layer_norm", x) if first else x
        x = x + dense(w, at + "fc2", torch.relu(dense(w, at + "fc1", y)))
        x = x if first else norm(at + "final_layer_norm", x)
        shown.append(weights)
    hidden = norm(body + "final_layer_norm", x) if first else x
    y = dense(w, body + "project_out", hidden) if body + "project_out.weight" in w else hidden
    return {"hidden": hidden, "logits": y @ w[body + "embed_tokens.weight"].T, "weights": shown}


def draw_linear(w, name, rows, columns, bias=True):
    w.draw(name + ".weight", rows, columns)
    if bias:
        w.draw(name + ".bias", rows, deviation=0.2)


def draw_norm(w, name, width):
    w.draw(name + ".weight", width, mean=1, deviation=0.2)
    w.draw(name + ".bias", width, deviation=0.2)


def gpt_neox_weights(w, c):
    e, f = c["hidden_size"], c["intermediate_size"]
    w.draw("gpt_neox.embed_in.weight", c["vocab_size"], e, deviation=0.7)
    for layer in range(c["num_hidden_layers"]):
        at = f"gpt_neox.layers.{layer}."
        draw_linear(w, at + "attention.query_key_value", 3 * e, e)
        draw_linear(w, at + "attention.dense", e, e)
        draw_linear(w, at + "mlp.dense_h_to_4h", f, e)
        draw_linear(w, at + "mlp.dense_4h_to_h", e, f)
        draw_norm(w, at + "input_layernorm", e)
        draw_norm(w, at + "post_attention_layernorm", e)
    draw_norm(w, "gpt_neox.final_layer_norm", e)
    w.draw("embed_out.weight", c["vocab_size"], e)


def gpt_neo_weights(w, c):
    e, f = c["hidden_size"], c["intermediate_size"] or 4 * c["hidden_size"]
    w.draw("transformer.wte.weight", c["vocab_size"], e, deviation=0.7)
    w.draw("transformer.wpe.weight", c["max_position_embeddings"], e, deviation=0.5)
    for layer in range(c["num_layers"]):
        at = f"transformer.h.{layer}."
        for name in "qkv":
            draw_linear(w, f"{at}attn.attention.{name}_proj", e, e, bias=False)
        draw_linear(w, at + "attn.attention.out_proj", e, e)
        draw_linear(w, at + "mlp.c_fc", f, e)
        draw_linear(w, at + "mlp.c_proj", e, f)
        draw_norm(w, at + "ln_1", e)
        draw_norm(w, at + "ln_2", e)
    draw_norm(w, "transformer.ln_f", e)


def opt_weights(w, c):
    e, f, narrow = c["hidden_size"], c["ffn_dim"], c["word_embed_proj_dim"]
    body = "model.decoder."
    w.draw(body + "embed_tokens.weight", c["vocab_size"], narrow, deviation=0.7)
    w.draw(body + "embed_positions.weight", c["max_position_embeddings"] + 2, e, deviation=0.5)
    if narrow != e:
        draw_linear(w, body + "project_in", e, narrow, bias=False)
        draw_linear(w, body + "project_out", narrow, e, bias=False)
    for layer in range(c["num_hidden_layers"]):
        at = f"{body}layers.{layer}."
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            draw_linear(w, f"{at}self_attn.{name}", e, e)
        draw_linear(w, at + "fc1", f, e)
        draw_linear(w, at + "fc2", e, f)
        draw_norm(w, at + "self_attn_layer_norm", e)
        draw_norm(w, at + "final_layer_norm", e)
    if c["do_layer_norm_before"]:
        draw_norm(w, body + "final_layer_norm", e)


def decoder(w, how, ids):
    """Llama and its descendants. `how` contains sizes, options, and a rotation and a window for each layer."""
    heads, kv_heads, eps = how["heads"], how["kv_heads"], how["eps"]
    offset = 1.0 if how.get("zero_centred") else 0.0
    active = how.get("activation", silu)

    def norm(name, x):
        return rms_norm(x, offset + w[name + ".weight"], eps)

    def linear(name, x):
        y = x @ w[name + ".weight"].T
        return y + w[name + ".bias"] if name + ".bias" in w else y

    x = w["model.embed_tokens.weight"][ids]
    if how.get("scaled"):
        x = x * math.sqrt(x.shape[-1])
    shown = []
    for layer in range(how["layers"]):
        at = f"model.layers.{layer}."
        behind = how.get("norms_behind")  # OLMo 2 normalises outputs of sublayers but not their inputs, and queries and keys over all heads
        y = x if behind else norm(at + "input_layernorm", x)
        q, k = linear(at + "self_attn.q_proj", y), linear(at + "self_attn.k_proj", y)
        if behind:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        q, k = q.unflatten(-1, (heads, -1)), k.unflatten(-1, (kv_heads, -1))
        v = linear(at + "self_attn.v_proj", y).unflatten(-1, (kv_heads, -1))
        if at + "self_attn.q_norm.weight" in w and not behind:
            q, k = norm(at + "self_attn.q_norm", q), norm(at + "self_attn.k_norm", k)
        turn = how["turn"][layer]
        scale = how.get("scale", q.shape[-1] ** -0.5)
        weights, y = attention(
            *(turn(q), turn(k), v, True, scale),
            window=how.get("windows", [None] * how["layers"])[layer],
            softcap=how.get("softcap"),
            sinks=w.get(at + "self_attn.sinks"),
        )
        y = linear(at + "self_attn.o_proj", y)
        if behind:
            y = x = x + norm(at + "post_attention_layernorm", y)
        elif how.get("four_norms"):
            x = x + norm(at + "post_attention_layernorm", y)
            y = norm(at + "pre_feedforward_layernorm", x)
        else:
            x = x + y
            y = norm(at + "post_attention_layernorm", x)
        y = active(linear(at + "mlp.gate_proj", y)) * linear(at + "mlp.up_proj", y)
        y = linear(at + "mlp.down_proj", y)
        x = x + (norm(at + "post_feedforward_layernorm", y) if behind or how.get("four_norms") else y)
        shown.append(weights)
    hidden = norm("model.norm", x)
    logits = hidden @ w.get("lm_head.weight", w["model.embed_tokens.weight"]).T
    if how.get("final_softcap"):
        logits = how["final_softcap"] * torch.tanh(logits / how["final_softcap"])
    return {"hidden": hidden, "logits": logits, "weights": shown}


def decoder_weights(w, c, tied, qkv_bias=False, out_bias=False, qk_norm=False, four_norms=False, norms_behind=False, sinks=False, mean=1.0, embedding=0.7):
    e, f, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    kv, d = c["num_key_value_heads"], c.get("head_dim", e // heads)
    w.draw("model.embed_tokens.weight", c["vocab_size"], e, deviation=embedding)
    for layer in range(c["num_hidden_layers"]):
        at = f"model.layers.{layer}."
        for name, rows, columns, bias in (
            ("self_attn.q_proj", heads * d, e, qkv_bias),
            ("self_attn.k_proj", kv * d, e, qkv_bias),
            ("self_attn.v_proj", kv * d, e, qkv_bias),
            ("self_attn.o_proj", e, heads * d, out_bias),
            ("mlp.gate_proj", f, e, False),
            ("mlp.up_proj", f, e, False),
            ("mlp.down_proj", e, f, False),
        ):
            w.draw(f"{at}{name}.weight", rows, columns)
            if bias:
                w.draw(f"{at}{name}.bias", rows, deviation=0.3)
        norms = ["input_layernorm", "post_attention_layernorm"]
        if four_norms:
            norms += ["pre_feedforward_layernorm", "post_feedforward_layernorm"]
        if norms_behind:
            norms = ["post_attention_layernorm", "post_feedforward_layernorm"]
            w.draw(f"{at}self_attn.q_norm.weight", heads * d, mean=mean, deviation=0.2)
            w.draw(f"{at}self_attn.k_norm.weight", kv * d, mean=mean, deviation=0.2)
        for name in norms:
            w.draw(f"{at}{name}.weight", e, mean=mean, deviation=0.2)
        if qk_norm:
            for name in ("self_attn.q_norm", "self_attn.k_norm"):
                w.draw(f"{at}{name}.weight", d, mean=mean, deviation=0.2)
        if sinks:
            w.draw(at + "self_attn.sinks", heads, deviation=1.0)
    w.draw("model.norm.weight", e, mean=mean, deviation=0.2)
    if not tied:
        w.draw("lm_head.weight", c["vocab_size"], e)


def encoder(w, sizes, x, prefix="", causal=False, norm_first=False, active=torch.relu, turn=None):
    """torch.nn.TransformerEncoder and attn's encoder."""
    heads, eps = sizes["heads"], 1e-5

    def norm(name, x):
        return layer_norm(x, w[name + ".weight"], w[name + ".bias"], eps)

    shown = []
    for layer in range(sizes["layers"]):
        at = f"{prefix}layers.{layer}."

        def attend(x):
            q, k, v = (x @ w[at + "self_attn.in_proj_weight"].T + w[at + "self_attn.in_proj_bias"]).chunk(3, -1)
            q, k, v = (t.unflatten(-1, (heads, -1)) for t in (q, k, v))
            if turn:
                q, k = turn(q), turn(k)
            weights, y = attention(q, k, v, causal, q.shape[-1] ** -0.5)
            shown.append(weights)
            return y @ w[at + "self_attn.out_proj.weight"].T + w[at + "self_attn.out_proj.bias"]

        def feed(x):
            y = active(x @ w[at + "linear1.weight"].T + w[at + "linear1.bias"])
            return y @ w[at + "linear2.weight"].T + w[at + "linear2.bias"]

        if norm_first:
            x = x + attend(norm(at + "norm1", x))
            x = x + feed(norm(at + "norm2", x))
        else:
            x = norm(at + "norm1", x + attend(x))
            x = norm(at + "norm2", x + feed(x))
    if prefix + "norm.weight" in w:
        x = norm(prefix + "norm", x)
    return {"hidden": x, "weights": shown}


def encoder_weights(w, sizes, prefix="", final_norm=False):
    e, f = sizes["width"], sizes["hidden"]
    for layer in range(sizes["layers"]):
        at = f"{prefix}layers.{layer}."
        w.draw(at + "self_attn.in_proj_weight", 3 * e, e)
        w.draw(at + "self_attn.in_proj_bias", 3 * e, deviation=0.2)
        for name, rows, columns in (("self_attn.out_proj", e, e), ("linear1", f, e), ("linear2", e, f)):
            w.draw(f"{at}{name}.weight", rows, columns)
            w.draw(f"{at}{name}.bias", rows, deviation=0.2)
        for name in ("norm1", "norm2"):
            w.draw(f"{at}{name}.weight", e, mean=1, deviation=0.2)
            w.draw(f"{at}{name}.bias", e, deviation=0.2)
    if final_norm:
        w.draw(prefix + "norm.weight", e, mean=1, deviation=0.2)
        w.draw(prefix + "norm.bias", e, deviation=0.2)


# Recording


def greedy(run, ids):
    """Returns four tokens and the eight that follow, or None if two tokens are almost equally likely."""
    said = ids[:4].tolist()
    while len(said) < 12:
        best = run(torch.tensor(said))["logits"][-1].topk(2)
        if best.values[0] - best.values[1] < 1e-3:
            return None
        said.append(int(best.indices[0]))
    return torch.tensor(said)


def save_expected(path, result, **more):
    tensors = {name: values for name, values in more.items() if values is not None}
    for name, values in result.items():
        if name == "weights":
            tensors |= {f"weights.{layer}": w for layer, w in enumerate(values)}
        else:
            tensors[name] = values
    assert all(torch.isfinite(values).all() for values in tensors.values())
    save(path / "expected.safetensors", {k: v.double() for k, v in tensors.items()}, {})


def record(path, run, ids, causal=True, **more):
    said = greedy(run, ids) if causal else None
    assert said is not None or not causal, path.name
    save_expected(path, run(ids), ids=ids, greedy=said, **more)


def main():
    # GPT-2. The file of the smallest model has no prefix, and contains masks in addition to weights.
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 29, "n_positions": 19,
              "n_embd": 20, "n_layer": 2, "n_head": 4, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
    path, w = folder("gpt2"), Weights("F32", 1)
    gpt2_weights(w, config)
    record(path, lambda ids: gpt2(w, config, ids), w.ids(29))
    masks = {f"h.{layer}.attn.bias": torch.ones(1, 1, 19, 19).tril() for layer in range(2)}
    save(path / "model.safetensors", w | masks, {"format": "pt"})
    save_config(path, config)

    config |= {"vocab_size": 23, "n_positions": 16, "n_embd": 18, "n_layer": 3, "n_head": 3, "n_inner": 31, "layer_norm_epsilon": 1e-4}
    path, w = folder("gpt2_prefix"), Weights("F16", 2)
    gpt2_weights(w, config, "transformer.")
    record(path, lambda ids: gpt2(w, config, ids, "transformer."), w.ids(23))
    head = {"lm_head.weight": w["transformer.wte.weight"]}
    save(path / "model.safetensors", w | head, {"format": "pt"}, "F16")
    save_config(path, config)

    # BERT and related models
    sizes = {"vocabulary": 27, "positions": 17, "types": 2, "width": 21, "hidden": 35, "heads": 3, "layers": 2, "eps": 1e-12}
    config = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 27, "hidden_size": 21,
              "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 35, "hidden_act": "gelu",
              "max_position_embeddings": 17, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
              "position_embedding_type": "absolute", "hidden_dropout_prob": 0.1}
    path, w = folder("bert"), Weights("F32", 3)
    bert_weights(w, sizes, "bert.", BERT_NAMES, BERT_HEAD, True)
    ids, types = w.ids(27), (torch.arange(LENGTH) > 6).long()
    record(path, lambda ids: bert(w, sizes, ids, types, "bert.", BERT_NAMES, BERT_HEAD), ids, False, token_types=types)
    # The file uses the tensor names of the oldest BERT files.
    old = {k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): v for k, v in w.items()}
    more = {"cls.seq_relationship.weight": torch.ones(2, 21), "cls.seq_relationship.bias": torch.ones(2),
            "bert.embeddings.position_ids": torch.arange(17)[None]}
    save(path / "model.safetensors", old | more, {"format": "pt"})
    save_config(path, config)

    # BERT without a prefix and without a head, like the files of sentence encoders.
    path, w = folder("bert_plain"), Weights("F16", 4)
    bert_weights(w, sizes, "", BERT_NAMES, None, False)
    ids = w.ids(27)
    zeros = torch.zeros(LENGTH, dtype=torch.int64)
    record(path, lambda ids: bert(w, sizes, ids, zeros, "", BERT_NAMES, None), ids, False)
    save(path / "model.safetensors", w, {"format": "pt"}, "F16")
    save_config(path, config | {"architectures": ["BertModel"]})

    roberta = sizes | {"positions": 19, "types": 1, "eps": 1e-5}
    path, w = folder("roberta"), Weights("F16", 5)
    bert_weights(w, roberta, "roberta.", BERT_NAMES, ROBERTA_HEAD, False)
    record(path, lambda ids: bert(w, roberta, ids, zeros, "roberta.", BERT_NAMES, ROBERTA_HEAD, 2), 2 + w.ids(25), False)
    save(path / "model.safetensors", w, {"format": "pt"}, "F16")
    save_config(path, config | {"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "type_vocab_size": 1,
                                "max_position_embeddings": 19, "layer_norm_eps": 1e-5, "pad_token_id": 1})

    path, w = folder("distilbert"), Weights("F16", 6)
    bert_weights(w, sizes, "distilbert.", DISTILBERT_NAMES, DISTILBERT_HEAD, False)
    record(path, lambda ids: bert(w, sizes, ids, None, "distilbert.", DISTILBERT_NAMES, DISTILBERT_HEAD), w.ids(27), False)
    save(path / "model.safetensors", w, {"format": "pt"}, "F16")
    save_config(path, {"model_type": "distilbert", "vocab_size": 27, "dim": 21, "n_layers": 2, "n_heads": 3, "hidden_dim": 35,
                       "activation": "gelu", "max_position_embeddings": 17, "sinusoidal_pos_embds": False, "dropout": 0.1})

    # Llama with every rule of rotary positions. All rules share the same weights, which are in two files.
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 31, "hidden_size": 24,
              "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 37,
              "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 500.0, "max_position_embeddings": 64,
              "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False, "bos_token_id": 1}
    w = Weights("BF16", 7)
    decoder_weights(w, config, tied=False)
    ids = w.ids(31)
    how = {"layers": 3, "heads": 6, "kv_heads": 2, "eps": 1e-5}
    rules = {
        "llama": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 32},
        "llama_linear": {"type": "linear", "factor": 2.5},
        "llama_dynamic": {"rope_type": "dynamic", "factor": 2.0},
        "llama_yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128},
        "llama_none": None,
    }
    for name, rule in rules.items():
        path = folder(name)

        def turn_for(length, name=name, rule=rule):
            factor = 1.0
            if name == "llama":
                f = llama3_frequencies(4, 500.0, rule)
            elif name == "llama_linear":
                f = linear_frequencies(4, 500.0, rule)
            elif name == "llama_dynamic":
                f = dynamic_frequencies(4, 500.0, rule, 8, length)
            elif name == "llama_yarn":
                f, factor = yarn_frequencies(4, 500.0, rule)
            else:
                f = frequencies(4, 500.0)
            return lambda x: rotate(x, f, factor)

        run = lambda ids: decoder(w, how | {"turn": [turn_for(len(ids))] * 3}, ids)
        record(path, run, ids)
        save_config(path, config | {"rope_scaling": rule, "max_position_embeddings": 8 if name == "llama_dynamic" else 64})
    path = HERE / "llama"
    first = {k: v for k, v in w.items() if ".layers.2." not in k and "lm_head" not in k}
    parts = {"model-00001-of-00002.safetensors": first, "model-00002-of-00002.safetensors": {k: v for k, v in w.items() if k not in first}}
    for name, part in parts.items():
        save(path / name, part, {"format": "pt"}, "BF16")
    where = {key: name for name, part in parts.items() for key in part}
    index = {"metadata": {"total_size": 2 * sum(v.numel() for v in w.values())}, "weight_map": where}
    (path / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")

    # SmolLM 3, in which every third layer has no positions, and Mistral, which has a window.
    plain = lambda x: rotate(x, frequencies(4, 500.0))
    path = folder("smollm3")
    record(path, lambda ids: decoder(w, how | {"turn": [plain, plain, lambda x: x]}, ids), ids)
    save_config(path, config | {"model_type": "smollm3", "no_rope_layers": [1, 1, 0], "use_sliding_window": False})
    path = folder("mistral")
    record(path, lambda ids: decoder(w, how | {"turn": [plain] * 3, "windows": [5] * 3}, ids), ids)
    save_config(path, config | {"model_type": "mistral", "sliding_window": 5})

    config = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "vocab_size": 26, "hidden_size": 18,
              "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1, "intermediate_size": 29,
              "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 64,
              "use_sliding_window": False, "sliding_window": 4, "max_window_layers": 2, "tie_word_embeddings": True}
    path, w = folder("qwen2"), Weights("F32", 8)
    decoder_weights(w, config, tied=True, qkv_bias=True)
    how = {"layers": 2, "heads": 3, "kv_heads": 1, "eps": 1e-6, "turn": [lambda x: rotate(x, frequencies(6, 10000.0))] * 2}
    record(path, lambda ids: decoder(w, how, ids), w.ids(26))
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    config |= {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 4,
               "num_key_value_heads": 2, "head_dim": 6, "attention_bias": False, "rope_theta": 1000000.0}
    path, w = folder("qwen3"), Weights("BF16", 9)
    decoder_weights(w, config, tied=True, qk_norm=True)
    how = {"layers": 2, "heads": 4, "kv_heads": 2, "eps": 1e-6, "turn": [lambda x: rotate(x, frequencies(6, 1000000.0))] * 2}
    record(path, lambda ids: decoder(w, how, ids), w.ids(26))
    save(path / "model.safetensors", w, {"format": "pt"}, "BF16")
    save_config(path, config)

    config = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "vocab_size": 33, "hidden_size": 22,
              "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
              "intermediate_size": 31, "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh",
              "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "max_position_embeddings": 64, "sliding_window": 4,
              "query_pre_attn_scalar": 11, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 5.0,
              "attention_bias": False}
    path, w = folder("gemma2"), Weights("F32", 10)
    decoder_weights(w, config, tied=True, four_norms=True, mean=0.0, embedding=0.3)
    turn = lambda x: rotate(x, frequencies(8, 10000.0))
    how = {"layers": 3, "heads": 4, "kv_heads": 2, "eps": 1e-6, "turn": [turn] * 3, "windows": [4, None, 4],
           "scale": 11**-0.5, "softcap": 3.0, "final_softcap": 5.0, "zero_centred": True, "four_norms": True,
           "scaled": True, "activation": gelu_tanh}
    record(path, lambda ids: decoder(w, how, ids), w.ids(33))
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    config |= {"model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "attn_logit_softcapping": None,
               "final_logit_softcapping": None, "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
               "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "sliding_window_pattern": 3,
               "query_pre_attn_scalar": 8, "num_key_value_heads": 1}
    path, w = folder("gemma3"), Weights("BF16", 11)
    decoder_weights(w, config, tied=True, four_norms=True, qk_norm=True, mean=0.0, embedding=0.3)
    far = lambda x: rotate(x, frequencies(8, 1000000.0) / 8)
    how |= {"turn": [turn, turn, far], "windows": [4, 4, None], "scale": 8**-0.5, "softcap": None, "final_softcap": None, "kv_heads": 1}
    record(path, lambda ids: decoder(w, how, ids), w.ids(33))
    save(path / "model.safetensors", w, {"format": "pt"}, "BF16")
    save_config(path, config)

    # The first Gemma, whose configuration may have few fields.
    config = {"model_type": "gemma", "architectures": ["GemmaForCausalLM"], "vocab_size": 33, "hidden_size": 22,
              "num_hidden_layers": 2, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 6,
              "intermediate_size": 31, "hidden_act": "gelu", "hidden_activation": None, "rms_norm_eps": 1e-6,
              "max_position_embeddings": 64, "attention_bias": False}
    path, w = folder("gemma"), Weights("BF16", 16)
    decoder_weights(w, config, tied=True, mean=0.0, embedding=0.3)
    how = {"layers": 2, "heads": 3, "kv_heads": 1, "eps": 1e-6, "turn": [lambda x: rotate(x, frequencies(6, 10000.0))] * 2,
           "zero_centred": True, "scaled": True, "activation": gelu_tanh}
    record(path, lambda ids: decoder(w, how, ids), w.ids(33))
    save(path / "model.safetensors", w, {"format": "pt"}, "BF16")
    save_config(path, config)

    config = {"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"], "vocab_size": 29, "hidden_size": 20,
              "num_hidden_layers": 2, "num_attention_heads": 5, "num_key_value_heads": None, "intermediate_size": 33,
              "hidden_act": "silu", "rope_theta": 500000.0, "max_position_embeddings": 64, "attention_bias": False,
              "tie_word_embeddings": False}
    path, w = folder("olmo2"), Weights("F32", 17)
    decoder_weights(w, config | {"num_key_value_heads": 5}, tied=False, norms_behind=True)
    how = {"layers": 2, "heads": 5, "kv_heads": 5, "eps": 1e-5, "turn": [lambda x: rotate(x, frequencies(4, 500000.0))] * 2,
           "norms_behind": True}
    record(path, lambda ids: decoder(w, how, ids), w.ids(29))
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    # Like gpt-oss, but without its experts.
    rule = {"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "original_max_position_embeddings": 4096, "truncate": False}
    config = {"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "vocab_size": 31, "hidden_size": 20,
              "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
              "intermediate_size": 23, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 150000.0,
              "max_position_embeddings": 131072, "sliding_window": 4, "attention_bias": True,
              "layer_types": ["sliding_attention", "full_attention"], "rope_scaling": rule, "tie_word_embeddings": False}
    path, w = folder("gpt_oss_dense"), Weights("BF16", 12)
    decoder_weights(w, config, tied=False, qkv_bias=True, out_bias=True, sinks=True)
    f, factor = yarn_frequencies(8, 150000.0, rule)
    how = {"layers": 2, "heads": 4, "kv_heads": 2, "eps": 1e-5, "turn": [lambda x: rotate(x, f, factor)] * 2, "windows": [4, None]}
    record(path, lambda ids: decoder(w, how, ids), w.ids(31))
    save(path / "model.safetensors", w, {"format": "pt"}, "BF16")
    save_config(path, config)

    # GPT-NeoX, with the masks and frequencies that its files also contain.
    config = {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"], "vocab_size": 29, "hidden_size": 30,
              "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 41, "hidden_act": "gelu",
              "layer_norm_eps": 1e-5, "max_position_embeddings": 64, "rotary_pct": 0.45, "rotary_emb_base": 500,
              "use_parallel_residual": True, "tie_word_embeddings": False}
    path, w = folder("gpt_neox"), Weights("F16", 18)
    gpt_neox_weights(w, config)
    how = {"layers": 2, "heads": 3, "eps": 1e-5, "rotary_dim": 4, "base": 500.0, "parallel": True}
    record(path, lambda ids: gpt_neox(w, how, ids), w.ids(29))
    buffers = {}
    for layer in range(2):
        at = f"gpt_neox.layers.{layer}.attention."
        buffers |= {at + "bias": torch.ones(1, 1, 64, 64).tril(), at + "masked_bias": torch.tensor(-1e4),
                    at + "rotary_emb.inv_freq": frequencies(4, 500.0)}
    save(path / "model.safetensors", w | buffers, {"format": "pt"}, "F16")
    save_config(path, config)

    rotary = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
    config = {k: v for k, v in config.items() if k not in ("rotary_pct", "rotary_emb_base")}
    config |= {"vocab_size": 27, "hidden_size": 20, "num_hidden_layers": 3, "num_attention_heads": 5, "intermediate_size": 33,
               "use_parallel_residual": False, "layer_norm_eps": 1e-4, "rope_parameters": rotary}
    path, w = folder("gpt_neox_sequential"), Weights("F32", 19)
    gpt_neox_weights(w, config)
    how = {"layers": 3, "heads": 5, "eps": 1e-4, "rotary_dim": 2, "base": 10000.0, "parallel": False}
    record(path, lambda ids: gpt_neox(w, how, ids), w.ids(27))
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    config = {"model_type": "gpt_neo", "architectures": ["GPTNeoForCausalLM"], "vocab_size": 28, "hidden_size": 18,
              "num_layers": 4, "num_heads": 3, "intermediate_size": None, "activation_function": "gelu_new",
              "layer_norm_epsilon": 1e-5, "max_position_embeddings": 17, "window_size": 4,
              "attention_types": [[["global", "local"], 2]], "attention_layers": ["global", "local", "global", "local"]}
    path, w = folder("gpt_neo"), Weights("F32", 20)
    gpt_neo_weights(w, config)
    how = {"heads": 3, "eps": 1e-5, "windows": [None, 4, None, 4]}
    record(path, lambda ids: gpt_neo(w, how, ids), w.ids(28))
    masks = {}
    for layer in range(4):
        at = f"transformer.h.{layer}.attn.attention."
        masks |= {at + "bias": torch.ones(1, 1, 17, 17).tril(), at + "masked_bias": torch.tensor(-1e9)}
    save(path / "model.safetensors", w | masks, {"format": "pt"})
    save_config(path, config)

    # OPT, and a variant like the model with 350 million parameters.
    config = {"model_type": "opt", "architectures": ["OPTForCausalLM"], "vocab_size": 26, "hidden_size": 20,
              "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 33, "activation_function": "relu",
              "max_position_embeddings": 17, "do_layer_norm_before": True, "word_embed_proj_dim": 20, "pad_token_id": 1}
    path, w = folder("opt"), Weights("F16", 21)
    opt_weights(w, config)
    record(path, lambda ids: opt(w, {"layers": 2, "heads": 4, "norm_first": True}, ids), w.ids(26))
    save(path / "model.safetensors", w, {"format": "pt"}, "F16")
    save_config(path, config)

    config |= {"hidden_size": 21, "num_hidden_layers": 3, "num_attention_heads": 3, "do_layer_norm_before": False,
               "word_embed_proj_dim": 13}
    path, w = folder("opt_projected"), Weights("F32", 22)
    opt_weights(w, config)
    record(path, lambda ids: opt(w, {"layers": 3, "heads": 3, "norm_first": False}, ids), w.ids(26))
    save(path / "model.safetensors", w, {"format": "pt"})
    save_config(path, config)

    # PyTorch's own encoder, whose inputs are vectors.
    sizes = {"width": 15, "hidden": 26, "heads": 3, "layers": 2}
    path, w = folder("pytorch_encoder"), Weights("F32", 13)
    encoder_weights(w, sizes)
    w.draw("x", LENGTH, 15, deviation=1.0)
    x = w.pop("x")
    save_expected(path, encoder(w, sizes, x), x=x)
    save(path / "model.safetensors", w, {"format": "pt"})
    path, w = folder("pytorch_encoder_first"), Weights("F32", 14)
    encoder_weights(w, sizes, "encoder.", final_norm=True)
    w.draw("x", LENGTH, 15, deviation=1.0)
    x = w.pop("x")
    save_expected(path, encoder(w, sizes, x, "encoder.", norm_first=True, active=gelu), x=x)
    save(path / "model.safetensors", w, {"format": "pt"})

    # attn's own models, like the models of the page. The file contains their options.
    sizes = {"width": 16, "hidden": 27, "heads": 2, "layers": 2}
    for name, positions in (("attn_rotary", "rotary"), ("attn_sinusoidal", "sinusoidal")):
        path, w = folder(name), Weights("F16", 15)
        w.draw("embedding.weight", 24, 16, deviation=0.3)
        encoder_weights(w, sizes, "encoder.", final_norm=True)
        ids = w.ids(24)

        def run(ids):
            x = 4 * w["embedding.weight"][ids]
            turn = None
            if positions == "rotary":
                turn = lambda x: rotate(x, frequencies(8, 1000.0))
            else:
                angles = torch.arange(len(ids))[:, None] * frequencies(16, 1000.0)
                x = x + torch.stack([torch.sin(angles), torch.cos(angles)], -1).flatten(1)
            result = encoder(w, sizes, x, "encoder.", True, True, gelu, turn)
            return result | {"logits": result["hidden"] @ w["embedding.weight"].T}

        record(path, run, ids)
        config = {"vocabularySize": 24, "dModel": 16, "numHeads": 2, "numLayers": 2, "dimFeedforward": 27,
                  "activation": "gelu", "positions": positions, "base": 1000, "scaleBySqrtDim": True, "maxLength": 32}
        save(path / "model.safetensors", w, {"config": json.dumps(config)}, "F16")


if __name__ == "__main__":
    main()
