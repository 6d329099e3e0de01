#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace npzoo {

struct FillTables;

/// Steps of a series that no row has.
struct AbsentRows {
  std::int64_t rows = 0, steps = 0;  // absent ones, and all
  std::string unit = "steps";        // "hours"
};

/// Counts them over all groups, if each is a series of equal steps of one input; none otherwise.
std::optional<AbsentRows> count_absent(const FillTables& tables);

/// What the steps of the series are called, such as "hours", or their length in numbers; none unless each is a series
/// of equal steps of one input.
std::optional<std::string> step_of(const FillTables& tables);

/// "6 of 96 hours have no row".
std::string text(const AbsentRows& absent);

/// Says that nothing is missing, and how to predict more from these tables. `hint` follows the first sentence;
/// `command` writes a command line with more flags.
std::string lead_on(const FillTables& tables, const std::string& hint,
                    const std::function<std::string(const std::string& flags)>& command);

}  // namespace npzoo
