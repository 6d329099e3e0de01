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
import pytorch_perceiver
import pytorch_series
from pytorch_layers import JointHead, Mlp, NeuralProcess, StreamAttention, Transformer, attend, mlp_of_depth, nll


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


class TnpNd(TokenTransformer):
    def __init__(self, config, form):
        super().__init__("tnp-d", config, form)
        del self.predictor
        self.head = JointHead(config, form)

    def loss(self, xc, yc, xt, yt):
        tokens = torch.cat([torch.cat([xc, xt], 1), torch.cat([yc, torch.zeros_like(yt)], 1)], -1)
        return self.head.loss(self.encoder(self.embedder(tokens), xc.shape[1], self.mask), yt)


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


TRANSFORMERS = {"tnp-a": TnpA, "tnp-nd": TnpNd, "lbanp": pytorch_perceiver.Perceiver,
                "lbanp-nd": pytorch_perceiver.JointPerceiver, "cmanp": pytorch_perceiver.Cmanp,
                "cmanp-and": pytorch_perceiver.CmanpAnd}
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
    if name in TRANSFORMERS and config.get("residual", "normalised") == "normalised" and not config.get("bound_std"):
        return TRANSFORMERS[name](config, form)
    if name in CONDITIONAL and config["architecture"] == "tnp":
        return CONDITIONAL[name](mlp_of_depth, config, functools.partial(attend, form))
    options = ("bound_std", "p", "dropout", "permutation_repeats")
    if name == "taylorformer" and config["dim_x"] == 1 and not any(config.get(option) for option in options):
        return pytorch_series.Taylorformer(config, form)
    if name == "autoformer" and config["activation"] == "gelu" and not config["dropout"] and config.get("gaussian", True):
        return pytorch_series.Autoformer(config)
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
