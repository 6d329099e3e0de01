#include "tools/reports/training_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/models/training/run_directory.h"

namespace npzoo::tools {

namespace {

constexpr std::array<std::string_view, 3> kNoFigures{"step", "lr", "seconds"};
constexpr std::int64_t kMostSteps = std::int64_t{1} << 53;

void add_line(TrainingLog& log, std::string_view line, const std::string& where) {
  const nlohmann::json object = parse_json(line, where);
  const std::int64_t step = JsonReader(object, where).integer("step", 0, kMostSteps);
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(kNoFigures, key) != kNoFigures.end() || !(value.is_number() || value.is_null())) continue;
    TrainingLog::Figure& figure = log.figures[key];
    check(figure.steps.empty() || figure.steps.back() < step, "{}: step {} found after {}, expected ascending steps",
          where, step, figure.steps.empty() ? 0 : figure.steps.back());
    figure.steps.push_back(step);
    figure.values.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  }
}

}  // namespace

std::filesystem::path training_log_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? RunDirectory::metrics_in(path) : path;
}

TrainingLog read_training_log(const std::filesystem::path& path) {
  const std::filesystem::path file = training_log_file(path);
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  const std::string text = read_text(file, kMostBytes);
  TrainingLog log;
  std::size_t begin = 0, end = 0;
  for (std::int64_t number = 1; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1, ++number)
    add_line(log, std::string_view(text).substr(begin, end - begin), fmt::format("[{}:{}]", file.string(), number));
  check(!log.figures.empty(),
        "[{}] no figure of a training found, expected lines such as {{\"loss\": 1.5, \"step\": 50}}", file.string());
  return log;
}

}  // namespace npzoo::tools
