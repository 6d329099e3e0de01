"""The NP family of TNP-pytorch in PyTorch (CANP, NP, ANP, BNP, BANP), for perf/peers/pytorch_models.py.

Plain forms, as their authors write them: with K functions a task, whatever depends on none of them is broadcast to K.
What a step draws comes from npzoo and costs nothing here.
"""

import math

import torch
from torch import nn
from torch.nn import functional

HEADS = 8


def log_density(mean, std, y):
    """Log-likelihood of each point, channels together."""
    return (-0.5 * math.log(2 * math.pi) - torch.log(std) - 0.5 * ((y - mean) / std).square()).sum(-1)


def log_mean_exp(x):
    return torch.logsumexp(x, 0) - math.log(x.shape[0])


class NormalisedAttention(nn.Module):
    """Logits by 1/√width, the residual connection from the projected queries."""

    def __init__(self, width, attend):
        super().__init__()
        self.attend = attend
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, q, k, v):
        """(…, N, E) each; leading axes alike."""
        q = self.query(q)
        split = [x.flatten(0, -3).unflatten(-1, (HEADS, -1)).transpose(1, 2) for x in (q, self.key(k), self.value(v))]
        # The scale of `attend` is that of a head.
        split[0] = split[0] * (q.shape[-1] // HEADS)**0.5 * q.shape[-1]**-0.5
        attended = self.attend(*split).transpose(1, 2).flatten(-2).view(q.shape)
        h = self.norm1(q + attended)
        return self.norm2(h + torch.relu(self.out(h)))


class PoolingEncoder(nn.Module):
    def __init__(self, mlp, config, out, attend=None):
        super().__init__()
        i, hidden = config["dim_x"] + config["dim_y"], config["dim_hid"]
        self.pre = mlp(i, hidden, hidden, config["enc_pre_depth"] - (2 if attend else 0))
        if attend:
            self.self_attention = nn.ModuleList([NormalisedAttention(hidden, attend)])
        self.post = mlp(hidden, hidden, out, config["enc_post_depth"])

    def forward(self, points):
        h = self.pre(points)
        if hasattr(self, "self_attention"):
            h = torch.relu(h)
            for layer in self.self_attention:
                h = layer(h, h, h)
        return self.post(h.mean(-2))


class AttendingEncoder(nn.Module):
    def __init__(self, mlp, config, attend):
        super().__init__()
        dx, dy, hidden = config["dim_x"], config["dim_y"], config["dim_hid"]
        self.embedder = mlp(dx, hidden, hidden, config["enc_qk_depth"])
        self.values = mlp(dx + dy, hidden, hidden, config["enc_v_depth"] - 2)
        self.self_attention = nn.ModuleList([NormalisedAttention(hidden, attend)])
        self.cross_attention = NormalisedAttention(hidden, attend)

    def forward(self, xc, yc, xt):
        v = self.values(torch.cat([xc, yc], -1))
        for layer in self.self_attention:
            v = layer(v, v, v)
        return self.cross_attention(self.embedder(xt), self.embedder(xc), v)


class ContextEncoder(nn.Module):
    """Returns the encoding that targets read, (…, Nt, E)."""

    def __init__(self, mlp, config, attend, pooling=True):
        super().__init__()
        if attend:
            self.attending = AttendingEncoder(mlp, config, attend)
        if pooling:
            self.pooling = PoolingEncoder(mlp, config, config["dim_hid"], attend)

    def forward(self, xc, yc, xt):
        parts = []
        if hasattr(self, "attending"):
            parts.append(self.attending(xc, yc, xt))
        if hasattr(self, "pooling"):
            pooled = self.pooling(torch.cat([xc, yc], -1))
            parts.append(pooled.unsqueeze(-2).expand(*xt.shape[:-1], -1))
        return torch.cat(parts, -1)


def gaussian(raw):
    mean, s = raw.chunk(2, -1)
    return mean, 0.1 + 0.9 * functional.softplus(s)


class Conditional(nn.Module):
    """forward(xc, yc, xt) → mean and standard deviation; the context is scored in training, too."""

    def prepare(self, nc, nt):
        pass

    @staticmethod
    def scored(xc, yc, xt, yt):
        return torch.cat([xc, xt], 1), torch.cat([yc, yt], 1)


class Canp(Conditional):
    def __init__(self, mlp, config, attend):
        super().__init__()
        hidden = config["dim_hid"]
        self.encoder = ContextEncoder(mlp, config, attend)
        self.decoder = mlp(2 * hidden + config["dim_x"], hidden, 2 * config["dim_y"], config["dec_depth"])

    def forward(self, xc, yc, xt):
        return gaussian(self.decoder(torch.cat([self.encoder(xc, yc, xt), xt], -1)))

    def loss(self, xc, yc, xt, yt):
        x, y = self.scored(xc, yc, xt, yt)
        return -log_density(*self(xc, yc, x), y).mean()


class Latent(Conditional):
    """NP, or ANP where there is attention: the importance-weighted bound over K functions."""

    def __init__(self, mlp, config, attend):
        super().__init__()
        hidden = config["dim_hid"]
        self.deterministic = ContextEncoder(mlp, config, attend, pooling=attend is None)
        self.latent = PoolingEncoder(mlp, config, 2 * config["dim_lat"], attend)
        self.decoder = mlp(hidden + config["dim_lat"] + config["dim_x"], hidden, 2 * config["dim_y"], config["dec_depth"])

    def distribution(self, x, y):
        mean, s = self.latent(torch.cat([x, y], -1)).chunk(2, -1)
        return mean, 0.1 + 0.9 * torch.sigmoid(s)

    def loss(self, xc, yc, xt, yt):
        x, y = self.scored(xc, yc, xt, yt)
        prior, posterior = self.distribution(xc, yc), self.distribution(x, y)
        z = posterior[0] + posterior[1] * self.draws[0]  # (K, B, L)
        read = torch.cat([part.expand(z.shape[0], *(-1 for _ in part.shape[1:])) for part in
                          (self.deterministic(xc, yc, x).unsqueeze(0), z.unsqueeze(-2).expand(-1, -1, x.shape[1], -1),
                           x.unsqueeze(0))], -1)
        fit = log_density(*gaussian(self.decoder(read)), y).sum(-1)
        weighted = fit + log_density(*prior, z) - log_density(*posterior, z)
        return -log_mean_exp(weighted).mean() / x.shape[1]


class Np(Latent):
    def __init__(self, mlp, config, attend):
        super().__init__(mlp, config, None)


class Bootstrapping(Conditional):
    """BNP, or BANP where there is attention: resampled points, then resampled residuals."""

    def __init__(self, mlp, config, attend):
        super().__init__()
        hidden = config["dim_hid"]
        if attend:
            self.encoders = nn.ModuleList([ContextEncoder(mlp, config, attend)])
        else:
            self.encoders = nn.ModuleList(ContextEncoder(mlp, config, None) for _ in range(2))
        self.context = nn.Linear(2 * hidden, hidden, bias=False)
        self.decoder = mlp(2 * hidden + config["dim_x"], hidden, 2 * config["dim_y"], config["dec_depth"])

    def read(self, xc, yc, x):
        return torch.cat([encoder(xc, yc, x) for encoder in self.encoders], -1)

    def decode(self, base, x, boot=None):
        first, *rest = self.decoder.layers
        h = first(torch.cat([base, x], -1))
        if boot is not None:
            h = h + self.context(boot)
        for layer in rest:
            h = layer(torch.relu(h))
        return gaussian(h)

    def bootstrap(self, xc, yc):
        """New values of the context, (K, B, Nc, Dy)."""
        points, residuals = (index.unsqueeze(-1) for index in self.draws)
        samples = points.shape[0]

        def pick(x, index):
            return torch.gather(x, -2, index.expand(*index.shape[:-1], x.shape[-1]))

        def each(x):
            return x.expand(samples, *x.shape)

        drawn = self.read(pick(each(xc), points), pick(each(yc), points), each(xc))
        mean, std = self.decode(drawn, each(xc))
        residual = pick((yc - mean) / std, residuals)
        return mean + std * (residual - residual.mean(-2, keepdim=True))

    def loss(self, xc, yc, xt, yt):
        x, y = self.scored(xc, yc, xt, yt)
        with torch.no_grad():
            values = self.bootstrap(xc, yc)
        samples = values.shape[0]
        base = self.read(xc, yc, x)
        boot = self.read(xc.expand(samples, *xc.shape), values, x.expand(samples, *x.shape))
        drawn = self.decode(base.expand(samples, *base.shape), x.expand(samples, *x.shape), boot)
        fit = log_density(*self.decode(base, x), y) + log_mean_exp(log_density(*drawn, y))
        return -fit.mean()


class Bnp(Bootstrapping):
    def __init__(self, mlp, config, attend):
        super().__init__(mlp, config, None)
