"""Writes the table of the kinds of tasks: task_kinds.py OUTPUT KIND[=FORMER_NAME]..."""
import pathlib
import sys

output, *words = sys.argv[1:]
kinds = [word.partition('=')[::2] for word in words]
declarations = '\n'.join(f'std::shared_ptr<const TaskConfig> read_{kind}_config(TomlReader& data);' for kind, _ in kinds)
table = '\n'.join(f'    {{"{kind}", read_{kind}_config, "{former}"}},' for kind, former in kinds)
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
