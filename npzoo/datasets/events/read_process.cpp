#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "npzoo/datasets/events/clock_poisson.h"
#include "npzoo/datasets/events/hawkes.h"
#include "npzoo/datasets/events/renewal.h"
#include "npzoo/datasets/events/self_correcting.h"

namespace npzoo {

namespace {

std::vector<double> read_rates(TomlReader& table, std::string_view key) {
  std::vector<double> rates = table.numbers(key, kNonNegative);
  if (std::accumulate(rates.begin(), rates.end(), 0.0) == 0) table.reject(key, "all 0", "one number > 0 at least");
  return rates;
}

std::vector<double> square_matrix(TomlReader& table, std::string_view key, std::size_t marks, const NumberRule& rule) {
  std::vector<double> all;
  const std::vector<std::vector<double>> rows = table.rows(key, rule);
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  const bool is_square = rows.size() == marks && all.size() == marks * marks &&
                         std::ranges::all_of(rows, [&](const auto& row) { return row.size() == marks; });
  if (!is_square)
    table.reject(key, fmt::format("of {} rows with {} numbers in all", rows.size(), all.size()),
                 fmt::format("{0} rows of {0}, as many as baseline has", marks));
  return all;
}

std::shared_ptr<const PointProcess> read_hawkes(TomlReader& table) {
  std::vector<double> baseline = read_rates(table, "baseline");
  const std::size_t marks = baseline.size();
  std::vector<double> excitation = square_matrix(table, "excitation", marks, kNonNegative);
  return std::make_shared<const Hawkes>(std::move(baseline), std::move(excitation),
                                        square_matrix(table, "decay", marks, kPositive));
}

std::shared_ptr<const PointProcess> read_clock_poisson(TomlReader& table) {
  const double period = table.number("period", kPositive);
  const std::vector<std::vector<double>> rows = table.rows("rates", kNonNegative);
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  if (rows.empty() || rows[0].empty() ||
      std::ranges::any_of(rows, [&](const auto& row) { return row.size() != rows[0].size(); }))
    table.reject("rates", fmt::format("of {} rows with {} numbers in all", rows.size(), all.size()),
                 "rows of equal length, one for each mark");
  return std::make_shared<const ClockPoisson>(period, std::ssize(rows[0]), std::move(all));
}

std::shared_ptr<const PointProcess> read_renewal(TomlReader& table) {
  TomlReader gaps = table.table("gaps");
  const std::string kind = gaps.choice("kind", {"gamma", "weibull", "log-normal"});
  GapDistribution distribution;
  if (kind == "log-normal") {
    distribution = {GapDistribution::Kind::log_normal, gaps.number("mean", kFinite), gaps.number("std", kPositive)};
  } else {
    distribution = {kind == "gamma" ? GapDistribution::Kind::gamma : GapDistribution::Kind::weibull,
                    gaps.number("shape", kPositive), gaps.number("scale", kPositive)};
  }
  gaps.finish();
  return std::make_shared<const Renewal>(distribution);
}

}  // namespace

std::shared_ptr<const PointProcess> read_process(TomlReader& table) {
  const std::string kind = table.choice("kind", {"poisson", "clock-poisson", "hawkes", "self-correcting", "renewal"});
  if (kind == "poisson") return std::make_shared<const Poisson>(read_rates(table, "rates"));
  if (kind == "clock-poisson") return read_clock_poisson(table);
  if (kind == "hawkes") return read_hawkes(table);
  if (kind == "renewal") return read_renewal(table);
  const double rate = table.number("rate", kPositive);
  return std::make_shared<const SelfCorrecting>(rate, table.number("correction", kNonNegative));
}

}  // namespace npzoo
