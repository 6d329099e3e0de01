#pragma once

#include <string>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo::tools {

/// A page of the manual, for man(1), made of what --help tells: of the command of the program with these names, of the
/// program itself if there are none. There must be such a command.
std::string man_page(const Flags& program, const std::vector<std::string>& names);

}  // namespace npzoo::tools
