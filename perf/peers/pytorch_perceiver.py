"""LBANP, CMANP and what predicts all targets together on them, for perf/peers/pytorch_models.py."""

import torch
from torch import nn
from torch.nn import functional

from pytorch_layers import JointHead, Mlp, NeuralProcess, attend, join_heads, mlp_of_depth, split_heads


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

    def encode(self, xt, states):
        h = self.embedder(xt)
        for layer, state in zip(self.layers, states):
            h = layer(h, state)
        return self.norm(h)

    def forward(self, xt, states):
        return self.predictor(self.encode(xt, states))


class Perceiver(NeuralProcess):
    """LBANP."""

    layer = LatentLayer

    def __init__(self, config, form):
        super().__init__()
        width = config["d_model"]
        self.embedder = mlp_of_depth(config["dim_x"] + config["dim_y"], width, width, config["emb_depth"])
        self.latents = nn.Parameter(torch.empty(config["num_latents"], width))
        self.encoder = nn.ModuleList(self.layer(config, form) for _ in range(config["num_layers"]))
        self.decoder = PerceiverDecoder(config, form)

    def prepare(self, nc, nt):
        pass

    def encode(self, xc, yc):
        tokens = self.embedder(torch.cat([xc, yc], -1))
        h = self.latents.unsqueeze(0).expand(tokens.shape[0], -1, -1)
        states = []
        for layer in self.encoder:
            h = layer(h, tokens)
            states.append(h)
        return states

    def forward(self, xc, yc, xt):
        mean, s = self.decoder(xt, self.encode(xc, yc)).chunk(2, -1)
        return mean, torch.exp(s)


class Cmanp(Perceiver):
    layer = ConstantMemoryBlock


class JointPerceiver(Perceiver):
    """LBANP-ND and CMANP-AND, whose training looks at all targets together; the decoder's predictor stays unused."""

    def __init__(self, config, form):
        super().__init__(config, form)
        self.head = JointHead(config, form)

    def loss(self, xc, yc, xt, yt):
        return self.head.loss(self.decoder.encode(xt, self.encode(xc, yc)), yt)


class CmanpAnd(JointPerceiver):
    layer = ConstantMemoryBlock
