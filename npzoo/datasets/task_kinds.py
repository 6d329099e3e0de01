"""Writes the table of the kinds of tasks: task_kinds.py OUTPUT KIND..."""
import pathlib
import sys

output, *kinds = sys.argv[1:]
declarations = '\n'.join(f'std::shared_ptr<const TaskConfig> read_{kind}_config(TomlReader& data);' for kind in kinds)
table = '\n'.join(f'    {{"{kind}", read_{kind}_config}},' for kind in kinds)
pathlib.Path(output).write_text(f'''#include "npzoo/datasets/built_in_families.h"

namespace npzoo {{

{declarations}

namespace {{

constexpr TaskFamily kFamilies[] = {{
{table}
}};

}}  // namespace

std::span<const TaskFamily> built_in_families() {{ return kFamilies; }}

}}  // namespace npzoo
''')
