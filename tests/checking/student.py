"""The contract in plain NumPy, as a student might hand it in: gradients by hand, no other library's autograd."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from safetensors.numpy import load_file, save_file

from neuralgram.rng import PCG32

KEYS = ["emb.weight", "hidden.weight", "hidden.bias", "out.weight", "out.bias", "direct.weight"]


def windows(ids, context):
    ids = np.asarray(ids)
    n = max(0, len(ids) - context)
    x = np.array([ids[i : i + context] for i in range(n)], np.int64).reshape(n, context)
    y = np.array([ids[i + context] for i in range(n)], np.int64)
    return x, y


class NPLM:
    def __init__(self, vocab, context, d_emb, d_hidden, direct=True, rng=None):
        for size in (vocab, context, d_emb, d_hidden):
            if size < 1:
                raise ValueError(f"size {size}: expected at least 1")
        self.vocab, self.context, self.d_emb, self.d_hidden = vocab, context, d_emb, d_hidden
        rng = rng or PCG32(0)
        X, h = context * d_emb, d_hidden

        def draw(rows, columns, bound):
            return (rng.uniforms(rows * columns).reshape(rows, columns) * 2 - 1) * bound

        self.p = {
            "emb.weight": draw(vocab, d_emb, 1.0),
            "hidden.weight": draw(h, X, 1 / np.sqrt(X)),
            "hidden.bias": np.zeros(h),
            "out.weight": draw(vocab, h, 0.1),
            "out.bias": np.zeros(vocab),
        }
        if direct:
            self.p["direct.weight"] = draw(vocab, X, 0.1)

    def __getattr__(self, layer):
        """`model.hidden.weight`: a layer by its name."""
        parts = {key.split(".")[1]: value for key, value in vars(self).get("p", {}).items() if key.startswith(layer)}
        if not parts:
            raise AttributeError(layer)
        return SimpleNamespace(**parts)

    def state_dict(self):
        return {key: self.p[key].astype(np.float32) for key in KEYS if key in self.p}

    def load_state_dict(self, state):
        self.p = {key: np.array(state[key], np.float64) for key in KEYS if key in self.p}

    def _forward(self, ids):
        ids = np.asarray(ids, np.int64)
        if ids.ndim != 2 or ids.shape[1] != self.context:
            raise ValueError(f"windows of shape {ids.shape}: expected [B, {self.context}]")
        if ids.size and (ids.min() < 0 or ids.max() >= self.vocab):
            raise ValueError(f"ids outside 0 … {self.vocab - 1}")
        p = self.p
        x = p["emb.weight"][ids].reshape(len(ids), -1)
        a = np.tanh(p["hidden.bias"] + x @ p["hidden.weight"].T)
        y = p["out.bias"] + a @ p["out.weight"].T
        if "direct.weight" in self.p:
            y = y + x @ p["direct.weight"].T
        return ids, x, a, y

    def __call__(self, ids):
        return self._forward(ids)[3]

    def _log_p(self, ids):
        y = self._forward(ids)[3]
        y = y - y.max(axis=1, keepdims=True)
        return y - np.log(np.exp(y).sum(axis=1, keepdims=True))

    def nll(self, ids, batch_size=1024):
        x, y = windows(ids, self.context)
        parts = [
            -self._log_p(x[i : i + batch_size])[np.arange(len(y[i : i + batch_size])), y[i : i + batch_size]]
            for i in range(0, len(y), batch_size)
        ]
        return np.concatenate(parts)

    def perplexity(self, ids):
        return float(np.exp(self.nll(ids).mean()))

    def generate(self, prefix, n, temperature, seed):
        prompt = [int(i) for i in prefix]
        if len(prompt) < self.context:
            raise ValueError("prompt shorter than the window")
        rng, window, out = PCG32(seed), prompt[-self.context :], []
        for _ in range(n):
            z = self._forward([window])[3][0]
            if temperature == 0:
                out.append(int(np.argmax(z)))
            else:
                w = np.exp((z - z.max()) / temperature)
                out.append(int(np.searchsorted(np.cumsum(w), rng.uniform() * w.sum(), side="right")))
            window = [*window[1:], out[-1]]
        return out

    def gradients(self, x, y):
        ids, x, a, scores = self._forward(x)
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        prob = scores / scores.sum(axis=1, keepdims=True)
        loss = -np.log(prob[np.arange(len(y)), y]).mean()
        g = prob.copy()
        g[np.arange(len(y)), y] -= 1
        g = g / len(y)
        delta = (g @ self.p["out.weight"]) * (1 - a * a)
        gx = delta @ self.p["hidden.weight"]
        grads = {"hidden.weight": delta.T @ x, "hidden.bias": delta.sum(0), "out.weight": g.T @ a, "out.bias": g.sum(0)}
        if "direct.weight" in self.p:
            gx = gx + g @ self.p["direct.weight"]
            grads["direct.weight"] = g.T @ x
        table = np.zeros_like(self.p["emb.weight"])
        np.add.at(table, ids.ravel(), gx.reshape(ids.size, -1))
        grads["emb.weight"] = table
        return loss, grads


def train_nplm(model, ids, steps, batch_size, lr, rng, momentum=0.0, weight_decay=0.0, clip=None):
    x, y = windows(ids, model.context)
    if len(x) < batch_size:
        raise ValueError("fewer windows than one batch")
    velocity = {key: np.zeros_like(value) for key, value in model.p.items()}
    losses = []
    while len(losses) < steps:
        order = np.argsort(rng.uniforms(len(x)))
        for start in range(0, len(x) - batch_size + 1, batch_size):
            if len(losses) == steps:
                break
            batch = order[start : start + batch_size]
            loss, grads = model.gradients(x[batch], y[batch])
            losses.append(float(loss))
            norm = np.sqrt(sum((g**2).sum() for g in grads.values()))
            scale = 1.0 if clip is None else min(1.0, clip / norm)
            for key, gradient in grads.items():
                g = gradient * scale
                if not key.endswith("bias"):
                    g += weight_decay * model.p[key]
                velocity[key] = momentum * velocity[key] + g
                model.p[key] = model.p[key] - lr * velocity[key]
        # the end of an epoch
    return losses


def save_nplm(model, folder, tokenizer="bytes"):
    if tokenizer not in ("bytes", "chars", "words"):
        raise ValueError(f"unknown tokenizer {tokenizer}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "tl_arch": "nplm",
        "vocab_size": model.vocab,
        "tl_context": model.context,
        "tl_d_emb": model.d_emb,
        "hidden_size": model.d_hidden,
        "tl_direct": "direct.weight" in model.p,
    }
    (folder / "config.json").write_text(json.dumps(config))
    state = {key: np.ascontiguousarray(value) for key, value in model.state_dict().items()}
    save_file(state, folder / "model.safetensors", metadata={"format": "tinyllm", "tl_arch": "nplm"})


def load_nplm(folder):
    config = json.loads((Path(folder) / "config.json").read_text())
    if config["tl_arch"] != "nplm":
        raise ValueError("another architecture")
    model = NPLM(
        config["vocab_size"], config["tl_context"], config["tl_d_emb"], config["hidden_size"], config["tl_direct"]
    )
    model.load_state_dict(load_file(Path(folder) / "model.safetensors"))
    return model
