"""Records results of PyTorch in double precision, for tests/native/training.

    python3 record.py [trajectories] [gradients]

writes trajectories.safetensors (training runs of a small GPT, 30 steps each) and
gradients.safetensors (gradients of single operations) next to this file. If you name one of them, only
that file is written. Recorded with PyTorch 2.14.1 of Debian unstable (python3-torch,
libopenblas0-pthread), on the CPU. Other versions give the same numbers except for rounding.

Initial parameters, inputs and tokens are float32 numbers, so that the core and PyTorch start from
the same numbers. Everything is stored as float32. These inputs are therefore exact, and results are
within 6e-8.
"""

import json
import pathlib
import struct
import sys

import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).parent
STEPS, BATCH, LENGTH = 30, 4, 8
VOCABULARY, WIDTH, HEADS, HIDDEN, LAYERS = 17, 16, 2, 32, 2
MAX_NORM = 1.5


def save(name, tensors, metadata):
    """The format: https://huggingface.co/docs/safetensors"""
    header, data = {"__metadata__": metadata}, b""
    for key in sorted(tensors):
        values = tensors[key].detach().to(torch.float32).contiguous()
        content = struct.pack(f"<{values.numel()}f", *values.flatten().tolist())
        header[key] = {
            "dtype": "F32",
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    (HERE / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


def round_to_float32(values):
    return values.to(torch.float32).to(torch.float64)


class Gpt(nn.Module):
    """Maps tokens (B, N) to logits (B, N, V). The output layer uses the weight of the embedding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, HIDDEN, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False
        )

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.embedding(tokens) + self.positions(torch.arange(length))
        causal = nn.Transformer.generate_square_subsequent_mask(length, dtype=x.dtype)
        return self.encoder(x, mask=causal, is_causal=True) @ self.embedding.weight.T


def trajectories():
    torch.manual_seed(1)
    first = Gpt().double()
    for name, parameter in first.named_parameters():
        deviation = 0.3 if name.startswith(("embedding", "positions")) else 0.25
        values = deviation * torch.randn(parameter.shape, dtype=torch.float64)
        if "norm" in name and name.endswith("weight"):
            values += 1
        parameter.data = round_to_float32(values)
    # A walk through the vocabulary with occasional jumps. A model can learn to predict the walk.
    tokens = torch.empty(STEPS, BATCH, LENGTH + 1, dtype=torch.int64)
    tokens[..., 0] = torch.randint(VOCABULARY, (STEPS, BATCH))
    for i in range(LENGTH):
        jump = torch.randint(VOCABULARY, (STEPS, BATCH))
        walk = (3 * tokens[..., i] + 1) % VOCABULARY
        tokens[..., i + 1] = torch.where(torch.rand(STEPS, BATCH) < 0.15, jump, walk)

    recorded = {"tokens": tokens}
    recorded |= {f"initial.{name}": value for name, value in first.state_dict().items()}
    runs = {
        "sgd": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        "sgd_weight_decay": (
            torch.optim.SGD,
            {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01},
        ),
        "sgd_nesterov": (
            torch.optim.SGD,
            {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
        ),
        "adam": (torch.optim.Adam, {"lr": 0.005, "betas": [0.9, 0.999], "eps": 1e-8}),
        "adamw": (
            torch.optim.AdamW,
            {"lr": 0.005, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1},
        ),
    }
    for run, (optimizer, options) in runs.items():
        model = Gpt().double()
        model.load_state_dict(first.state_dict())
        optimizer = optimizer(model.parameters(), **options)
        losses, norms = [], []
        for step in range(STEPS):
            optimizer.zero_grad()
            logits = model(tokens[step, :, :-1])
            loss = functional.cross_entropy(
                logits.reshape(-1, VOCABULARY), tokens[step, :, 1:].reshape(-1)
            )
            loss.backward()
            losses.append(loss.item())
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM).item())
            optimizer.step()
        recorded[f"{run}.losses"] = torch.tensor(losses, dtype=torch.float64)
        recorded[f"{run}.norms"] = torch.tensor(norms, dtype=torch.float64)
        recorded |= {f"{run}.final.{name}": value for name, value in model.state_dict().items()}
        clipped = sum(norm > MAX_NORM for norm in norms)
        print(f"{run}: loss {losses[0]:.4f} to {losses[-1]:.4f}, {clipped} of {STEPS} steps clipped")
    save(
        "trajectories.safetensors",
        recorded,
        {"pytorch": torch.__version__, "max_norm": str(MAX_NORM)}
        | {run: json.dumps(options) for run, (_, options) in runs.items()},
    )


def gradients():
    torch.manual_seed(2)
    recorded = {}

    def record(name, function, module=None, **inputs):
        """The outputs of function(**inputs), and the gradients of Σ output · output_gradient."""
        for values in inputs.values():
            values.data = round_to_float32(values.data)
        for parameter in module.parameters() if module else []:
            parameter.data = round_to_float32(parameter.data)
        leaves = {key: values.requires_grad_() for key, values in inputs.items()}
        if module:
            leaves |= dict(module.named_parameters())
        outputs = function(**inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        total = 0
        for i, output in enumerate(outputs):
            weights = round_to_float32(torch.randn(output.shape, dtype=torch.float64))
            recorded[f"{name}.output.{i}"] = output
            recorded[f"{name}.output_gradient.{i}"] = weights
            total = total + (output * weights).sum()
        for (key, leaf), gradient in zip(
            leaves.items(), torch.autograd.grad(total, leaves.values()), strict=True
        ):
            recorded[f"{name}.input.{key}"] = leaf
            recorded[f"{name}.gradient.{key}"] = gradient

    def normals(*shape):
        return torch.randn(shape, dtype=torch.float64)

    def with_normals(module):
        for parameter in module.parameters():
            parameter.data = 0.5 * torch.randn(parameter.shape, dtype=torch.float64)
        return module

    norm = with_normals(nn.LayerNorm(7, eps=1e-5))
    record("layer_norm", lambda x: norm(x), norm, x=normals(3, 7))
    rms_norm = with_normals(nn.RMSNorm(7, eps=1e-6))
    record("rms_norm", lambda x: rms_norm(x), rms_norm, x=normals(3, 7))
    gru = with_normals(nn.GRU(3, 4, 2))
    record("gru", lambda x, h_0: gru(x, h_0), gru, x=normals(5, 3), h_0=normals(2, 4))
    rnn = with_normals(nn.RNN(3, 4, 2, nonlinearity="relu"))
    record("rnn_relu", lambda x, h_0: rnn(x, h_0), rnn, x=normals(5, 3), h_0=normals(2, 4))
    conv = with_normals(nn.Conv1d(2, 3, 3, stride=2, padding=1, dilation=2))
    record("conv1d", lambda x: conv(x.T).T, conv, x=normals(9, 2))
    mha = with_normals(nn.MultiheadAttention(6, 2, batch_first=True))
    padded = torch.tensor([[False] * 5, [False, False, True, True, True]])
    record(
        "multi_head_attention",
        lambda query, key, value: mha(
            query, key, value, key_padding_mask=padded, need_weights=True, average_attn_weights=False
        ),
        mha,
        query=normals(2, 3, 6),
        key=normals(2, 5, 6),
        value=normals(2, 5, 6),
    )
    for norm_first in (False, True):
        decoder = with_normals(
            nn.TransformerDecoderLayer(
                6, 2, 8, 0.0, "gelu", batch_first=True, norm_first=norm_first
            )
        )
        causal = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
        record(
            f"decoder_layer_{'pre' if norm_first else 'post'}",
            lambda x, memory: decoder(x, memory, tgt_mask=causal, tgt_is_causal=True),
            decoder,
            x=normals(2, 4, 6),
            memory=normals(2, 3, 6),
        )
    for name, function in {
        "relu": functional.relu,
        "gelu": functional.gelu,
        "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
        "silu": functional.silu,
    }.items():
        record(name, lambda x, f=function: f(x), x=torch.linspace(-6, 6, 13, dtype=torch.float64))
    targets = torch.tensor([3, -100, 0, 4, 3])
    recorded["cross_entropy.targets"] = targets
    for smoothing in (0.0, 0.125):
        record(
            f"cross_entropy_{smoothing}",
            lambda logits, s=smoothing: functional.cross_entropy(
                logits, targets, label_smoothing=s
            ),
            logits=3 * normals(5, 6),
        )
    record(
        "mse",
        lambda x, target: functional.mse_loss(x, target),
        x=normals(3, 4),
        target=normals(3, 4),
    )
    save("gradients.safetensors", recorded, {"pytorch": torch.__version__})


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    writers = {"trajectories": trajectories, "gradients": gradients}
    for name in sys.argv[1:] or writers:
        writers[name]()
