"""Layers of the models in perf/peers/pytorch_models.py, and what their losses have in common."""

import math

import torch
from torch import nn
from torch.nn import functional


def attend(form, q, k, v, mask=None):
    """(B, H, N, D) each."""
    if form == "sdpa":
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = q @ k.transpose(-2, -1) * (q.shape[-1]**-0.5)
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ v


def split_heads(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x):
    return x.transpose(1, 2).flatten(-2)


class Mlp(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in zip(widths, widths[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def mlp_of_depth(i, hidden, o, depth):
    return Mlp(i, *[hidden] * (depth - 1), o)


class RandomFeatures(nn.Module):
    """FAVOR+ with positive features (Choromanski et al. 2021), not stabilised, as in TNP-KR."""

    def __init__(self, count, width):
        super().__init__()
        self.register_buffer("projection", torch.empty(count, width))

    def features(self, x):
        x = x * x.shape[-1]**-0.25
        norms = x.square().sum(-1, keepdim=True) / 2
        return torch.exp(x @ self.projection.T - norms) * self.projection.shape[0]**-0.5

    def forward(self, q, k, v):
        q, k = self.features(q), self.features(k)
        sums = k.sum(-2).unsqueeze(-1)
        return (q @ (k.transpose(-2, -1) @ v)) / (q @ sums).clamp_min(1e-6)


class StreamAttention(nn.Module):
    """Points [context; targets] attend to the first `nc` of them."""

    def __init__(self, width, heads, form, masked, features=None):
        super().__init__()
        self.heads, self.form, self.masked = heads, form, masked
        if masked:
            self.query_key_value = nn.Linear(width, 3 * width)
        else:
            self.query = nn.Linear(width, width)
            self.key_value = nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        if features:
            self.features = RandomFeatures(features, width // heads)

    def forward(self, x, nc, mask):
        if self.masked:
            q, k, v = self.query_key_value(x).chunk(3, -1)
        else:
            q = self.query(x)
            k, v = self.key_value(x[:, :nc]).chunk(2, -1)
        q, k, v = (split_heads(part, self.heads) for part in (q, k, v))
        attended = self.features(q, k, v) if hasattr(self, "features") else attend(self.form, q, k, v, mask)
        return self.out(join_heads(attended))


class TransformerLayer(nn.Module):
    def __init__(self, width, hidden, heads, form, pre_norm, masked, features):
        super().__init__()
        eps = 1e-6 if pre_norm else 1e-5
        self.pre_norm = pre_norm
        self.attention = StreamAttention(width, heads, form, masked, features)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.expand, self.contract = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def feed_forward(self, x):
        return self.contract(torch.relu(self.expand(x)))

    def forward(self, x, nc, mask):
        if self.pre_norm:
            x = x + self.attention(self.norm1(x), nc, mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attention(x, nc, mask))
        return self.norm2(x + self.feed_forward(x))


class Transformer(nn.Module):
    def __init__(self, config, form, pre_norm, masked):
        super().__init__()
        width, hidden, heads = config["d_model"], config["dim_feedforward"], config["nhead"]
        self.layers = nn.ModuleList(
            TransformerLayer(width, hidden, heads, form, pre_norm, masked, config.get("num_features"))
            for _ in range(config["num_layers"]))
        if pre_norm:
            self.norm = nn.LayerNorm(width, 1e-6)

    def forward(self, x, nc, mask):
        for layer in self.layers:
            x = layer(x, nc, mask)
        x = x[:, nc:]
        return self.norm(x) if hasattr(self, "norm") else x


class NeuralProcess(nn.Module):
    """forward(xc, yc, xt) → mean and standard deviation, (B, Nt, Dy) each."""

    def loss(self, xc, yc, xt, yt):
        return nll(*self(xc, yc, xt), yt)


def nll(mean, std, y):
    log_density = -0.5 * math.log(2 * math.pi) - torch.log(std) - 0.5 * ((y - mean) / std).square()
    return -log_density.sum(-1).mean()


class JointHead(nn.Module):
    """Mean and Cholesky factor of one Gaussian for all targets of a task."""

    def __init__(self, config, form):
        super().__init__()
        width, hidden, dy = config["d_model"], config["dim_feedforward"], config["dim_y"]
        self.mean = Mlp(width, hidden, dy)
        self.layers = nn.ModuleList(TransformerLayer(width, hidden, config["nhead"], form, False, True, None)
                                    for _ in range(config["num_std_layers"]))
        self.projector = mlp_of_depth(width, hidden, config["prj_dim"] * dy, config["prj_depth"])
        self.columns = config["prj_dim"]

    def loss(self, encodings, y):
        h = encodings
        for layer in self.layers:
            h = layer(h, h.shape[1], None)
        rows = self.projector(h).reshape(h.shape[0], -1, self.columns)
        factor = torch.tril(rows @ rows.transpose(1, 2))
        error = (y - self.mean(encodings)).flatten(1).unsqueeze(-1)
        white = torch.linalg.solve_triangular(factor, error, upper=False).squeeze(-1)
        log_determinant = torch.log(torch.diagonal(factor, dim1=1, dim2=2)).sum(-1)
        return (0.5 * white.square().sum(-1) + log_determinant + 0.5 * math.log(2 * math.pi) * white.shape[-1]).mean()
