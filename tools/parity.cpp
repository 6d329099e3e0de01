#include "models/parity.h"

#include <fmt/core.h>

#include "tools/commands.h"
#include "tools/json_output.h"

namespace npzoo {

int run_command(const ParityCommand& c) {
  apply(c.common);
  nlohmann::json rows = nlohmann::json::array();
  bool passed = true;
  for (const std::filesystem::path& file : c.files) {
    const ParityReport report = check_parity(file);
    passed &= report.passed();
    if (!c.common.json) fmt::print("{} ({}): {}\n", report.file, report.model, report.passed() ? "equal" : "DIFFERENT");
    nlohmann::json quantities = nlohmann::json::array();
    for (const ParityQuantity& q : report.quantities) {
      quantities.push_back({{"name", q.name}, {"max_error", number_or_null(q.max_error)}});
      if (!c.common.json) fmt::print("  {:<26} {:.1e}  (allowed {:.0e})\n", q.name, q.max_error, q.tolerance);
    }
    rows.push_back({{"file", report.file},
                    {"model", report.model},
                    {"max_error", number_or_null(report.max_error())},
                    {"passed", report.passed()},
                    {"quantities", quantities}});
  }
  if (c.common.json) print_json(rows);
  return passed ? 0 : 1;
}

}  // namespace npzoo
