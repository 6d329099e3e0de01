"""Makes pages of C++ headers: a section for each class and function, with its comment as text and its declaration as code.

It relies on the layout of npzoo's headers (.clang-format): declarations stand behind their `///` comments, private members last.
"""

import re

HEAD_OF_BODY = re.compile(r"\)(?:\s|const|override|final|noexcept|-> [\w:<>]+)*$")


def page(name, text):
    """The Markdown page of a header."""
    inner = re.search(r"^namespace npzoo(?:::\w+)? \{\n(.*)^\}  // namespace", text, re.MULTILINE | re.DOTALL)
    sections = [section(comment, code) for comment, code in entries(inner[1])]
    return f"# {name.rpartition('/')[2]}\n\n```c++\n#include \"{name}\"\n```\n\n" + "\n".join(sections)


def section(comment, code):
    names = list(dict.fromkeys(name_of(each) for each in declarations(code)))
    parts = [f"## {', '.join(f'`{name}`' for name in names if name)}", prose(comment), f"```c++\n{public(code)}\n```\n"]
    return "\n\n".join(part for part in parts if part)


def entries(text):
    """Pairs of a comment and the declarations that it describes."""
    lines, found, comment, at = text.split("\n"), [], [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("//"):
            comment.append(line.lstrip("/")[1:])
            at += 1
        elif not line.strip() or line.startswith("#"):
            comment = [] if not line.strip() else comment
            at += 1
        else:
            end = end_of_declaration(lines, at)
            code = "\n".join(lines[at:end])
            if comment or not found or not lines[at - 1].strip():
                found.append((comment, code))
            else:  # goes on with the declaration before
                found[-1] = (found[-1][0], found[-1][1] + "\n" + code)
            comment, at = [], end
    merged = []
    for comment, code in found:  # forward declarations are left out
        if not re.fullmatch(r"(?:(?:class|struct|enum class) \w+(?: : [\w:]+)?;\s*)+", code):
            merged.append((comment, code))
    return merged


def end_of_declaration(lines, at):
    depth = 0
    for end in range(at, len(lines)):
        code = re.sub(r"//.*", "", lines[end]).rstrip()
        depth += code.count("{") + code.count("(") - code.count("}") - code.count(")")
        if depth == 0 and code.endswith((";", "}")):
            return end + 1
    return len(lines)


def declarations(code):
    lines, at, found = code.split("\n"), 0, []
    while at < len(lines):
        end = end_of_declaration(lines, at)
        found.append("\n".join(lines[at:end]))
        at = end
    return found


def name_of(code):
    code = re.sub(r"template <[^\n]*>\n", "", re.sub(r"//.*", "", code))
    kind = re.match(r"(?:class|struct|enum class|union) (?:\[\[\w+\]\] )?(\w+)", code)
    if kind:
        return kind[1]
    alias = re.match(r"using (\w+) =", code)
    if alias:
        return alias[1]
    function = re.search(r"(operator\S+|\w+)\(", code)
    variable = re.search(r"(\w+)(?:\[\])?(?:\{|;| =|$)", code)
    before = code.find("=") if "=" in code else len(code)
    if function and function.start() < before:
        return function[1]
    return variable[1] if variable else ""


def public(code):
    """The declaration without private members and bodies of functions."""
    code = re.sub(r"^ private:\n.*?(?=^ (?:public|protected):|^\};)", "", code, flags=re.MULTILINE | re.DOTALL)
    code = without_bodies(code)
    return re.sub(r"\n\s*\n(?=\};)", "\n", re.sub(r"\n{3,}", "\n\n", code)).rstrip()


def without_bodies(code):
    """Replaces the bodies of functions, and the initialisers of constructors, by semicolons."""
    out, at, statement = [], 0, ""
    while at < len(code):
        if code.startswith("//", at):
            end = code.find("\n", at)
            end = len(code) if end < 0 else end
            out.append(code[at:end])
            at = end
            continue
        c = code[at]
        body = None
        if c == ":" and statement.rstrip().endswith(")"):
            body = after_initialisers(code, at + 1)
        elif c == "{" and HEAD_OF_BODY.search(statement):
            body = at
        if body is not None:
            out = ["".join(out).rstrip(), ";"]
            at, statement = matching(code, body) + 1, ""
            at += code.startswith(";", at)
            continue
        out.append(c)
        statement = "" if c in ";{}" else statement + c
        at += 1
    return "".join(out)


def after_initialisers(code, at):
    """The place of the body behind `a(1), b{2}`."""
    while True:
        at = re.compile(r"\s*[\w:<>]+\s*").match(code, at).end()
        at = matching(code, at) + 1
        comma = re.compile(r"\s*,").match(code, at)
        if not comma:
            return code.index("{", at)
        at = comma.end()


def matching(code, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end] in "({") - (code[end] in ")}")
        if depth == 0:
            return end
    return len(code) - 1


def prose(comment):
    """A comment as Markdown: indented lines are code."""
    parts, code = [], []
    for line in [*comment, ""]:
        if line.startswith("    "):
            code.append(line[4:])
            continue
        if code and line.strip():
            parts.append("```text\n" + "\n".join(code).rstrip() + "\n```\n")
            code = []
        elif code:
            code.append("")
            continue
        parts.append("".join(part if i % 2 else re.sub(r"([<>*_$\\\[\]|])", r"\\\1", part) for i, part in enumerate(re.split(r"(`[^`]*`)", line))))
    if "".join(code).strip():
        parts.append("```text\n" + "\n".join(code).rstrip() + "\n```\n")
    return "\n".join(parts).strip()
