#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "npzoo/datasets/protocol.h"
#include "npzoo/datasets/tables/own_file.h"
#include "tests/small_protocol.h"
#include "tests/testing.h"

// A small series in a file, and the [data] of forecasts of it.

namespace npzoo::testing {

struct SeriesFile {
  TemporaryDirectory directory;
  std::filesystem::path path = directory / "s.csv";

  explicit SeriesFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  std::string data(const std::string& changed_line = "") const {
    std::string text = fmt::format(R"(kind = "forecast"
set = "table"
path = "{}"
checksum = "{}"
time = "date"
values = ["v"]
split = "points"
training = 10
validation = 5
test = 5
context = 3
horizon = 2
stride = 1
context_before = false
grid = "window"
calendar = "none"
)",
                                   path.string(), table_checksum(path));
    if (const auto key = changed_line.substr(0, changed_line.find(" =")); !changed_line.empty()) {
      const auto from = text.find("\n" + key + " =") + 1;
      text.replace(from, text.find('\n', from) - from, changed_line);
    }
    return text;
  }
  std::shared_ptr<const TaskConfig> config(const std::string& changed_line = "") const {
    return parse_protocol(small_protocol("s", data(changed_line)), "f.toml").data;
  }
  std::string error(const std::string& changed_line, Split split = Split::training) const {
    std::string message = error_of([&] { config(changed_line)->source({.batch_size = 2, .split = split}); });
    if (const auto at = message.find(path.string()); at != message.npos) message.replace(at, path.string().size(), "s");
    return message;
  }
};

/// Hours from 2020-02-28 20:00 on; those in `missing` have no row.
inline std::string hours(int count, std::initializer_list<int> missing = {}) {
  std::string text = "date,v,w\n";
  for (int i = count - 1; i >= 0; --i) {  // any order will do
    if (std::ranges::find(missing, i) != missing.end()) continue;
    const int hour = 20 + i;
    text += fmt::format("2020-02-{:02} {:02}:00,{},{}\n", 28 + hour / 24, hour % 24, i * i, i);
  }
  return text;
}

}  // namespace npzoo::testing
