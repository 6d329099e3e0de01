"""Settings of the documentation site; tools/docs.sh builds it."""

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

project = "npzoo"
author = "the npzoo authors"
copyright = author
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = []
nitpicky = True
smartquotes = False  # options begin with two hyphens

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = "npzoo"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}


def mathml(node, block):
    try:
        return str(latex2mathml.tex2mathml(node.astext().strip(), as_block=block))
    except MathError as error:
        logging.getLogger(__name__).warning("%s in %s", error, node.astext(), location=node)
        return ""


def visit_inline(writer, node):
    writer.body.append(mathml(node, False))
    raise nodes.SkipNode


def visit_block(writer, node):
    writer.body.append(f'<div class="math">{mathml(node, True)}</div>')
    raise nodes.SkipNode


def setup(app):
    # Formulas as MathML: the pages need neither a script nor the network.
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
