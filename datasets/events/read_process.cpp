#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "npzoo/datasets/events/clock_poisson.h"
#include "npzoo/datasets/events/hawkes.h"
#include "npzoo/datasets/events/renewal.h"
#include "npzoo/datasets/events/self_correcting.h"

namespace npzoo {

namespace {

std::vector<double> read_rates(TomlReader& table, std::string_view key, KeyLine line) {
  std::vector<double> rates = table.numbers(key, line, kNonNegative);
  table.expect(std::accumulate(rates.begin(), rates.end(), 0.0) > 0, key, "all 0", "at least one number > 0");
  return rates;
}

std::vector<double> square_matrix(TomlReader& table, std::string_view key, KeyLine line, std::size_t marks,
                                  const NumberRule& rule) {
  std::vector<double> all;
  const std::vector<std::vector<double>> rows = table.rows(key, line, rule);
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  const bool is_square = rows.size() == marks && all.size() == marks * marks &&
                         std::ranges::all_of(rows, [&](const auto& row) { return row.size() == marks; });
  if (!is_square)
    table.reject(key, fmt::format("of {} rows with {} numbers in all", rows.size(), all.size()),
                 fmt::format("{0} rows of {0}, as many as baseline has", marks));
  return all;
}

std::shared_ptr<const PointProcess> read_hawkes(TomlReader& table) {
  std::vector<double> baseline =
      read_rates(table, "baseline", "events of each mark per unit of time, without excitation");
  const std::size_t marks = baseline.size();
  std::vector<double> excitation =
      square_matrix(table, "excitation", "jump of the intensity of the row's mark at an event of the column's mark",
                    marks, kNonNegative);
  return std::make_shared<const Hawkes>(
      std::move(baseline), std::move(excitation),
      square_matrix(table, "decay", "rate at which an excitation decays, per unit of time", marks, kPositive));
}

std::shared_ptr<const PointProcess> read_clock_poisson(TomlReader& table) {
  const double period = table.number("period", "length of the cycle, in units of time", kPositive);
  const std::vector<std::vector<double>> rows = table.rows(
      "rates", "events per unit of time: a row for each mark, a number for each part of the cycle", kNonNegative);
  std::vector<double> all;
  for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
  if (rows.empty() || rows[0].empty() ||
      std::ranges::any_of(rows, [&](const auto& row) { return row.size() != rows[0].size(); }))
    table.reject("rates", fmt::format("of {} rows with {} numbers in all", rows.size(), all.size()),
                 "rows of equal length, one for each mark");
  return std::make_shared<const ClockPoisson>(period, std::ssize(rows[0]), std::move(all));
}

std::shared_ptr<const PointProcess> read_renewal(TomlReader& table) {
  TomlReader gaps = table.table("gaps", "distribution of the times between events");
  const std::string kind = gaps.choice("kind", "distribution of the gaps", {"gamma", "weibull", "log-normal"});
  GapDistribution distribution;
  if (kind == "log-normal") {
    distribution = {GapDistribution::Kind::log_normal, gaps.number("mean", "mean of the logarithm", kFinite),
                    gaps.number("std", "standard deviation of the logarithm", kPositive)};
  } else {
    distribution = {kind == "gamma" ? GapDistribution::Kind::gamma : GapDistribution::Kind::weibull,
                    gaps.number("shape", "shape parameter", kPositive),
                    gaps.number("scale", "scale parameter, in units of time", kPositive)};
  }
  gaps.finish();
  return std::make_shared<const Renewal>(distribution);
}

}  // namespace

std::shared_ptr<const PointProcess> read_process(TomlReader& table) {
  const std::string kind =
      table.choice("kind", "process", {"poisson", "clock-poisson", "hawkes", "self-correcting", "renewal"});
  if (kind == "poisson")
    return std::make_shared<const Poisson>(read_rates(table, "rates", "events of each mark per unit of time"));
  if (kind == "clock-poisson") return read_clock_poisson(table);
  if (kind == "hawkes") return read_hawkes(table);
  if (kind == "renewal") return read_renewal(table);
  const double rate = table.number("rate", "growth of the log-intensity per unit of time", kPositive);
  return std::make_shared<const SelfCorrecting>(
      rate, table.number("correction", "drop of the log-intensity at each event", kNonNegative));
}

}  // namespace npzoo
