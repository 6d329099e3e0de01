#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/flags.h"

namespace npzoo {

/// What `npzoo help` explains besides commands.
inline constexpr const char* kProtocolTopic = "protocol";

/// What the last word of a command line may become, "npzoo train --mod" for example: commands, flags and, of flags that
/// take them, the names of models, protocols and weights that there are. The words are those between blanks; without a
/// last word, behind a blank, everything that may follow. Empty if files are meant, or nothing is known.
std::vector<std::string> candidates(const Flags& program, std::string_view line);

}  // namespace npzoo
