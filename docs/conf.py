"""Settings of the documentation site; tools/docs.sh builds it."""

import os
import sys

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

project = "npzoo"
author = "the npzoo authors"
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = []
nitpicky = True
# Types of other packages have no page here.
nitpick_ignore_regex = [("py:.*", r"(?!npzoo\.[a-zA-Z]).*")]
smartquotes = False  # options begin with two hyphens

myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 4

# Documents the Python package from its sources: its compiled module is not needed.
sys.path.insert(0, os.path.join(os.environ["NPZOO_ROOT"], "python"))
sys.dont_write_bytecode = True
autodoc_mock_imports = ["npzoo._core", "darts", "optuna", "pandas", "sklearn", "sktime", "xarray"]
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Doubles": "numpy.ndarray"}
python_maximum_signature_line_length = 88
# Groups of arguments in documentation strings of many arguments.
napoleon_custom_sections = [(f"Parameters ({group})", "params_style") for group in (
    "cells", "columns", "computation", "events", "forecasts", "Gaussian process", "limits", "method", "protocol", "run", "table",
    "uncertainty")]
python_use_unqualified_type_names = True

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
