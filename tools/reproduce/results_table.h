#pragma once

#include <string>
#include <vector>

#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// Prints the rows of a store, beside them those that were not run or, of the models in `failed`, did, and below them
/// what was measured under other versions of the protocol.
void print_table(const JsonValue& store, const std::vector<std::string>& failed);

/// Returns a sentence for each row above its oracle.
std::vector<std::string> leaks(const JsonValue& store);

}  // namespace npzoo::tools
