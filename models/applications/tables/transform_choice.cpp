#include "npzoo/models/applications/tables/transform_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ValueTransform::Kind;

constexpr std::int64_t kMostHeldOut = 256, kFewestHeldOut = 8;
constexpr std::size_t kParts = 4;  // of a series, each of which is predicted from the others
constexpr std::int64_t kMostSeries = 32;

/// Limits and counts, without a kind.
ValueTransform limits_of(const TransformOptions& options) {
  ValueTransform t{.low = options.low, .high = options.high, .counts = options.counts};
  check(options.low < options.high, "[predict] bounds from {} to {} found, expected a lower and a higher one",
        options.low, options.high);
  if (t.counts && std::isinf(t.low)) t.low = 0;
  for (const double limit : {t.low, t.high})
    check(!t.counts || std::isinf(limit) || limit == std::floor(limit),
          "[predict] the bound {} of counts found, expected a whole number", limit);
  return t;
}

void check_within(const ValueTransform& t, std::span<const double> y, const std::string& name) {
  for (const double value : y) {
    if (std::isnan(value)) continue;
    check(value >= t.low,
          "[predict] column {} holds {}, expected values of at least {}: use --bounds or leave it blank",
          in_quotes(name), value, t.low);
    check(value <= t.high,
          "[predict] column {} holds {}, expected values of at most {}: use --bounds or leave it blank",
          in_quotes(name), value, t.high);
    check(!t.counts || value == std::floor(value), "[predict] column {} holds {}, expected whole numbers for --counts",
          in_quotes(name), value);
    check(std::isfinite(t.forward(value)),
          "[predict] column {} holds {}, expected values off the limit for the transform {}: use --transform {}",
          in_quotes(name), value, transform_name(t.kind), t.kind == Kind::log ? "sqrt" : "none, or wider --bounds");
  }
}

/// Whether all observed values can be transformed.
bool allows(const ValueTransform& t, std::span<const double> y) {
  return std::ranges::all_of(y, [&](double v) { return std::isnan(v) || (v >= t.low && std::isfinite(t.forward(v))); });
}

ValueTransform with_kind(ValueTransform t, Kind kind) {
  t.kind = kind;
  if ((kind == Kind::log || kind == Kind::sqrt) && std::isinf(t.low)) t.low = 0;
  return t;
}

/// Rows of a group with a value, some of which are predicted from the others.
struct HeldOut {
  std::vector<std::uint32_t> context, targets;
};

std::vector<HeldOut> held_out_rows(const TableQuestion& q, std::size_t column) {
  std::vector<std::vector<std::uint32_t>> known(static_cast<std::size_t>(q.group_count));
  for (std::uint32_t row = 0; row < static_cast<std::size_t>(q.rows()); ++row)
    if (!std::isnan(q.y[column][row])) known[q.groups.empty() ? 0 : q.groups[row]].push_back(row);
  std::erase_if(known, [](const auto& rows) { return rows.size() < 2 * kParts; });
  const auto every = std::max<std::size_t>(1, known.size() / kMostSeries);
  std::vector<HeldOut> all;
  std::int64_t count = 0;
  for (std::size_t g = 0; g < known.size(); g += every) count += std::ssize(known[g]);
  const auto thinned = static_cast<std::size_t>(std::max<std::int64_t>(1, (count + kMostHeldOut - 1) / kMostHeldOut));
  for (std::size_t g = 0; g < known.size(); g += every)
    for (std::size_t part = 0; part < kParts; ++part) {
      HeldOut& rows = all.emplace_back();
      for (std::size_t i = 0; i < known[g].size(); ++i) {
        if (i % kParts != part)
          rows.context.push_back(known[g][i]);
        else if (i / kParts % thinned == 0)
          rows.targets.push_back(known[g][i]);
      }
    }
  return all;
}

/// The log-likelihood of each held-out value.
std::vector<double> likelihoods(const ValueTransform& t, const TableQuestion& q, std::size_t column,
                                const std::vector<HeldOut>& held, SeriesMethod& method) {
  const std::size_t dim_x = q.x.size() / static_cast<std::size_t>(q.rows());
  const auto append = [&](std::uint32_t row, std::vector<double>& to) {
    const auto part = q.x.subspan(row * dim_x, dim_x);
    to.insert(to.end(), part.begin(), part.end());
  };
  std::size_t given = 0;
  const auto next = [&]() -> std::optional<Series> {
    if (given == held.size()) return {};
    const HeldOut& rows = held[given++];
    Series s;
    s.value_names = {q.y_names[column]};
    s.transforms = std::span(&t, 1);
    for (const std::uint32_t row : rows.context) {
      append(row, s.x);
      s.y.push_back(t.forward(q.y[column][row]));
    }
    for (const std::uint32_t row : rows.targets) {
      append(row, s.targets);
      s.truth.push_back(q.y[column][row]);
    }
    return s;
  };
  std::vector<double> all;
  method.predict(
      next, [&](SeriesPrediction said) { all.insert(all.end(), said.log_density.begin(), said.log_density.end()); });
  return all;
}

/// The sum of a − b if it is 3 nats and two standard errors or more, else 0.
double certain_gain(std::span<const double> a, std::span<const double> b) {
  constexpr double kLeast = 3, kErrors = 2;
  const auto n = static_cast<double>(a.size());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] - b[i];
  for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i] - sum / n, 2);
  const double error = std::sqrt(squares * n / (n - 1));
  return std::isfinite(sum) && sum >= std::max(kLeast, kErrors * error) ? sum : 0;
}

/// The transform "none" with limits, and the kinds to compare it with.
struct CandidateTransforms {
  ValueTransform none;
  std::vector<ValueTransform> others{};
};

CandidateTransforms candidates_of(const TransformOptions& options, std::span<const double> y) {
  constexpr std::int64_t kLimited = 3;  // zeros that make 0 a limit
  ValueTransform base = limits_of(options);
  const bool negative = std::ranges::any_of(y, [](double v) { return v < 0; });
  const auto zeros = std::ranges::count(y, 0.0);
  if (std::isinf(base.low) && std::isinf(base.high) && !negative && zeros >= kLimited) base.low = 0;
  CandidateTransforms all{base};
  if (std::isinf(base.low) && (negative || zeros > 0)) return all;  // no limit in sight
  for (const Kind kind : {Kind::log, Kind::sqrt, Kind::logit}) {
    if (kind == Kind::logit && (std::isinf(base.low) || std::isinf(base.high) || base.counts)) continue;
    const ValueTransform t = with_kind(base, kind);
    if (t.low < t.high && allows(t, y)) all.others.push_back(t);
  }
  return all;
}

}  // namespace

bool TransformOptions::any() const {
  return (kind && *kind != ValueTransform::Kind::none) || automatic || counts || std::isfinite(low) ||
         std::isfinite(high);
}

TransformOptions usual_transform(std::span<const double> values) {
  constexpr std::int64_t kFewest = 20, kOften = 10, kMostly = 3;  // one in so many is 0
  std::int64_t known = 0, zeros = 0, above_one = 0;
  for (const double y : values) {
    if (std::isnan(y)) continue;
    if (y < 0 || y != std::floor(y)) return {};
    ++known;
    zeros += y == 0;
    above_one += y > 1;
  }
  if (known < kFewest || above_one == 0 || kOften * zeros < known) return {};
  return {.kind = kMostly * zeros < known ? Kind::none : Kind::sqrt, .counts = true};
}

Kind transform_kind(const std::string& name) {
  if (name == "none") return Kind::none;
  if (name == "log") return Kind::log;
  if (name == "sqrt") return Kind::sqrt;
  if (name == "logit") return Kind::logit;
  fail("[predict] the transform {} found, expected none, log, sqrt, logit or auto", in_quotes(name));
}

std::string transform_name(Kind kind) {
  return kind == Kind::none ? "none" : kind == Kind::log ? "log" : kind == Kind::sqrt ? "sqrt" : "logit";
}

ValueTransform named_transform(const TransformOptions& options, std::span<const double> y, const std::string& name) {
  ValueTransform t = limits_of(options);
  t = with_kind(t, options.kind.value_or(options.counts ? Kind::sqrt : Kind::none));
  check(t.kind != Kind::logit || (std::isfinite(t.low) && std::isfinite(t.high) && !t.counts),
        "[predict] the transform logit found, expected --bounds LOW,HIGH and no --counts");
  check(t.low < t.high, "[predict] the upper bound {} found, expected one above {}", t.high, t.low);
  check_within(t, y, name);
  return t;
}

ValueTransform choose_transform(const TransformOptions& options, const TableQuestion& q, std::size_t column,
                                SeriesMethod& method) {
  check(method.dim_y() == 1, "[predict] the transform auto found for a model of {} values, expected a named one",
        method.dim_y());
  const CandidateTransforms all = candidates_of(options, q.y[column]);
  check_within(all.none, q.y[column], q.y_names[column]);
  if (all.others.empty()) return all.none;
  const std::vector<HeldOut> held = held_out_rows(q, column);
  const std::vector<double> plain = likelihoods(all.none, q, column, held, method);
  ValueTransform best = all.none;
  double most = 0;
  if (std::ssize(plain) < kFewestHeldOut) return best;
  for (const ValueTransform& t : all.others) {
    const double gain = certain_gain(likelihoods(t, q, column, held, method), plain);
    if (gain > most) most = gain, best = t;
  }
  return best;
}

TransformedValues transform_values(const TransformOptions& options, SeriesMethod& method, TableQuestion& question) {
  TransformedValues all;
  for (std::size_t v = 0; v < question.y.size(); ++v)
    all.transforms.push_back(options.automatic ? choose_transform(options, question, v, method)
                                               : named_transform(options, question.y[v], question.y_names[v]));
  if (std::ranges::none_of(all.transforms, &ValueTransform::active)) return all;
  question.transforms = all.transforms;
  for (std::size_t v = 0; v < question.y.size(); ++v) {
    std::vector<double>& column = all.columns.emplace_back(question.y[v].begin(), question.y[v].end());
    for (double& y : column) y = std::isnan(y) ? y : all.transforms[v].forward(y);
  }
  question.y = as_columns(all.columns);
  return all;
}

}  // namespace npzoo
