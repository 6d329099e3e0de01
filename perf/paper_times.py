"""Times that were published, to set beside ours."""

# Jenson et al., "Transformer neural processes - kernel regression", version 1, tables of run times: microseconds per
# sample for 1, 10, ..., 1e6 points, batch 1. None: out of memory.
PAPER = {
    "test": {
        "tnp-d": [118, 119, 129, 286, 45000, None, None],
        "tnp-kr-full": [171, 287, 267, 230, 474, 7040, 86800],
        "tnp-kr-fast": [194, 327, 282, 226, 436, 4510, 64300],
    },
    "context": {
        "tnp-d": [99, 99, 114, 247, 44700, None, None],
        "tnp-kr-full": [98, 220, 286, 302, 36700, None, None],
        "tnp-kr-fast": [138, 277, 299, 234, 632, 6900, 88400],
    },
}


def published_ms(vary, model, points):
    """Of so many test or context points; None where nothing was published, or memory did not suffice."""
    times = PAPER[vary].get(model, [])
    for power, microseconds in enumerate(times):
        if points == 10**power and microseconds is not None:
            return microseconds / 1000
    return None
