#!/usr/bin/env python3
"""Makes the sources of the documentation site: generate.py NPZOO TREE

Copies docs/ and the other pages of the repository to TREE, and adds pages and sections that the program knows best: the
command line, the protocols and their keys, C++ headers, and the presets, parameters and weights of each model. Stops at a link to
a file that does not exist, and at a model or a Python name without a page.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True  # nothing is written beside the sources
sys.path.insert(0, str(ROOT / "perf"))
import results_report  # noqa: E402

import cpp_reference  # noqa: E402
DOCS = ROOT / "docs"
# Files of the repository that are pages of the site: where they stand there.
PAGES = {
    "CONTRIBUTING.md": "developing/contributing.md",
    "CHANGELOG.md": "developing/changelog.md",
    "SECURITY.md": "reference/security.md",
    "perf/README.md": "developing/measuring.md",
    "perf/NOTES.md": "developing/notes.md",
    "perf/gpu_plan.md": "developing/gpu-plan.md",
    "perf/unfinished/README.md": "developing/unfinished.md",
    "perf/RESULTS.md": "results/tables.md",
    **{f"perf/results/{path.name}": f"results/measurements/{path.name}" for path in sorted((ROOT / "perf/results").glob("*.md"))},
}
# Public headers by the names that programs include, in groups. They lie in folders of the repository without `npzoo/`.
HEADERS = {
    "Tensors and gradients": ["npzoo/engine/tensor.h", "npzoo/engine/tape.h", "npzoo/engine/draws.h", "npzoo/engine/module.h",
                              "npzoo/engine/init.h", "npzoo/engine/optim/optimiser.h", "npzoo/engine/error.h"],
    "Operations": [f"npzoo/ops/{folder.name}/{folder.name}.h" for folder in sorted((ROOT / "ops").iterdir())
                   if (folder / f"{folder.name}.h").exists()],
    "Tasks and protocols": ["npzoo/datasets/task.h", "npzoo/datasets/task_source.h", "npzoo/datasets/task_config.h",
                            "npzoo/datasets/protocol.h"],
    "Models": ["npzoo/models/model.h", "npzoo/models/prediction.h", "npzoo/models/registry.h"],
    "Parts of models": [f"npzoo/models/blocks/{name}.h" for name in ("mlp", "linear", "layer_norm", "attention", "transformer", "perceiver",
                                                                    "convolution", "lstm")],
    "Predictions": [f"npzoo/models/predictions/{name}.h" for name in ("independent", "mixture", "sampled_functions", "joint_gaussian",
                                                                     "autoregressive", "next_event")],
    "Training": [f"npzoo/models/training/{name}.h" for name in ("trainer", "host_step", "checkpoint", "named_weights")],
    "Applications": [f"npzoo/models/applications/{name}.h" for name in (
        "tables/fill", "tables/fill_table", "forecasts/forecast", "events/following_events", "images/picture_completion",
        "optimise/bayesian_optimiser")],
}
INCLUDE = re.compile(r"(```\{literalinclude\} )(\S+)")
LINK = re.compile(r"(\]\()([^()\s]+)(\))")


class Site:
    def __init__(self, npzoo, tree):
        self.npzoo, self.tree = npzoo, tree
        self.errors = []

    def run(self, *arguments):
        return subprocess.run([self.npzoo, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def write(self, page, text):
        path = self.tree / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def fill(self, page, mark, text):
        before, after = (self.tree / page).read_text().split(mark)
        self.write(page, before + text + after)

    def target(self, link, source, page):
        """The link of a file of the repository, as its page in the site has it."""
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", link):
            return link
        found = pathlib.Path(os.path.normpath(source.parent / path))
        if not found.exists():
            self.errors.append(f"{source.relative_to(ROOT)}: no file {path}")
            return link
        name = str(found.relative_to(ROOT))
        if name in PAGES:
            place = self.tree / PAGES[name]
        elif found.is_relative_to(DOCS):
            place = self.tree / found.relative_to(DOCS)
        elif found.is_dir():
            return None
        else:
            place = self.tree / "files" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found, place)
        moved = os.path.relpath(place, (self.tree / page).parent)
        return f"{moved}#{anchor}" if anchor else moved

    def text(self, source, page):
        """A Markdown file with its links as the site has them; code stays as it is."""
        def replace(match):
            target = self.target(match[2], source, page)
            return f"{match[1]}{target}{match[3]}" if target else f"{match[1]}{match[2]}{match[3]}"

        def included(match):
            return f"{match[1]}{self.target(match[2], source, page)}"

        parts = re.split(r"(^```.*?^```$)", source.read_text(), flags=re.MULTILINE | re.DOTALL)
        return "".join(INCLUDE.sub(included, part) if part.startswith("```") else LINK.sub(replace, part) for part in parts)

    def copy(self):
        made = self.tree / ".made-by-generate"
        if self.tree.exists() and not made.exists():
            sys.exit(f"generate: {self.tree} holds other files, expected a folder that does not exist or that generate.py made")
        if self.tree.exists():
            shutil.rmtree(self.tree)
        self.write(made.name, "")
        for path in sorted(DOCS.rglob("*")):
            page = path.relative_to(DOCS)
            if path.is_dir() or "__pycache__" in page.parts:
                continue
            if path.suffix == ".md":
                self.write(page, self.text(path, page))
            else:
                (self.tree / page).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.tree / page)
        for name, page in PAGES.items():
            text = self.text(ROOT / name, pathlib.Path(page))
            title = "" if text.startswith("# ") else f"# {pathlib.Path(page).stem}\n\n"
            self.write(page, title + text)

    # The command line

    def command_line(self):
        parts = []
        overview = self.run("--help")
        commands = re.findall(r"^  ([a-z][a-z-]*) {2,}(.+)$", overview, re.MULTILINE)
        shared = ""
        for name, _ in commands:
            text = self.run("help", name)
            own, _, common = text.partition("Options of every command:")
            shared = common.partition("\n\n")[0] or shared
            parts.append(self.command(name, own + self.example(text)))
            if "Subcommands:" in own:
                for inner, _ in re.findall(r"^  ([a-z-]+) {2,}(.+)$", own[own.index("Subcommands:"):], re.MULTILINE):
                    text = self.run("help", name, inner)
                    parts.append(self.command(f"{name} {inner}", text.partition("Options of every command:")[0] + self.example(text)))
        parts.append("## Options of every command\n\n" + definitions(entries(shared)))
        parts.append("## The whole program\n\n" + definitions(entries(overview.partition("Options:")[2].partition("\n\n")[0])))
        self.fill("reference/command-line.md", "<!-- commands -->", "\n".join(parts))

    @staticmethod
    def example(text):
        """The last line of a help text, unless the text ends with the options of this command."""
        return "" if "Options of every command:" not in text else text.rstrip().splitlines()[-1]

    @staticmethod
    def command(name, text):
        description, _, rest = text.strip().partition("\n")
        usage = re.search(r"^Usage: (.*)$", rest, re.MULTILINE)[1]
        example = re.search(r"^Example: (.*)$", rest, re.MULTILINE)[1]
        rest = re.sub(r"^ +npzoo .*\n", "", rest, flags=re.MULTILINE)
        return (f"## npzoo {name}\n\n{description}\n\n```text\n{usage}\n```\n\nExample:\n\n```text\n{example}\n```\n\n"
                f"{definitions(entries(rest))}")

    # Protocols

    def protocols(self):
        rows = collections.defaultdict(list)
        for protocol in self.json("list", "protocols"):
            name = protocol["name"]
            folder, short = name.split("/")
            info = self.json("info", name, "--text")
            rows[folder].append((name, protocol))
            models = ", ".join(f"[`{model}`](../../../models/{model}.md)" for model in info["models"])
            source = f"\n**Source.** {escaped(info['source'])}\n" if info.get("source") else ""
            self.write(f"reference/protocols/{folder}/{short}.md", f"""# {name}

{escaped(info['description'])}.
{source}
| | |
|---|---|
| inputs | {info['inputs']} |
| updates | {info['steps']:,} of {info['batch_size']} tasks |
| tests | {', '.join(f'`{test}`' for test in info['tests'])} |
| presets | {models} |

The [protocol language](../../protocol-language.md) explains the keys. Print this text with `npzoo info --text {name}`.

```toml
{info['text'].strip()}
```
""")
        parts, pages = [], []
        for folder, protocols in rows.items():
            parts.append(f"\n## {folder}\n\n| protocol | tasks | updates |\n|---|---|---:|\n")
            for name, protocol in protocols:
                pages.append(f"{name} <protocols/{name}>")
                parts.append(f"| [`{name}`](protocols/{name}.md) | {escaped(protocol['description'])} | {protocol['steps']:,} |\n")
        parts.append("\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n")
        self.fill("reference/protocols.md", "<!-- protocols -->", "".join(parts))

    # Keys of protocols

    def protocol_keys(self):
        top = self.json("help", "protocol")
        parts = [self.key_tables(top["tables"])]
        for title, names in (("Tasks", "kinds"), ("Rules of trials", "trials"), ("Options of models", "models")):
            parts.append(f"\n## {title}\n")
            for name in top[names]:
                tables = [table for table in self.json("help", "protocol", name)["tables"] if self.belongs(table["table"], names)]
                heading = f"[{name}](../models/{name}.md)" if names == "models" else name
                parts.append(f"\n### {heading}\n" + self.key_tables(tables, 4))
        self.fill("reference/protocol-language.md", "<!-- keys -->", "".join(parts))

    @staticmethod
    def belongs(table, names):
        """Whether a table is one of these: a trial and a kind of tasks may have the same name."""
        if names == "trials":
            return table.startswith("[evaluation] trial")
        return names == "models" or not table.startswith("[evaluation] trial")

    @staticmethod
    def key_tables(tables, level=2):
        parts = []
        for table in tables:
            if level == 2:
                parts.append(f"\n## {table['table']}\n")
            elif "may change" in table["table"]:
                parts.append("\nTests and validations may change:\n")
            parts.append("\n| key | type | meaning |\n|---|---|---|\n")
            for key in table["keys"]:
                more = [f"default {key['default']}"] if key["default"] else []
                more += ["optional"] if key["optional"] else []
                more += [f"if {key['condition']}"] if key["condition"] else []
                meaning = escaped(key["meaning"]) + (f" ({escaped('; '.join(more))})" if more else "")
                parts.append(f"| `{key['name']}` | {escaped(key['type'])} | {meaning} |\n")
        return "".join(parts)

    # Weights and headers

    def weights(self):
        rows = ["| weights | inputs | parameters | size | scores |\n|---|---:|---:|---:|---|\n"]
        for entry in self.json("list", "weights"):
            figures = ", ".join(f"{test['test']} {test[entry['metric']]:.3f} ± {test['standard_error']:.3f}" for test in entry["evaluation"])
            scores = f"{entry['metric'].replace('_', '-')}: {figures}" if figures else f"`npzoo info {entry['name']}`"
            model = entry["model"]
            rows.append(f"| [`{entry['name']}`](../models/{model}.md) | {entry['inputs']} | {entry['parameters']:,} | "
                        f"{entry['bytes'] / 1e6:.1f} MB | {scores} |\n")
        self.fill("reference/weights.md", "<!-- weights -->", "".join(rows))

    def headers(self):
        groups = []
        for title, headers in HEADERS.items():
            pages = []
            for header in headers:
                file = ROOT / header.removeprefix("npzoo/")
                if not file.exists():
                    self.errors.append(f"docs/generate.py: no header {header}")
                    continue
                page = header.removesuffix(".h")
                pages.append(f"{pathlib.Path(header).name} </reference/headers/{page}>")
                text = cpp_reference.page(header, file.read_text())
                if not re.search(r"^## `", text, re.MULTILINE) or re.search(r"^## $", text, re.MULTILINE):
                    self.errors.append(f"docs/cpp_reference.py: {header} has a declaration whose name is not found")
                self.write(f"reference/headers/{page}.md", text)
            group = f"headers/{title.lower().replace(' ', '-')}"
            self.write(f"reference/{group}.md", f"# {title}\n\n```{{toctree}}\n" + "\n".join(pages) + "\n```\n")
            groups.append(group)
        self.fill("reference/cpp-headers.md", "<!-- headers -->", "```{toctree}\n:maxdepth: 2\n\n" + "\n".join(groups) + "\n```\n")

    def python(self):
        """Every public name of the package is on its page."""
        exported = re.search(r"__all__ = \[(.*?)\]", (ROOT / "python/npzoo/__init__.py").read_text(), re.DOTALL)[1]
        page = (DOCS / "reference/python-api.md").read_text()
        for name in [*re.findall(r"\"(\w+)\"", exported), "Imputer", "NeuralProcessRegressor"]:
            if not re.search(rf"\b{name}$", page, re.MULTILINE):
                self.errors.append(f"docs/reference/python-api.md: no entry for npzoo.{name}")

    # Models

    def models(self):
        weights = {entry["name"]: entry for entry in self.json("list", "weights")}
        models = self.json("list", "models")
        stores = results_report.read_stores(ROOT / "perf/results")
        overview = ["| model | title | paper | weights |\n|---|---|---|---:|\n"]
        for model in models:
            name = model["name"]
            page = DOCS / "models" / f"{name}.md"
            if not page.exists():
                self.errors.append(f"docs/models/{name}.md is missing")
                continue
            title, _, body = self.text(page, f"models/{name}.md").partition("\n")
            if title != f"# {name}":
                self.errors.append(f"docs/models/{name}.md begins with '{title}', expected '# {name}'")
            frame = self.presets(self.json("info", name)) + self.cards([weights[each] for each in model["weights"]])
            frame = self.picture(name, model["weights"]) + self.figures(name, stores) + frame
            paper = "" if model["paper"].startswith("none") else f" Paper: {escaped(model['paper'])}."
            self.write(f"models/{name}.md", f"# {name}\n\n**{model['title']}.**{paper}\n{body.rstrip()}\n\n{frame}")
            overview.append(f"| [`{name}`]({name}.md) | {escaped(model['title'])} | {escaped(model['paper'])} | {len(model['weights'])} |\n")
        known = {model["name"] for model in models} | {"index"}
        self.errors += [f"docs/models/{path.name}: no such model" for path in (DOCS / "models").glob("*.md") if path.stem not in known]
        self.fill("models/index.md", "<!-- models -->", "".join(overview))

    def picture(self, name, weights):
        """Returns a picture of predictions of the first weights that need no data."""
        for each in weights:
            command = ["plot", "--checkpoint", each, "--tasks", "2", "--out"]
            if subprocess.run([self.npzoo, *command, self.tree / f"models/{name}.svg"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL).returncode == 0:
                return f"""## Picture

```text
npzoo {" ".join(command)} picture.svg
```

![Predictions of {each} for two tasks, with the truth beside them]({name}.svg)

"""
        return ""

    @staticmethod
    def figures(name, stores):
        """Our figures beside published ones."""
        rows = [[f"[`{store['protocol']}`](../reference/protocols/{store['protocol']}.md)", results_report.place(store, row), *results_report.figures(row)]
                for store in stores for row in store["rows"] if row["model"] == name]
        if not rows:
            return ""
        table = results_report.table(["protocol", "test", *results_report.FIGURES], rows, ["protocol", "test", "verdict"])
        return f"## Figures\n\nOur trainings beside published figures. [Results](../results/tables.md) explains the columns.\n\n{table}\n"

    @staticmethod
    def presets(info):
        forms = []  # options, then the protocols with their numbers of parameters
        for preset in info["protocols"]:
            for options, protocols in forms:
                if options == preset["options"]:
                    protocols.append(preset)
                    break
            else:
                forms.append((preset["options"], [preset]))
        parts = ["""## Presets

Each protocol has a preset of the model. Change an option with `--set models.""" + info["name"] + """.KEY=VALUE`.
"""]
        for options, protocols in forms:
            parameters = collections.defaultdict(list)
            for preset in protocols:
                parameters[preset["parameters"]].append(preset["protocol"])
            parts.append("\n| parameters | protocols |\n|---:|---|\n")
            for count, names in parameters.items():
                parts.append(f"| {count:,} | " + ", ".join(f"[`{name}`](../reference/protocols/{name}.md)" for name in names) + " |\n")
            lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
            parts.append(f"\n```toml\n{lines}\n```\n")
        return "".join(parts)

    def cards(self, weights):
        if not weights:
            return "\n## Weights\n\nNo trained weights come with npzoo.\n"
        parts = ["\n## Weights\n\n`npzoo info NAME` prints the same.\n"]
        for entry in weights:
            card = re.sub(r"^# .*\n", "", self.run("info", entry["name"]), flags=re.MULTILINE)
            card = re.sub(r"^#", "###", card, flags=re.MULTILINE)
            parts.append(f"\n### {entry['name']}\n\n{card.strip()}\n")
        return "".join(parts)


def escaped(text):
    """Plain text as Markdown."""
    return re.sub(r"([|<>*_$\\\[\]])", r"\\\1", " ".join(text.split()))


def entries(text):
    """Names and descriptions of what a help text lists."""
    found = []
    for line in text.splitlines():
        if re.match(r"^  \S", line):
            name, _, description = line.strip().partition("  ")
            found.append([name, description.strip()])
        elif re.match(r"^ {10,}\S", line) and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(name, description) for name, description in found if not name.startswith("-h,")]


def definitions(listed):
    def described(text):
        return re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"`\g<0>`", escaped(text))

    return "".join(f"`{name}`\n: {described(description)}\n\n" for name, description in listed)


def main():
    site = Site(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:3]))
    site.copy()
    site.command_line()
    site.protocols()
    site.protocol_keys()
    site.models()
    site.weights()
    site.headers()
    site.python()
    if site.errors:
        sys.exit("\n".join(f"generate: {error}" for error in site.errors))


if __name__ == "__main__":
    main()
