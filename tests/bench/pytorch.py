"""PyTorch's side of the benchmark: reads requests and writes answers, each as a line of JSON.

{"make": {"kind": "gradients", "shape": {...}, "withForward": true, "q": base64, ...}} -> {"id": 0}
{"make": {"kind": "step", "shape": {...}}} -> {"id": 1, "size": parameters}
{"run": id, "repeats": n, "threads": t} -> {"seconds": ..., "processorSeconds": ...}
{"make": {"kind": "stored attention", "shape": {...}, "q": base64, "k": ..., "v": ...}} -> {"id": 2}
{"make": {"kind": "stored weights", "shape": {...}, "x": base64, "weight": ...}} -> {"id": 3}
{"gradients": id} -> {"q": base64, "k": base64, "v": base64}
{"output": id} -> {"output": base64}
{"forget": id} -> {}
"""

import base64
import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def tensor(data, size):
    data = bytearray(base64.b64decode(data))
    return torch.frombuffer(data, dtype=torch.float32).reshape(size).clone()


def encoded(tensor):
    return base64.b64encode(tensor.float().contiguous().numpy().tobytes()).decode()


class Gradients:
    def __init__(self, request):
        shape = request["shape"]
        self.causal = shape["causal"]
        size = (1, shape["heads"], shape["keys"], shape["dim"])
        self.inputs = [tensor(request[name], size).requires_grad_() for name in ("q", "k", "v")]
        self.output_gradient = tensor(request["outputGradient"], size)
        self.output = None if request["withForward"] else self.forward()

    def forward(self):
        return F.scaled_dot_product_attention(*self.inputs, is_causal=self.causal)

    def run(self):
        kept = self.output is not None
        output = self.output if kept else self.forward()
        self.gradients = torch.autograd.grad(
            output, self.inputs, self.output_gradient, retain_graph=kept
        )


class StoredAttention:
    """Attention in bfloat16."""

    def __init__(self, request):
        shape = request["shape"]
        self.causal = shape["causal"]
        size = (1, shape["heads"], shape["keys"], shape["dim"])
        self.inputs = [tensor(request[name], size).bfloat16() for name in ("q", "k", "v")]

    @torch.no_grad()
    def run(self):
        self.output = F.scaled_dot_product_attention(*self.inputs, is_causal=self.causal)


class StoredWeights:
    """A linear layer whose weights, inputs and outputs are bfloat16."""

    def __init__(self, request):
        shape = request["shape"]
        self.x = tensor(request["x"], (shape["rows"], shape["depth"])).bfloat16()
        self.weight = tensor(request["weight"], (shape["columns"], shape["depth"])).bfloat16()

    @torch.no_grad()
    def run(self):
        self.output = F.linear(self.x, self.weight)


class Gpt(nn.Module):
    def __init__(self, width, layers, heads, tokens, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(tokens, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, 0.0, "gelu", norm_first=True, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.logits = nn.Linear(width, vocabulary)
        self.mask = nn.Transformer.generate_square_subsequent_mask(tokens)

    def forward(self, ids):
        x = self.embedding(ids) + self.positions.weight
        return self.logits(self.encoder(x, mask=self.mask, is_causal=True))


class Step:
    def __init__(self, request):
        shape = request["shape"]
        torch.manual_seed(0)
        vocabulary = shape["vocabulary"]
        self.model = Gpt(
            shape["width"], shape["layers"], shape["heads"], shape["tokens"], vocabulary
        )
        size = (shape["batch"], shape["tokens"])
        self.ids = torch.randint(0, vocabulary, size)
        self.targets = torch.randint(0, vocabulary, size).reshape(-1)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.size = sum(p.numel() for p in self.model.parameters())

    def run(self):
        self.optimizer.zero_grad()
        logits = self.model(self.ids)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), self.targets)
        loss.backward()
        self.optimizer.step()


def has_fast_bfloat16():
    """Returns whether products of bfloat16 are at most twice as slow as products of float32.

    Builds without oneDNN multiply bfloat16 numbers one at a time.
    """
    x = torch.ones(512, 512)

    def seconds(x):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            x @ x
            times.append(time.perf_counter() - start)
        return min(times)

    torch.set_num_threads(1)
    return seconds(x.bfloat16()) < 2 * seconds(x)


def settle():
    """Waits until no thread of this process spins any more."""
    for _ in range(100):
        start = time.process_time()
        time.sleep(0.004)
        if time.process_time() - start < 0.001:
            return


KINDS = {
    "gradients": Gradients,
    "step": Step,
    "stored attention": StoredAttention,
    "stored weights": StoredWeights,
}


def main():
    jobs = {}
    hello = {"version": torch.__version__, "hasFastBFloat16": has_fast_bfloat16()}
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        if "make" in request:
            wanted = request["make"]
            job = KINDS[wanted["kind"]](wanted)
            answer = {"id": len(jobs), "size": getattr(job, "size", 0)}
            jobs[len(jobs)] = job
        elif "run" in request:
            torch.set_num_threads(request["threads"])
            job = jobs[request["run"]]
            start, processor_start = time.perf_counter(), time.process_time()
            for _ in range(request["repeats"]):
                job.run()
            answer = {
                "seconds": time.perf_counter() - start,
                "processorSeconds": time.process_time() - processor_start,
            }
            settle()
        elif "gradients" in request:
            gradients = jobs[request["gradients"]].gradients
            answer = {name: encoded(gradient) for name, gradient in zip("qkv", gradients)}
        elif "output" in request:
            answer = {"output": encoded(jobs[request["output"]].output)}
        elif "forget" in request:
            jobs[request["forget"]] = None
        print(json.dumps(answer), flush=True)


main()
