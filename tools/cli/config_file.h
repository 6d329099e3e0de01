#pragma once

#include <filesystem>

#include "tools/cli/flags.h"

namespace npzoo::tools {

/// Gives the flags of the program and its commands the values that a TOML file has for them, one table for each
/// command, where the command line gave none. Every table is checked, that of another command too. Throws Error, naming
/// the key and what is expected, for what is not TOML, is larger than 1 MiB, names no command or flag, or has a value
/// of another type or outside its range.
void apply_config(const Flags& program, const std::filesystem::path& path);

}  // namespace npzoo::tools
