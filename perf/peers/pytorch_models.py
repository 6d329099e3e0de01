"""The models of npzoo in PyTorch, for perf/peers/pytorch.py: same parameters, same predictions, same loss.

Modules have npzoo's names, except that matrices which act on the same points are one (`load_weights` joins them). In
the two transformers all points go through one stream [context; targets]. With `Attention.form` "eager" TNP-D has the
dense mask of its authors' code; every other form, and TNP-KR, takes keys and values from the context alone.
"""

import functools
import math

import torch
from torch import nn
from torch.nn import functional

import pytorch_conditional


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


class TokenTransformer(NeuralProcess):
    """TNP-D and TNP-KR."""

    def __init__(self, name, config, form):
        super().__init__()
        kr = name != "tnp-d"
        width, dx, dy = config["d_model"], config["dim_x"], config["dim_y"]
        self.kr, self.masked = kr, not kr and form == "eager"
        self.embedder = (Mlp(dx + dy, config["embed_hidden"], width)
                         if kr else mlp_of_depth(dx + dy, width, width, config["emb_depth"]))
        self.encoder = Transformer(config, form, kr, self.masked)
        self.predictor = Mlp(width, config["dim_feedforward"], 2 * dy)
        self.mask = None

    def prepare(self, nc, nt):
        """Makes the dense mask where there is one, so that it does not count as work."""
        if self.masked:
            self.mask = torch.zeros(nc + nt, nc + nt, device=next(self.parameters()).device)
            self.mask[:, nc:] = -math.inf

    def forward(self, xc, yc, xt):
        unknown = yc.new_zeros(xt.shape[0], xt.shape[1], yc.shape[2])
        tokens = torch.cat([torch.cat([xc, xt], 1), torch.cat([yc, unknown], 1)], -1)
        raw = self.predictor(self.encoder(self.embedder(tokens), xc.shape[1], self.mask))
        mean, s = raw.chunk(2, -1)
        return mean, torch.exp(s / 2 if self.kr else s)


class TnpA(TokenTransformer):
    """One sequence [context; targets with their values; targets without], under the mask of its authors' code."""

    def __init__(self, config, form):
        super().__init__("tnp-d", config, form)
        self.masked = True
        for layer in self.encoder.layers:
            layer.attention = StreamAttention(config["d_model"], config["nhead"], form, True)

    def prepare(self, nc, nt):
        given, asked = slice(nc, nc + nt), slice(nc + nt, nc + 2 * nt)
        seen = torch.zeros(nc + 2 * nt, nc + 2 * nt, dtype=torch.bool)
        seen[:, :nc] = True
        seen[given, given] = torch.ones(nt, nt).tril().bool()
        seen[asked, given] = torch.ones(nt, nt).tril(-1).bool()
        self.mask = torch.zeros(seen.shape).masked_fill(~seen, -math.inf).to(next(self.parameters()).device)

    def loss(self, xc, yc, xt, yt):
        tokens = torch.cat([torch.cat([xc, xt, xt], 1), torch.cat([yc, yt, torch.zeros_like(yt)], 1)], -1)
        h = self.encoder(self.embedder(tokens), xc.shape[1] + xt.shape[1], self.mask)
        mean, s = self.predictor(h).chunk(2, -1)
        return nll(mean, torch.exp(s), yt)


class PoolingEncoder(nn.Module):
    def __init__(self, i, hidden, pre_depth, post_depth):
        super().__init__()
        self.pre = mlp_of_depth(i, hidden, hidden, pre_depth)
        self.post = mlp_of_depth(hidden, hidden, hidden, post_depth)

    def forward(self, points):
        return self.post(self.pre(points).mean(-2))


class Cnp(NeuralProcess):
    """The TNP authors' CNP: two encoders, and the context is scored in training, too."""

    def __init__(self, config):
        super().__init__()
        hidden, dx, dy = config["dim_hid"], config["dim_x"], config["dim_y"]
        self.encoders = nn.ModuleList(
            PoolingEncoder(dx + dy, hidden, config["enc_pre_depth"], config["enc_post_depth"]) for _ in range(2))
        self.decoder = mlp_of_depth(2 * hidden + dx, hidden, 2 * dy, config["dec_depth"])

    def prepare(self, nc, nt):
        pass

    def forward(self, xc, yc, xt):
        points = torch.cat([xc, yc], -1)
        encoded = torch.cat([encoder(points) for encoder in self.encoders], -1)
        each = encoded.unsqueeze(1).expand(-1, xt.shape[1], -1)
        mean, s = self.decoder(torch.cat([each, xt], -1)).chunk(2, -1)
        return mean, 0.1 + 0.9 * functional.softplus(s)

    def loss(self, xc, yc, xt, yt):
        return nll(*self(xc, yc, torch.cat([xc, xt], 1)), torch.cat([yc, yt], 1))


class PerceiverAttention(nn.Module):
    def __init__(self, width, heads, form, cross):
        super().__init__()
        self.heads, self.form = heads, form
        if cross:
            self.query = nn.Linear(width, width, bias=False)
            self.key_value = nn.Linear(width, 2 * width, bias=False)
        else:
            self.query_key_value = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context=None, batch=None):
        """`batch`: x is (N, E), the same for every element of a batch of that size."""
        if context is None:
            q, k, v = self.query_key_value(x).chunk(3, -1)
        else:
            q = self.query(x)
            k, v = self.key_value(context).chunk(2, -1)
        if batch is not None:
            q = q.unsqueeze(0).expand(batch, -1, -1)
        q, k, v = (split_heads(part, self.heads) for part in (q, k, v))
        return self.out(join_heads(attend(self.form, q, k, v)))


class PerceiverLayer(nn.Module):
    """The residual connections start from the normalised state, as in the authors' code."""

    def __init__(self, config, form, cross):
        super().__init__()
        width, hidden = config["d_model"], config["dim_feedforward"]
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        if cross:
            self.norm_context = nn.LayerNorm(width)
        self.attention = PerceiverAttention(width, config["nhead"], form, cross)
        self.expand, self.contract = nn.Linear(width, 2 * hidden), nn.Linear(hidden, width)

    def forward(self, x, context=None, batch=None):
        normal = self.norm1(x)
        if context is None:
            attended = self.attention(normal)
        else:
            attended = self.attention(normal, self.norm_context(context), batch)
        normal = self.norm2(normal + attended)
        value, gate = self.expand(normal).chunk(2, -1)
        return normal + self.contract(value * functional.gelu(gate))


class LatentLayer(nn.Module):
    """`latents` (B, L, E), or (L, E) for all of a batch of size `batch`."""

    def __init__(self, config, form):
        super().__init__()
        self.cross, self.self = PerceiverLayer(config, form, True), PerceiverLayer(config, form, False)

    def forward(self, latents, context, batch=None):
        return self.self(self.cross(latents, context, batch))


class ConstantMemoryBlock(nn.Module):
    def __init__(self, config, form):
        super().__init__()
        self.latents = nn.Parameter(torch.empty(config["num_latents_per_layer"], config["d_model"]))
        self.compress, self.read = LatentLayer(config, form), LatentLayer(config, form)

    def forward(self, latents, tokens):
        return self.read(latents, self.compress(self.latents, tokens, tokens.shape[0]))


class PerceiverDecoder(nn.Module):
    def __init__(self, config, form):
        super().__init__()
        width = config["d_model"]
        self.embedder = mlp_of_depth(config["dim_x"], width, width, config["emb_depth"])
        self.layers = nn.ModuleList(PerceiverLayer(config, form, True) for _ in range(config["num_layers"]))
        self.norm = nn.LayerNorm(width)
        self.predictor = Mlp(width, config["dim_feedforward"], 2 * config["dim_y"])

    def forward(self, xt, states):
        h = self.embedder(xt)
        for layer, state in zip(self.layers, states):
            h = layer(h, state)
        return self.predictor(self.norm(h))


class Lbanp(NeuralProcess):
    def __init__(self, config, form):
        super().__init__()
        width = config["d_model"]
        self.embedder = mlp_of_depth(config["dim_x"] + config["dim_y"], width, width, config["emb_depth"])
        self.latents = nn.Parameter(torch.empty(config["num_latents"], width))
        self.encoder = nn.ModuleList(LatentLayer(config, form) for _ in range(config["num_layers"]))
        self.decoder = PerceiverDecoder(config, form)

    def prepare(self, nc, nt):
        pass

    def forward(self, xc, yc, xt):
        tokens = self.embedder(torch.cat([xc, yc], -1))
        h = self.latents.unsqueeze(0).expand(tokens.shape[0], -1, -1)
        states = []
        for layer in self.encoder:
            h = layer(h, tokens)
            states.append(h)
        mean, s = self.decoder(xt, states).chunk(2, -1)
        return mean, torch.exp(s)


class Cmanp(NeuralProcess):
    def __init__(self, config, form):
        super().__init__()
        width = config["d_model"]
        self.embedder = mlp_of_depth(config["dim_x"] + config["dim_y"], width, width, config["emb_depth"])
        self.latents = nn.Parameter(torch.empty(config["num_latents"], width))
        self.encoder = nn.ModuleList(ConstantMemoryBlock(config, form) for _ in range(config["num_layers"]))
        self.decoder = PerceiverDecoder(config, form)

    def prepare(self, nc, nt):
        pass

    def forward(self, xc, yc, xt):
        tokens = self.embedder(torch.cat([xc, yc], -1))
        h = self.latents.unsqueeze(0).expand(tokens.shape[0], -1, -1)
        states = []
        for block in self.encoder:
            h = block(h, tokens)
            states.append(h)
        mean, s = self.decoder(xt, states).chunk(2, -1)
        return mean, torch.exp(s)


CONDITIONAL = {"canp": pytorch_conditional.Canp, "np": pytorch_conditional.Np, "anp": pytorch_conditional.Latent,
               "bnp": pytorch_conditional.Bnp, "banp": pytorch_conditional.Bootstrapping}


def make_model(name, config, form):
    """`config` as in npzoo's presets; `form` of attention: eager, explicit or sdpa."""
    if name == "cnp" and config["architecture"] == "tnp":
        return Cnp(config)
    if name == "tnp-d" and config["architecture"] == "tnp" and not config.get("bound_std"):
        return TokenTransformer(name, config, form)
    if name in ("tnp-kr-full", "tnp-kr-fast") and config["min_std"] == 0:
        return TokenTransformer(name, config, form)
    if name == "cmanp" and config.get("residual", "normalised") == "normalised" and not config.get("bound_std"):
        return Cmanp(config, form)
    if name == "tnp-a" and not config.get("bound_std"):
        return TnpA(config, form)
    if name == "lbanp" and not config.get("bound_std"):
        return Lbanp(config, form)
    if name in CONDITIONAL and config["architecture"] == "tnp":
        return CONDITIONAL[name](mlp_of_depth, config, functools.partial(attend, form))
    raise ValueError(f"model {name} with {config} is not written in PyTorch here")


JOINED = {"query_key_value": ("query", "key", "value"), "key_value": ("key", "value")}


def load_weights(model, tensors):
    """Takes tensors under npzoo's names; every one of them must be used, and every one of ours be there."""
    rest = dict(tensors)
    with torch.no_grad():
        for name, target in model.state_dict(keep_vars=True).items():
            *path, module, leaf = name.split(".") if "." in name else (name, "")
            parts = JOINED.get(module)
            names = [".".join([*path, part, leaf]) for part in parts] if parts else [name]
            missing = [n for n in names if n not in rest]
            if missing:
                raise ValueError(f"weights {missing} are missing")
            target.copy_(torch.cat([rest.pop(n) for n in names]))
    if rest:
        raise ValueError(f"weights {sorted(rest)} are not used")
