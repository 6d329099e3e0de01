"""Writes the table of commands: command_table.py OUTPUT WORD...

commands/WORD.cpp defines WORD_command; the name of bench/train_step is `bench train-step`."""
import pathlib
import sys

output, *words = sys.argv[1:]
symbols = [word.replace('/', '_') + '_command' for word in words]
names = [word.replace('/', ' ').replace('_', '-') for word in words]
declarations = '\n'.join(f'extern const CommandInfo {symbol};' for symbol in symbols)
rows = '\n'.join(f'    {{"{name}", &{symbol}}},' for name, symbol in zip(names, symbols))
pathlib.Path(output).write_text(f'''#include "tools/cli/command.h"

namespace npzoo::tools {{

{declarations}

namespace {{

constexpr NamedCommand kCommands[] = {{
{rows}
}};

}}  // namespace

std::span<const NamedCommand> commands() {{ return kCommands; }}

}}  // namespace npzoo::tools
''')
