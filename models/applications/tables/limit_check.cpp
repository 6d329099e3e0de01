#include "npzoo/models/applications/tables/limit_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

namespace npzoo {

namespace {

constexpr double kLower = 0.025, kUpper = 0.975;  // the bounds of 95 %

/// "a lower 95 % bound", "a 10 % quantile".
std::string quantile_text(double p) {
  if (p == kLower) return "a lower 95 % bound";
  if (p == kUpper) return "an upper 95 % bound";
  return fmt::format("a {:.6g} % quantile", 100 * p);
}

/// The observed values of a column.
struct Observed {
  std::int64_t known = 0, at_most = 0;  // at the largest value
  double least = std::numeric_limits<double>::infinity(), most = -least;

  explicit Observed(std::span<const double> values) {
    for (const double y : values) {
      if (std::isnan(y)) continue;
      ++known;
      least = std::min(least, y);
      most = std::max(most, y);
    }
    at_most = std::ranges::count(values, most);
  }
};

/// How often values in degrees pass north from row to row, if they seem to be directions: they lie between 0 and 360,
/// pass north in both senses, three times or more, and go from row to row by less than an eighth of the circle mostly.
std::optional<std::int64_t> passes_of_north(std::span<const double> values, const Observed& observed) {
  constexpr double kCircle = 360, kWide = 300;
  constexpr std::int64_t kFewest = 3;
  if (observed.least < 0 || observed.most > kCircle || observed.most - observed.least < kWide) return {};
  std::int64_t up = 0, down = 0, steps = 0, small = 0;
  double last = std::numeric_limits<double>::quiet_NaN();
  for (const double y : values) {
    if (std::isnan(y)) continue;
    if (const double step = y - last; !std::isnan(step)) {
      up += step < -kCircle / 2;
      down += step > kCircle / 2;
      small += std::min(std::abs(step), kCircle - std::abs(step)) < kCircle / 8;
      ++steps;
    }
    last = y;
  }
  return up > 0 && down > 0 && up + down >= kFewest && 2 * small > steps ? std::optional(up + down) : std::nullopt;
}

/// Rows with a prediction, and those of them whose quantile is beyond a limit, by little or more.
struct BeyondLimit {
  std::int64_t all = 0, rows = 0, far = 0;

  /// `distance` is how far a quantile is beyond the limit.
  BeyondLimit(const PredictedColumn& predicted, std::size_t quantile, std::size_t quantiles, double little,
              const auto& counts, const auto& distance) {
    for (std::size_t i = 0; i < predicted.mean.size(); ++i) {
      if (!counts(i)) continue;
      const double by = distance(predicted.quantiles[i * quantiles + quantile]);
      if (!std::isfinite(by)) continue;
      ++all;
      rows += by > 0;
      far += by > little;
    }
  }
  bool often() const {
    constexpr std::int64_t kShare = 20;
    return far > 0 && kShare * far >= all;
  }
};

}  // namespace

std::vector<Warning> look_for_limits(std::span<const double> observed, const PredictedColumn& predicted,
                                     std::span<const double> quantiles, const std::string& name,
                                     const LimitAdvice& advice) {
  constexpr std::int64_t kFewest = 10, kFewestAtLimit = 3;
  constexpr double kLittle = 0.01, kMedian = 0.5;
  const Observed values(observed);
  if (quantiles.empty() || values.known < kFewest || values.least < 0 || values.most == 0) return {};
  if (const auto passes = passes_of_north(observed, values))
    return {{"directions",
             fmt::format("{} passes north {} times, as a direction in degrees does: between 350 and 10 it is predicted "
                         "as south; predict its sine and its cosine, in columns of their own",
                         name, *passes)}};
  const double little = kLittle * (values.most - values.least);
  std::vector<Warning> all;
  const auto bound = [&](double usual, auto other) {
    const auto at = std::ranges::find(quantiles, usual);
    return at == quantiles.end() ? other : at;
  };
  const auto lowest = bound(kLower, std::ranges::min_element(quantiles)),
             highest = bound(kUpper, std::ranges::max_element(quantiles));
  const auto beyond = [&](auto quantile, const auto& distance) {
    return BeyondLimit(
        predicted, static_cast<std::size_t>(quantile - quantiles.begin()), quantiles.size(), little,
        [&](std::size_t row) { return !advice.gaps_alone || std::isnan(observed[row]); }, distance);
  };
  if (const BeyondLimit below = beyond(lowest, [](double q) { return -q; }); *lowest < kMedian && below.often()) {
    std::string text = fmt::format("{} of {} predictions of {} have {} below 0, and no observed value is negative",
                                   below.rows, below.all, name, quantile_text(*lowest));
    if (advice.bounds)
      text += fmt::format(": use --bounds 0{} if {} cannot be negative",
                          advice.transform ? ", or --transform auto" : "", name);
    all.push_back({"below the values", text});
  }
  if ((values.most != 1 && values.most != 100) || values.at_most < kFewestAtLimit || *highest < kMedian) return all;
  if (const BeyondLimit above = beyond(highest, [&](double q) { return q - values.most; }); above.often()) {
    std::string text = fmt::format("{} of {} predictions of {} have {} above {}, which no observed value exceeds",
                                   above.rows, above.all, name, quantile_text(*highest), values.most);
    if (advice.bounds) text += fmt::format(": use --bounds 0,{} if {} cannot be greater", values.most, name);
    all.push_back({"above the values", text});
  }
  return all;
}

LimitCheck::LimitCheck(const FillData& data, const FillOptions& options)
    : data_(data), options_(options), printed_(options.quantiles.size()) {
  constexpr std::int64_t kMost = 10'000;  // values whose quantiles take no time that anybody notices
  if (data.places() * std::ssize(data.values) > kMost) return;
  for (const double bound : {kLower, kUpper})
    if (std::ranges::find(options.quantiles, bound) == options.quantiles.end()) options_.quantiles.push_back(bound);
}

void LimitCheck::finish(bool bounds, FillResult& result) const {
  const bool helped = result.report.help && result.report.help->together();
  for (std::size_t v = 0; v < result.columns.size(); ++v) {
    if (result.transforms[v].active()) continue;
    std::ranges::move(
        look_for_limits(data_.values[v], result.columns[v], options_.quantiles, data_.value_names[v],
                        {.bounds = bounds, .transform = !options_.transform.automatic, .gaps_alone = helped}),
        std::back_inserter(result.warnings));
  }
  const std::size_t all = options_.quantiles.size();
  if (printed_ == all) return;
  result.quantiles.resize(printed_);
  for (PredictedColumn& column : result.columns) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < column.quantiles.size(); ++i)
      if (i % all < printed_) column.quantiles[kept++] = column.quantiles[i];
    column.quantiles.resize(kept);
  }
}

}  // namespace npzoo
