"""Settings of the documentation site; tools/docs.sh builds it."""

from docutils import nodes
from docutils.utils.math import latex2mathml

project = "npzoo"
author = "the npzoo authors"
copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = []
nitpicky = True

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "npzoo"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}


def mathml(latex, block):
    return str(latex2mathml.tex2mathml(latex, as_block=block))


def visit_inline(writer, node):
    writer.body.append(mathml(node.astext(), False))
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(f'<div class="math">{mathml(node.astext(), True)}</div>')
    raise nodes.SkipNode


def setup(app):
    # Formulas as MathML: the pages need neither a script nor the network.
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
