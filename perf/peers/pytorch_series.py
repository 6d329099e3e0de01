"""Taylorformer and Autoformer in PyTorch, for perf/peers/pytorch_models.py. Taylorformer, of one input and p = 0, is one stream
[context; targets] under a mask."""

import math

import torch
from torch import nn
from torch.nn import functional

from pytorch_layers import join_heads, nll, split_heads


def neighbours(x, nc):
    """Indices (B, N) of the nearest point that each may look at: of a context the others, of a target all those before it."""
    n = x.shape[1]
    at = torch.arange(n, device=x.device)
    hidden = (at[None, :] >= at[:, None].clamp_min(nc)) | (at[None, :] == at[:, None])
    return torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist").masked_fill(hidden, math.inf).argmin(-1, keepdim=True)


class TaylorFeatures(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.empty(1)), nn.Parameter(torch.empty(1))
        self.register_buffer("mean", torch.empty(1))
        self.register_buffer("variance", torch.empty(1))
        half = torch.arange(config["enc_dim"] // 2, dtype=torch.float64)
        ratio = 100 * config["xmax"] / config["xmin"]
        self.frequencies = 1 / (config["xmin"] * ratio**(2 * half / config["enc_dim"]))
        self.x_width = config["enc_dim"] + 2

    def forward(self, x, y, nc):
        """Features as queries and as keys, and the nearest y, (B, N, ·) each."""
        near = neighbours(x, nc)
        x_near, y_near = x.gather(1, near), y.gather(1, near)
        x_difference, y_difference = x - x_near, y - y_near
        slope = y_difference / (2e-6 + x_difference.abs())
        kept = (slope.abs() <= 200).to(y.dtype)
        slope = slope * kept
        mean, variance = slope.mean(), slope.var(unbiased=False)
        with torch.no_grad():
            self.mean.lerp_(mean[None], 0.01)
            self.variance.lerp_(variance[None], 0.01)
        slope = (slope - mean) / torch.sqrt(variance + 1e-3) * self.gain + self.bias
        angles = x.double() * self.frequencies.to(x.device)
        of_x = torch.cat([torch.sin(angles).to(x.dtype), torch.cos(angles).to(x.dtype), x_difference, x_near], -1)
        own, flag = torch.cat([y, y_difference, slope, kept], -1), torch.zeros_like(y)
        key = torch.cat([own, y_near, flag, of_x], -1)
        hidden = torch.cat([torch.zeros_like(own), y_near, torch.ones_like(y), of_x], -1)
        return torch.cat([key[:, :nc], hidden[:, nc:]], 1), key, y_near


class TaylorAttention(nn.Module):
    def __init__(self, width, values, inner, out, heads):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(width, inner), nn.Linear(width, inner), nn.Linear(values, inner)
        self.out = nn.Linear(inner, out)
        self.heads, self.scale = heads, inner**-0.5

    def forward(self, form, query, key, value, mask):
        q, k, v = (split_heads(part, self.heads) for part in (self.query(query), self.key(key), self.value(value)))
        if form == "sdpa":
            attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=self.scale)
        else:
            attended = torch.softmax(q @ k.transpose(-2, -1) * self.scale + mask, -1) @ v
        return self.out(join_heads(attended))


class TaylorLayer(nn.Module):
    def __init__(self, width, values, inner, out, heads, first):
        super().__init__()
        self.attention = TaylorAttention(width, values, inner, out, heads)
        if first:
            self.residual = nn.Linear(width, out)
        self.norm1, self.norm2 = nn.LayerNorm(out, 1e-3), nn.LayerNorm(out, 1e-3)
        self.expand, self.contract = nn.Linear(out, out), nn.Linear(out, out)

    def forward(self, form, query, key, value, mask):
        attended = self.attention(form, query, key, value, mask)
        h = self.norm1((self.residual(query) if hasattr(self, "residual") else query) + attended)
        return self.norm2(h + self.contract(functional.gelu(self.expand(h))))


class TaylorStream(nn.Module):
    def __init__(self, features, config, of_y):
        super().__init__()
        width, heads, depth = config["output_shape"], config["num_heads"], config["num_layers"]
        widths = [features] + [width] * (depth - 1)
        self.of_y = of_y
        self.layers = nn.ModuleList(
            TaylorLayer(i, config["dim_y"] if of_y and n + 1 == depth else i, heads * config["head_dim"], width, heads, n == 0)
            for n, i in enumerate(widths))

    def forward(self, form, query, key, y, nc, mask):
        for n, layer in enumerate(self.layers):
            last = n + 1 == len(self.layers)
            # Only the targets' outputs of the last layer are used.
            key = key if n == 0 else query
            values = y if last and self.of_y else key
            query = layer(form, query[:, nc:] if last else query, key, values, mask[nc:] if last else mask)
        return query


class Taylorformer(nn.Module):
    def __init__(self, config, form):
        super().__init__()
        width = config["output_shape"]
        self.form = form
        self.features = TaylorFeatures(config)
        self.x_stream = TaylorStream(self.features.x_width, config, True)
        self.xy_stream = TaylorStream(self.features.x_width + 6, config, False)
        self.join = nn.Linear(2 * width, width)
        self.mean, self.deviation = nn.Linear(width, config["dim_y"]), nn.Linear(width, config["dim_y"])

    def prepare(self, nc, nt):
        """Makes the mask, so that it does not count as work."""
        at = torch.arange(nc + nt)
        hidden = at[None, :] >= at[:, None].clamp_min(nc)
        self.mask = torch.zeros(nc + nt, nc + nt).masked_fill(hidden, -math.inf).to(self.join.weight.device)

    def loss(self, xc, yc, xt, yt):
        nc = xc.shape[1]
        x, y = torch.cat([xc, xt], 1), torch.cat([yc, yt], 1)
        query, key, y_near = self.features(x, y, nc)
        width = self.features.x_width
        of_x = self.x_stream(self.form, query[..., -width:], key[..., -width:], y, nc, self.mask)
        of_xy = self.xy_stream(self.form, query, key, y, nc, self.mask)
        h = self.join(torch.cat([of_x, of_xy], -1))
        return nll(self.mean(h) + y_near[:, nc:], torch.exp(self.deviation(h)) + 1e-3, yt)


def circular_convolution(x, weight):
    """x (B, L, C), weight (3, C, O), as if the series went round."""
    padded = functional.pad(x.transpose(1, 2), (1, 1), mode="circular")
    return functional.conv1d(padded, weight.permute(2, 1, 0)).transpose(1, 2)


def decompose(x, average):
    """Season and trend."""
    padded = functional.pad(x.transpose(1, 2), (average // 2, average // 2), mode="replicate")
    trend = functional.avg_pool1d(padded, average, 1).transpose(1, 2)
    return x - trend, trend


class SeriesEmbedding(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.value = nn.Parameter(torch.empty(3, config["dim_y"], config["d_model"]))
        self.time = nn.Linear(config["dim_x"] - 1, config["d_model"], bias=False)

    def forward(self, y, marks):
        return circular_convolution(y, self.value) + self.time(marks)


class AutoCorrelation(nn.Module):
    """By Fourier transforms, as in its authors' code; heads would change nothing."""

    def __init__(self, config):
        super().__init__()
        width = config["d_model"]
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.factor = config["factor"]

    def forward(self, x, memory):
        length = x.shape[1]
        missing = length - memory.shape[1]
        k, v = self.key(memory), self.value(memory)
        k, v = (functional.pad(part, (0, 0, 0, missing)) if missing > 0 else part[:, :length] for part in (k, v))
        q, k = (torch.fft.rfft(part.transpose(1, 2).contiguous(), dim=-1) for part in (self.query(x), k))
        correlation = torch.fft.irfft(q * k.conj(), n=length, dim=-1).mean(1)
        delays = correlation.detach().mean(0).topk(max(1, int(self.factor * math.log(length)))).indices
        weights = torch.softmax(correlation[:, delays], -1)
        moved = sum(v.roll(-int(delay), 1) * weights[:, i, None, None] for i, delay in enumerate(delays))
        return self.out(moved)


class SeriesNetwork(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.expand = nn.Linear(config["d_model"], config["d_ff"], bias=False)
        self.contract = nn.Linear(config["d_ff"], config["d_model"], bias=False)

    def forward(self, x):
        return self.contract(functional.gelu(self.expand(x)))


class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.network = AutoCorrelation(config), SeriesNetwork(config)
        self.average = config["moving_avg"]

    def forward(self, x):
        h = decompose(x + self.attention(x, x), self.average)[0]
        return decompose(h + self.network(h), self.average)[0]


class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self, self.cross, self.network = AutoCorrelation(config), AutoCorrelation(config), SeriesNetwork(config)
        self.trend = nn.Parameter(torch.empty(3, config["d_model"], config["dim_y"]))
        self.average = config["moving_avg"]

    def forward(self, x, memory):
        x, first = decompose(x + self.self(x, x), self.average)
        x, second = decompose(x + self.cross(x, memory), self.average)
        x, third = decompose(x + self.network(x), self.average)
        return x, circular_convolution(first + second + third, self.trend)


class SeasonalNorm(nn.LayerNorm):
    def forward(self, x):
        normal = super().forward(x)
        return normal - normal.mean(1, keepdim=True)


class Autoformer(nn.Module):
    """With a Gaussian at each target, without dropout."""

    def __init__(self, config):
        super().__init__()
        width, dy = config["d_model"], config["dim_y"]
        self.encoder_embedding, self.decoder_embedding = SeriesEmbedding(config), SeriesEmbedding(config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config["e_layers"]))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config["d_layers"]))
        self.encoder_norm, self.decoder_norm = SeasonalNorm(width), SeasonalNorm(width)
        self.head = nn.Linear(width, 2 * dy)
        self.known, self.average = config["label_len"], config["moving_avg"]

    def prepare(self, nc, nt):
        pass

    def forward(self, xc, yc, xt):
        marks, asked, steps = xc[..., 1:], xt[..., 1:], xt.shape[1]
        h = self.encoder_embedding(yc, marks)
        for layer in self.encoder:
            h = layer(h)
        memory = self.encoder_norm(h)
        season, trend = decompose(yc, self.average)
        trend = torch.cat([trend[:, -self.known:], yc.mean(1, keepdim=True).expand(-1, steps, -1)], 1)
        h = self.decoder_embedding(functional.pad(season[:, -self.known:], (0, 0, 0, steps)),
                                   torch.cat([marks[:, -self.known:], asked], 1))
        for layer in self.decoder:
            h, more = layer(h, memory)
            trend = trend + more
        mean, s = self.head(self.decoder_norm(h))[:, -steps:].chunk(2, -1)
        return mean + trend[:, -steps:], functional.softplus(s) + 1e-3

    def loss(self, xc, yc, xt, yt):
        return nll(*self(xc, yc, xt), yt)
