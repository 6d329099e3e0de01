#include "npzoo/models/applications/tables/covariate_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/dependent_columns.h"

namespace npzoo {

namespace {

using Names = std::set<std::string>;

/// "a, b and c", of at most a few.
std::string listed(const Names& names) {
  constexpr std::size_t kMost = 6;
  std::vector<std::string> some(names.begin(), names.end());
  std::string last = some.back();
  some.pop_back();
  if (names.size() > kMost) {
    last = fmt::format("{} others", names.size() - kMost + 1);
    some.resize(kMost - 1);
  }
  return fmt::format("{} and {}", fmt::join(some, ", "), last);
}

std::string rows_to_predict(std::int64_t rows) {
  return rows == 1 ? "a row to predict" : fmt::format("{} rows to predict", rows);
}

/// Rows beyond the observed range of a column, and the furthest of them.
struct Beyond {
  std::int64_t rows = 0;
  double furthest = 0, low = 0, high = 0, distance = 0;  // the distance is in ranges
};

/// The covariates of observed rows of one series.
struct SeenCovariates {
  std::vector<double> low, high;
  ColumnDependence dependence;
  std::vector<std::size_t> component;

  SeenCovariates(const std::vector<double>& rows, std::size_t count)
      : low(count), high(count), dependence(find_dependence(rows, count)), component(dependence.components()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t c = i % count;
      low[c] = i < count ? rows[i] : std::min(low[c], rows[i]);
      high[c] = i < count ? rows[i] : std::max(high[c], rows[i]);
    }
  }
};

class Check {
 public:
  explicit Check(const FillData& data)
      : data_(data),
        dim_x_(static_cast<std::size_t>(data.dim_x)),
        first_(static_cast<std::size_t>(data.dim_x - data.covariates)),
        count_(static_cast<std::size_t>(data.covariates)),
        beyond_(count_) {
    for (std::size_t c = 0; c < count_; ++c) {
      const auto same = data.x_groups.empty() ? 1 : std::ranges::count(data.x_groups, data.x_groups[first_ + c]);
      category_.push_back(same > 1);
    }
  }

  CovariateCheck run() {
    const std::span<const double> at = data_.targets.value_or(data_.x);
    const std::span<const std::uint32_t> asked_groups = data_.targets ? data_.target_groups : data_.groups;
    for (std::size_t v = 0; v < data_.values.size(); ++v) {
      std::map<std::uint32_t, std::vector<double>> observed, asked;
      for (std::size_t i = 0; i < data_.values[v].size(); ++i)
        if (!std::isnan(data_.values[v][i])) add(data_.x, i, observed[data_.groups.empty() ? 0 : data_.groups[i]]);
      for (std::size_t i = 0; i < at.size() / dim_x_; ++i)
        if (data_.targets || std::isnan(data_.values[v][i]))
          add(at, i, asked[asked_groups.empty() ? 0 : asked_groups[i]]);
      for (const auto& [group, rows] : observed) look_at(SeenCovariates(rows, count_), asked[group]);
    }
    return result();
  }

 private:
  void add(std::span<const double> x, std::size_t row, std::vector<double>& to) const {
    const auto part = x.subspan(row * dim_x_ + first_, count_);
    to.insert(to.end(), part.begin(), part.end());
  }

  std::string covariate(std::size_t c) const { return covariate_name(data_.x_names[first_ + c], category_[c]); }

  /// Whether another category of the same column varies among the observed rows.
  bool others_vary(const SeenCovariates& seen, std::size_t c) const {
    for (std::size_t k = 0; k < count_ && category_[c]; ++k)
      if (data_.x_groups[first_ + k] == data_.x_groups[first_ + c] && seen.low[k] < seen.high[k]) return true;
    return false;
  }

  void look_at(const SeenCovariates& seen, const std::vector<double>& asked) {
    for (const DependentColumn& d : seen.dependence.dependent) note_dependent(seen, d, asked);
    for (std::size_t i = 0; i < asked.size(); i += count_) {
      const double* row = &asked[i];
      bool known = true;
      for (std::size_t c = 0; c < count_ && known; ++c) known = look_at_constant(seen, c, row[c]);
      for (std::size_t c = 0; c < count_; ++c)
        if (!category_[c] && seen.low[c] < seen.high[c]) look_at_range(seen, c, row[c]);
    }
  }

  void note_dependent(const SeenCovariates& seen, const DependentColumn& d, const std::vector<double>& asked) {
    Names names;
    for (std::size_t c = 0; c < count_; ++c)
      if (seen.component[c] == seen.component[d.column]) names.insert(covariate(c));
    if (names.size() < 2) return;  // the categories of one column
    std::int64_t& rows = alike_[names];
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < asked.size(); i += count_) differ += seen.dependence.difference(d, &asked[i]) != 0;
    rows = std::max(rows, differ);
  }

  /// Returns false if the effect of this value is unknown.
  bool look_at_constant(const SeenCovariates& seen, std::size_t c, double value) {
    if (seen.low[c] < seen.high[c] || value == seen.low[c]) return true;
    auto& [rows, first] = others_vary(seen, c) ? new_categories_ : unknown_;
    if (rows++ == 0) first = c;
    return false;
  }

  void look_at_range(const SeenCovariates& seen, std::size_t c, double value) {
    constexpr double kFar = 0.1;  // of the range
    const double range = seen.high[c] - seen.low[c],
                 distance = std::max(seen.low[c] - value, value - seen.high[c]) / range;
    if (!(distance > kFar)) return;
    Beyond& b = beyond_[c];
    ++b.rows;
    if (distance > b.distance)
      std::tie(b.furthest, b.low, b.high, b.distance) = std::tuple(value, seen.low[c], seen.high[c], distance);
  }

  CovariateCheck result() const {
    CovariateCheck all;
    for (std::size_t c = 0; c < count_; ++c)
      if (const Beyond& b = beyond_[c]; b.rows > 0)
        all.warnings.push_back(
            {fmt::format("covariate range {}", c),
             fmt::format(
                 "{} is {}{:.6g} in {}, observed from {:.6g} to {:.6g}: its effect is continued as a straight line",
                 covariate(c),
                 b.rows == 1           ? ""
                 : b.furthest > b.high ? "up to "
                                       : "down to ",
                 b.furthest, rows_to_predict(b.rows), b.low, b.high)});
    for (const auto& [names, rows] : alike_)
      if (rows > 0)
        all.warnings.push_back({"covariates alike",
                                fmt::format("the observed rows cannot tell {} apart, but they differ in {}: the effect "
                                            "is shared between them, which makes std wider there",
                                            listed(names), rows_to_predict(rows))});
      else
        all.notes.push_back(fmt::format("the observed rows cannot tell {} apart", listed(names)));
    if (const auto& [rows, first] = unknown_; rows > 0)
      all.warnings.push_back(
          {"unknown effect",
           fmt::format("{} has one value in all observed rows of a series and another one in {}: its effect is unknown "
                       "and taken to be 0",
                       data_.x_names[first_ + first], rows_to_predict(rows))});
    if (const auto& [rows, first] = new_categories_; rows > 0)
      all.warnings.push_back({"unknown category",
                              fmt::format("{} is in no observed row and in {}: its effect is unknown, predicted as the "
                                          "mean of the categories with their spread",
                                          data_.x_names[first_ + first], rows_to_predict(rows))});
    return all;
  }

  const FillData& data_;
  std::size_t dim_x_, first_, count_;
  std::vector<bool> category_;
  std::vector<Beyond> beyond_;
  std::map<Names, std::int64_t> alike_;  // covariates, and the most rows to predict in which they differ
  std::pair<std::int64_t, std::size_t> unknown_{}, new_categories_{};  // rows, and the first column
};

}  // namespace

CovariateCheck check_covariate_values(const FillData& data) {
  return data.covariates > 0 ? Check(data).run() : CovariateCheck{};
}

}  // namespace npzoo
