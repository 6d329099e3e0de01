"""Pictures of reports, the same bytes for the same figures."""


def svg_pyplot():
    """matplotlib.pyplot that draws SVG, or None if matplotlib is missing (requirements.txt)."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "npzoo"
    from matplotlib import pyplot
    return pyplot
