#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/engine/random.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::size_t kFar = 40;

/// Two waves side by side, of which every fifth value is asked; one value of the first may be far.
struct Waves {
  std::vector<double> x{}, y{}, truth{};
  std::vector<std::uint32_t> groups{};

  explicit Waves(double far) {
    Random random(3);
    for (std::size_t i = 0; i < 200; ++i) {
      const auto at = static_cast<double>(i % 100);
      const double value = std::sin(at / 8) + 0.1 * random.normal();
      x.push_back(at + 0.3 * random.uniform(0, 1));
      y.push_back(i % 5 == 2 ? kNaN : i == kFar ? far : value);
      truth.push_back(i % 5 == 2 ? value : kNaN);
      groups.push_back(i < 100 ? 0 : 1);
    }
  }
  FillData data() const { return {.x = x, .values = {y}, .groups = groups, .truth = {truth}}; }
};

std::string warning_of(const FillResult& result) {
  const auto found = std::ranges::find(result.warnings, "far values", &Warning::about);
  return found == result.warnings.end() ? "" : found->text;
}

}  // namespace

TEST_CASE("far values: the others are predicted as if one were missing, and the answer says so") {
  const Waves far(1000), missing(kNaN);
  for (const bool gp : {false, true}) {
    CAPTURE(gp);
    const auto answer = [gp](const FillData& data) {
      return gp ? fill_with_gp(data) : fill(weights_of_tables(), data);
    };
    const FillResult with = answer(far.data()), without = answer(missing.data());
    for (std::size_t i = 0; i < far.x.size(); ++i) {
      CHECK(with.columns[0].mean[i] == without.columns[0].mean[i]);
      CHECK(with.columns[0].std[i] == without.columns[0].std[i]);
    }
    CHECK(with.scores[0].crps == without.scores[0].crps);
    CHECK(with.scores[0].rows == 40);
    CHECK(std::abs(with.columns[0].mean[kFar]) < 2);
    CHECK(warning_of(with).starts_with(
        "1 of 2 series has a value far from all others, which is left out: y1 = 1000 is "));
    CHECK(warning_of(without).empty());
  }
}

TEST_CASE("far values: two that differ are both left out") {
  Waves two(1e7);
  const Waves missing(kNaN);
  two.y[kFar + 10] = 2e7;
  std::vector<double> without = missing.y;
  without[kFar + 10] = kNaN;
  FillData other = missing.data();
  other.values = {without};
  const FillResult with = fill(weights_of_tables(), two.data()), expected = fill(weights_of_tables(), other);
  CHECK(with.columns[0].mean == expected.columns[0].mean);
  CHECK(warning_of(with).starts_with(
      "1 of 2 series has values far from all others, which are left out, the furthest: y1 = "));
}

TEST_CASE("far values: a value within a hundred deviations of the others counts") {
  const Waves within(30), missing(kNaN);
  const FillResult with = fill(weights_of_tables(), within.data()), without = fill(weights_of_tables(), missing.data());
  CHECK(warning_of(with).empty());
  CHECK(with.columns[0].mean[kFar] > without.columns[0].mean[kFar] + 1);
}

TEST_CASE("far values: a transform keeps them") {
  Waves waves(1e6);
  for (std::size_t i = 0; i < waves.y.size(); ++i)
    if (i != kFar) waves.y[i] += 3;
  const FillResult kept = fill(weights_of_tables(), waves.data(), {.transform = {.kind = ValueTransform::Kind::log}}),
                   left_out = fill(weights_of_tables(), waves.data());
  CHECK(kept.columns[0].mean[kFar] > 3 * left_out.columns[0].mean[kFar]);
  CHECK(warning_of(kept).find("left out") == std::string::npos);
}
