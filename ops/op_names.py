"""Writes the table of op folders and of all recorded operation names: op_names.py OUTPUT FOLDER..."""
import pathlib
import re
import sys

RECORDED = re.compile(r'\b(?:record|push)\(\s*(?:\*tape,\s*)?"([a-z_0-9]+)"')
TABLE_ROW = re.compile(r'^NPZOO_UNARY\(([a-z_0-9]+),', re.M)

output, *folders = map(pathlib.Path, sys.argv[1:])
names = set()
for folder in folders:
    for path in sorted(folder.iterdir()):
        pattern = {'.cpp': RECORDED, '.def': TABLE_ROW}.get(path.suffix)
        if pattern:
            names.update(pattern.findall(path.read_text()))

declarations = '\n'.join(f'void {f.name}_gradcheck_cases(GradcheckCases& cases);' for f in folders)
table = '\n'.join(f'    {{"{f.name}", {f.name}_gradcheck_cases}},' for f in folders)
strings = '\n'.join(f'    "{name}",' for name in sorted(names))
output.write_text(f'''#include "npzoo/ops/gradcheck_cases.h"

namespace npzoo {{

{declarations}

namespace {{

constexpr OpFolder kFolders[] = {{
{table}
}};

constexpr const char* kNames[] = {{
{strings}
}};

}}  // namespace

std::span<const OpFolder> op_folders() {{ return kFolders; }}
std::span<const char* const> op_names() {{ return kNames; }}

}}  // namespace npzoo
''')
