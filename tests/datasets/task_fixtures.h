#pragma once

#include <string>
#include <string_view>

#include "npzoo/datasets/kinds/synthetic/config.h"
#include "npzoo/datasets/own_protocol.h"
#include "npzoo/datasets/protocol.h"
#include "tests/testing.h"

// Helpers for tests of protocols and their tasks.

namespace npzoo::testing {

inline std::string replaced(std::string text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

inline std::string error_of_protocol(const std::string& text) {
  return error_of([&] { parse_protocol(text, "f.toml"); });
}

/// Whether what its tasks are made of is on this machine: published sets need not be.
inline bool is_at_hand(const Protocol& p) {
  if (is_own_recipe(p.name)) return false;
  const std::string error = error_of([&] {
    for (const Split split : {Split::training, Split::evaluation}) p.data->source({.batch_size = 1, .split = split});
  });
  const bool missing =
      error.find("also none with .gz or .xz") != error.npos || error.find("no folder of data found") != error.npos;
  if (missing) MESSAGE("skipped, its data are not there: ", p.name);
  return !missing;
}

inline bool same_points(const Task& a, const Task& b) {
  return same_bits(a.xc, b.xc) && same_bits(a.yc, b.yc) && same_bits(a.xt, b.xt) && same_bits(a.yt, b.yt);
}

inline const SyntheticDistribution& synthetic_distribution(const TaskConfig& config) {
  return dynamic_cast<const SyntheticConfig&>(config).distribution();
}

}  // namespace npzoo::testing
