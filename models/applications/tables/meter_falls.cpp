#include "npzoo/models/applications/tables/meter_falls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "npzoo/datasets/normal_distribution.h"

namespace npzoo {

namespace {

using Reading = std::pair<double, double>;  // input and value

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + std::ssize(numbers) / 2;
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

/// The reading that the only fall of a meter leads to; none if the series, in the order of its input, is no such meter.
std::optional<std::size_t> fall_of(const std::vector<Reading>& series) {
  constexpr std::size_t kFewest = 12, kBefore = 5, kBehind = 3;
  constexpr double kTimesLargest = 2, kTimesUsual = 5;
  if (series.size() < kFewest || series.front().second < 0) return {};
  std::optional<std::size_t> fall;
  std::vector<double> rises;
  for (std::size_t i = 1; i < series.size(); ++i) {
    const double rise = series[i].second - series[i - 1].second;
    if (rise >= 0) {
      rises.push_back(rise);
    } else {
      if (fall) return {};
      fall = i;
    }
  }
  if (!fall || *fall < kBefore || series.size() - *fall < kBehind) return {};
  const double last = series[*fall - 1].second, first = series[*fall].second, usual = median(rises);
  const bool far = last - first > std::max(kTimesLargest * std::ranges::max(rises), kTimesUsual * usual);
  return usual > 0 && first >= 0 && 2 * first < last && far ? fall : std::nullopt;
}

/// The usual rise of a series per unit of its input, apart from the fall.
double usual_rate(const std::vector<Reading>& series, std::size_t fall) {
  std::vector<double> rates;
  for (std::size_t i = 1; i < series.size(); ++i)
    if (i != fall && series[i].first > series[i - 1].first)
      rates.push_back((series[i].second - series[i - 1].second) / (series[i].first - series[i - 1].first));
  return rates.empty() ? 0 : median(std::move(rates));
}

std::vector<std::vector<double>> copied(const std::vector<std::span<const double>>& columns) {
  std::vector<std::vector<double>> all;
  for (const std::span<const double> column : columns) all.emplace_back(column.begin(), column.end());
  return all;
}

/// Figures of a place that is behind the fall with this probability. The lower figures have it all.
class EitherSide {
 public:
  EitherSide(double behind, double raised) : behind_(behind), raised_(raised) {}

  /// `share`: of the distribution below a figure; it is the same in that of either side. Returns the probability there,
  /// and how far it is lowered.
  std::pair<double, double> side(double share) const {
    if (share < behind_) return {share / behind_, raised_};
    return {(share - behind_) / (1 - behind_), 0};
  }
  double mean(double raised) const { return raised - behind_ * raised_; }
  double std(double raised) const { return std::sqrt(raised * raised + behind_ * (1 - behind_) * raised_ * raised_); }

 private:
  double behind_, raised_;
};

}  // namespace

double MeterFalls::Fall::behind(double x) const { return std::clamp((x - last_x) / (first_x - last_x), 0.0, 1.0); }

std::uint32_t MeterFalls::group_of_place(std::size_t place) const {
  const std::span<const std::uint32_t> groups = data_.targets ? data_.target_groups : data_.groups;
  return groups.empty() ? 0 : groups[place];
}

MeterFalls::MeterFalls(const FillData& data, const FillOptions& options) : data_(data) {
  if (data.dim_x != 1 || options.transform.any()) return;
  for (std::size_t v = 0; v < data.values.size(); ++v) look_at(v);
  if (!falls_.empty()) raise();
}

void MeterFalls::look_at(std::size_t column) {
  std::map<std::uint32_t, std::vector<Reading>> all;
  for (std::size_t i = 0; i < data_.x.size(); ++i)
    if (const double y = data_.values[column][i]; !std::isnan(y)) all[group_of_row(i)].emplace_back(data_.x[i], y);
  for (auto& [group, series] : all) {
    std::ranges::stable_sort(series, {}, &Reading::first);
    const auto fall = fall_of(series);
    if (!fall) continue;
    const auto [last_x, last] = series[*fall - 1];
    const auto [first_x, first] = series[*fall];
    if (first_x > last_x)
      falls_.push_back(
          {column, group, last_x, first_x, last, first, last - first + usual_rate(series, *fall) * (first_x - last_x)});
  }
}

void MeterFalls::raise() {
  values_ = copied(data_.values);
  truth_ = copied(data_.truth);
  for (const Fall& fall : falls_) {
    for (std::size_t i = 0; i < data_.x.size(); ++i)
      if (data_.x[i] >= fall.first_x && group_of_row(i) == fall.group) values_[fall.column][i] += fall.raised;
    for (std::size_t i = 0; i < places().size() && !truth_.empty(); ++i) {
      double& truth = truth_[fall.column][i];
      const double share = fall.behind(places()[i]);
      const bool behind = share == 1 || (share > 0 && truth < (fall.first + fall.last) / 2);
      if (behind && group_of_place(i) == fall.group) truth += fall.raised;
    }
  }
  data_.values = as_columns(values_);
  if (!truth_.empty()) data_.truth = as_columns(truth_);
}

void MeterFalls::lower(const Fall& fall, FillResult& result) const {
  PredictedColumn& column = result.columns[fall.column];
  const std::size_t quantiles = result.quantiles.size(), samples = static_cast<std::size_t>(result.samples);
  for (std::size_t i = 0; i < column.mean.size(); ++i) {
    const double share = fall.behind(places()[i]);
    if (share == 0 || group_of_place(i) != fall.group) continue;
    const EitherSide place(share, fall.raised);
    const double mean = column.mean[i], std = column.std[i];
    for (std::size_t q = 0; q < quantiles; ++q) {
      double& figure = column.quantiles[i * quantiles + q];
      const auto [p, lowered] = place.side(result.quantiles[q]);
      figure = share == 1 ? figure - fall.raised : mean + std * normal_quantile(p) - lowered;
    }
    for (std::size_t s = 0; s < samples; ++s)
      column.samples[i * samples + s] -=
          place.side((static_cast<double>(s) + 0.5) / static_cast<double>(samples)).second;
    column.mean[i] = place.mean(mean);
    column.std[i] = share == 1 ? std : place.std(std);
  }
  for (TableEnd& end : result.ends) {
    if (end.column != fall.column || end.group != static_cast<std::int64_t>(fall.group)) continue;
    end.added.resize(end.rows.size());
    for (double& added : end.added) added -= fall.raised;
  }
}

void MeterFalls::finish(FillResult& result) const {
  constexpr std::size_t kMost = 5;
  for (const Fall& fall : falls_) lower(fall, result);
  for (std::size_t f = 0; f < std::min(falls_.size(), kMost); ++f) {
    const Fall& fall = falls_[f];
    const ColumnForm form = data_.x_forms.empty() ? ColumnForm() : data_.x_forms[0];
    std::int64_t between = 0;
    for (std::size_t i = 0; i < places().size(); ++i)
      between += places()[i] > fall.last_x && places()[i] < fall.first_x && group_of_place(i) == fall.group;
    const std::string group = data_.groups.empty() ? ""
                              : fall.group < data_.group_labels.size()
                                  ? fmt::format(" of {}", data_.group_labels[fall.group])
                                  : fmt::format(" of group {}", fall.group);
    const std::string either = between == 0
                                   ? ""
                                   : fmt::format("; {} {} after {} may be of either side, with a wide deviation",
                                                 between, between == 1 ? "row" : "rows", form.text(fall.last_x));
    const std::string more = f + 1 == kMost && falls_.size() > kMost
                                 ? fmt::format("; {} other series fall, too", falls_.size() - kMost)
                                 : "";
    result.warnings.push_back(
        {"meter falls", fmt::format("{}{} falls from {} to {} where {} is {}, as a meter does that starts anew: it is "
                                    "predicted as if it went on, from both sides{}{}",
                                    data_.value_names[fall.column], group, fall.last, fall.first, data_.x_names[0],
                                    form.text(fall.first_x), either, more)});
  }
}

}  // namespace npzoo
