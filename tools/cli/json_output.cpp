#include "tools/cli/json_output.h"

#include <fmt/core.h>

namespace npzoo {

void print_json(const nlohmann::json& result) {
  // Names out of tables need not be UTF-8.
  fmt::print("{}\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace npzoo
