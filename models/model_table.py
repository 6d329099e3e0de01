"""Writes the table of models: model_table.py OUTPUT FILE..., from the rows that their files define."""
import pathlib
import re
import sys

output, *files = map(pathlib.Path, sys.argv[1:])
rows = {file: re.findall(r'^ModelInfo (\w+)\(\) {', file.read_text(), re.M) for file in files}
without = [str(file) for file, names in rows.items() if not names]
if without:
    sys.exit('no `ModelInfo NAME_info() {` in ' + ', '.join(without))
names = [name for found in rows.values() for name in found]
declarations = '\n'.join(f'ModelInfo {name}();' for name in names)
output.write_text(f'''#include "models/registry.h"

namespace npzoo {{

{declarations}

std::span<const ModelInfo> built_in_models() {{
  static const ModelInfo kModels[] = {{{', '.join(name + '()' for name in names)}}};
  return kModels;
}}

}}  // namespace npzoo
''')
