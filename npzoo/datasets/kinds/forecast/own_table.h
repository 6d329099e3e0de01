#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// Forecasts of columns of a user's own table.
struct OwnForecast {
  std::filesystem::path path;
  std::string time;                 // the column of dates, or of numbers
  std::vector<std::string> values;  // columns
  std::int64_t context = 0, horizon = 0;
};

/// The text of a protocol of these tasks, with the presets of `base`, a complete text: 70, 10 and 20 % of the table are
/// for training, validation and test, contexts of the latter reach back, and inputs are true times. `name` becomes its
/// name. Training and validation are those of `base` or, where `short_recipe` is asked for, such as suit a table.
/// Throws Error for columns that the table does not have, and where it is too short.
std::string forecast_protocol(const OwnForecast& own, std::string_view base, const std::string& name,
                              bool short_recipe);

}  // namespace npzoo
