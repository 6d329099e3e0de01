#include "npzoo/models/applications/tables/complete_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "npzoo/datasets/tables/sphere.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

std::vector<std::string> numbered(const char* letter, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}{}", letter, i));
  return names;
}

void check_inputs(std::span<const double> x, std::int64_t dim_x, const char* what) {
  check(std::ssize(x) % dim_x == 0, "[predict] {} numbers of {} found, expected {} for each row", x.size(), what,
        dim_x);
  const auto odd = std::ranges::find_if(x, [](double value) { return !std::isfinite(value); });
  if (odd != x.end())
    fail("[predict] {} of row {} is {}, expected a finite number", what, (odd - x.begin()) / dim_x, *odd);
}

void check_groups(std::span<const std::uint32_t> groups, std::int64_t rows, std::int64_t all, const char* what) {
  check(groups.empty() || std::ssize(groups) == rows, "[predict] {} groups of {} {} found, expected one for each",
        groups.size(), rows, what);
  const auto large = std::ranges::find_if(groups, [all](std::uint32_t g) { return g >= all; });
  if (large != groups.end())
    fail("[predict] the group {} found, expected numbers from 0 on, below the {} rows of data", *large, all);
}

void check_columns(const std::vector<std::span<const double>>& columns, std::span<const std::string> names,
                   std::int64_t rows, const char* what) {
  for (std::size_t v = 0; v < columns.size(); ++v) {
    check(std::ssize(columns[v]) == rows, "[predict] {} {} of {} found, expected {}, one for each row",
          columns[v].size(), what, names[v], rows);
    const auto odd = std::ranges::find_if(columns[v], [](double y) { return std::isinf(y); });
    if (odd != columns[v].end())
      fail("[predict] row {} of {} of {} is {}, expected a finite number, or NaN if it is missing",
           odd - columns[v].begin(), what, names[v], *odd);
  }
}

void check_data(const FillData& d) {
  check(d.dim_x >= 1, "[predict] {} inputs found, expected one or more", d.dim_x);
  check_inputs(d.x, d.dim_x, "x");
  if (d.targets) check_inputs(*d.targets, d.dim_x, "targets");
  const std::int64_t rows = std::ssize(d.x) / d.dim_x;
  check(!d.values.empty(), "[predict] no column of values found, expected one or more");
  check(std::ssize(d.x_names) == d.dim_x && d.value_names.size() == d.values.size(),
        "[predict] {} names of inputs and {} of values found, expected {} and {}", d.x_names.size(),
        d.value_names.size(), d.dim_x, d.values.size());
  check(d.x_forms.empty() || std::ssize(d.x_forms) == d.dim_x, "[predict] {} forms of inputs found, expected {}",
        d.x_forms.size(), d.dim_x);
  check_columns(d.values, d.value_names, rows, "values");
  const std::int64_t all = rows + (d.targets ? d.places() : 0);
  check_groups(d.groups, rows, all, "rows");
  check_groups(d.target_groups, d.places(), all, "targets");
  check(d.targets || d.target_groups.empty(), "[predict] groups of targets found, but no targets");
  check(d.truth.empty() || d.truth.size() == d.values.size(), "[predict] {} columns of truth found, expected {}",
        d.truth.size(), d.values.size());
  check_columns(d.truth, d.value_names, d.places(), "truths");
  check(d.added_variance.empty() || d.added_variance.size() == d.values.size(),
        "[predict] {} columns of variances found, expected {}", d.added_variance.size(), d.values.size());
  check_columns(d.added_variance, d.value_names, d.places(), "variances");
  check(d.helper_names.size() == d.helpers.size(), "[predict] {} helpers with {} names found, expected one for each",
        d.helpers.size(), d.helper_names.size());
  check_columns(d.helpers, d.helper_names, rows, "values");
  check(d.covariate_std.empty() || std::ssize(d.covariate_std) == d.places() * d.covariates,
        "[predict] {} deviations of covariates found, expected {}, one for each place and covariate",
        d.covariate_std.size(), d.places() * d.covariates);
}

}  // namespace

CompleteData::CompleteData(FillData given) : data(std::move(given)) {
  FillData& d = data;
  if (d.x_names.empty()) d.x_names = numbered("x", static_cast<std::size_t>(std::max<std::int64_t>(d.dim_x, 0)));
  if (d.value_names.empty()) d.value_names = numbered("y", d.values.size());
  check_data(d);
  TableQuestion& q = question;
  q.x = d.x;
  q.y = d.values;
  q.groups = d.groups;
  q.targets = d.targets.value_or(d.x);
  q.target_groups = d.targets ? d.target_groups : d.groups;
  q.truth = d.truth;
  q.y_names = d.value_names;
  q.added_variance = d.added_variance;
  for (const auto groups : {q.groups, q.target_groups})
    for (const std::uint32_t g : groups) q.group_count = std::max<std::int64_t>(q.group_count, std::int64_t{g} + 1);
  if (d.targets || d.truth.empty()) return;
  for (std::size_t v = 0; v < d.truth.size(); ++v) {
    std::vector<double>& column = unseen_.emplace_back(d.truth[v].begin(), d.truth[v].end());
    for (std::size_t i = 0; i < column.size(); ++i)
      if (!std::isnan(d.values[v][i])) column[i] = std::numeric_limits<double>::quiet_NaN();
  }
  q.truth = as_columns(unseen_);
}

std::function<void(std::int64_t)> summed_progress(const FillOptions& options, std::int64_t all, std::int64_t together) {
  if (!options.progress) return {};
  return [&options, all, together, done = std::int64_t{0}](std::int64_t targets) mutable {
    options.progress(done += targets * together, all);
  };
}

void check_options(const FillOptions& options) {
  for (const double p : options.quantiles)
    check(p > 0 && p < 1, "[predict] the quantile {} found, expected a number above 0 and below 1", p);
  check(options.samples >= 0 && options.neighbours >= 0 && options.chunk >= 1,
        "[predict] {} samples, {} neighbours and a chunk of {} found, expected at least 0, 0 and 1", options.samples,
        options.neighbours, options.chunk);
  check(options.periods.empty() || options.combine_ends || options.check_ends,
        "[predict] --period found with --ends weights, which has no season, expected --ends combined");
}

std::int64_t check_covariates(const FillData& d) {
  check(d.covariates >= 0 && d.covariates < d.dim_x,
        "[predict] {} covariates of {} inputs found, expected fewer than inputs", d.covariates, d.dim_x);
  check(d.x_groups.empty() || std::ssize(d.x_groups) == d.dim_x, "[predict] groups of {} inputs found, expected {}",
        d.x_groups.size(), d.dim_x);
  return d.dim_x - d.covariates;
}

void check_gp_inputs(const CompleteData& c) {
  const FillData& d = c.data;
  const std::int64_t coordinates = check_covariates(d);
  if (!d.lonlat) return;
  const auto dim_x = static_cast<std::size_t>(d.dim_x);
  check(coordinates >= 2, "[lonlat] --lonlat found with {}, expected longitude and latitude first",
        counted(coordinates, "input"));
  check_lonlat(d.x, dim_x);
  check_lonlat(c.question.targets, dim_x);
}

}  // namespace npzoo
