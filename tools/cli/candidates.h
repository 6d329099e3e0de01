#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo::tools {

/// A topic of `npzoo help` that is no command.
inline constexpr const char* kProtocolTopic = "protocol";

/// Returns the completions of the last word of a command line, such as "npzoo train --mod": commands, flags, and names
/// of models, protocols and weights for flags that take them. Words are separated by blanks; after a blank, everything
/// that may follow. Empty if files are meant, or nothing is known.
std::vector<std::string> candidates(const Flags& program, std::string_view line);

}  // namespace npzoo::tools
