"""Writes a table of rows: rows.py TYPE TABLE HEADER OUTPUT FILE..., each file defining its own as `TYPE NAME_info() {`."""
import pathlib
import re
import sys

row, table, header = sys.argv[1:4]
output, *files = map(pathlib.Path, sys.argv[4:])
rows = {file: re.findall(rf'^{row} (\w+)\(\) {{', file.read_text(), re.M) for file in files}
without = [str(file) for file, names in rows.items() if not names]
if without:
    sys.exit(f'no `{row} NAME_info() {{` in ' + ', '.join(without))
names = [name for found in rows.values() for name in found]
declarations = '\n'.join(f'{row} {name}();' for name in names)
output.write_text(f'''#include "{header}"

namespace npzoo {{

{declarations}

std::span<const {row}> {table}() {{
  static const {row} kRows[] = {{{', '.join(name + '()' for name in names)}}};
  return kRows;
}}

}}  // namespace npzoo
''')
