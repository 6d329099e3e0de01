#include "npzoo/datasets/kinds/synthetic/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/datasets/kinds/synthetic/source.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

namespace {

/// Standardised values of contexts lie beyond it once in a million, by outliers and exponentials; measured.
constexpr double kTails = 15;

/// Reads keys: of `[data]` all of them, of a test those that it has.
class Reader {
 public:
  Reader(TomlReader& table, bool all) : table_(table), all_(all) {}

  bool wanted(std::string_view key) const { return all_ || table_.has(key); }

  void number(std::string_view key, KeyLine line, double& value, const NumberRule& rule) {
    if (wanted(key)) value = table_.number(key, line, rule);
  }

  void share(std::string_view key, KeyLine line, double& value) { number(key, line, value, kShare); }

  void range(std::string_view key, KeyLine line, IntegerRange& value, std::int64_t high) {
    if (wanted(key)) std::tie(value.low, value.high) = table_.range(key, line, 1, high);
  }

  template <std::size_t n>
  void choice(std::string_view key, KeyLine line, Choice<n>& choice, const std::array<std::string_view, n>& names) {
    if (!wanted(key)) return;
    choice = {};
    table_.any_form(key, line, fmt::format("table of weights of {}", fmt::join(names, ", ")));
    TomlReader weights = table_.table(key, kPartOfForm);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i)
      if (weights.has(names[i])) sum += choice.weights[i] = weights.number(names[i], kPartOfForm, kNonNegative);
    for (const std::string& name : weights.keys())
      table_.expect(std::ranges::find(names, name) != names.end(), key, fmt::format("about '{}'", name),
                    fmt::format("weights of {}", fmt::join(names, ", ")));
    table_.expect(sum > 0, key, "without any weight", "at least one weight > 0");
  }

  /// Reads a number that is about 1 in the units of a model.
  void length(std::string_view key, KeyLine line, double& value, double least, double most) {
    if (!wanted(key)) return;
    value = table_.number(key, line, least > 0 ? kPositive : kNonNegative);
    check_range(table_, key, value, least, most);
  }

  void prior(std::string_view key, KeyLine line, PositivePrior& prior) {
    constexpr double kLeast = 1e-6, kMost = 1e3, kWidest = 5;
    if (!wanted(key)) return;
    table_.any_form(key, line, "a number > 0, {log_uniform = [low, high]} or {log_normal = [median, deviation]}");
    if (!table_.is_table(key)) {
      prior = {PositivePrior::Kind::constant, table_.number(key, kPartOfForm, kPositive), 0};
      check_range(table_, key, prior.a, kLeast, kMost);
      return;
    }
    TomlReader inner = table_.table(key, kPartOfForm);
    const bool uniform = inner.has("log_uniform");
    const auto [a, b] = inner.two_numbers(uniform ? "log_uniform" : "log_normal", kPartOfForm, kPositive);
    if (uniform && a >= b) inner.reject("log_uniform", fmt::format("[{}, {}]", a, b), "low < high");
    check_range(inner, uniform ? "log_uniform" : "log_normal", a, kLeast, kMost);
    check_range(inner, uniform ? "log_uniform" : "log_normal", b, kLeast, uniform ? kMost : kWidest);
    inner.finish();
    prior = {uniform ? PositivePrior::Kind::log_uniform : PositivePrior::Kind::log_normal, a, b};
  }

 private:
  static void check_range(const TomlReader& table, std::string_view key, double value, double least, double most) {
    if (value < least || value > most)
      table.reject(key, fmt::format("{}", value), fmt::format("from {} to {}", least, most));
  }

  TomlReader& table_;
  bool all_;
};

void read_points(Reader& r, SyntheticDistribution& d) {
  r.range("context", "number of context points", d.context, kMaxDensePoints / 2);
  r.share("few", "share of batches with 10 context points at most", d.few);
  r.range("targets", "number of targets", d.targets, kMaxDensePoints / 2);
  r.choice("places", "where the points lie", d.places, SyntheticDistribution::kPlaces);
  r.choice("missing", "which points are missing", d.missing, SyntheticDistribution::kMissing);
  if (d.dims > 2)
    r.share("draped", "share of tasks whose last input is a smooth function of the others; for three inputs", d.draped);
  r.share("mixed", "share of tasks with points missing in two ways", d.mixed);
  r.share("far", "share of the targets that may lie anywhere within `reach`", d.far);
  r.length("reach", "largest distance of targets from the range of the context, which is 4 long", d.reach, 0, 100);
}

void read_signal(Reader& r, SyntheticDistribution& d) {
  r.choice("kernels", "kernels of the terms", d.kernels, SyntheticDistribution::kKernels);
  r.range("terms", "kernels that are added", d.terms, 17);
  r.share("products", "share of terms multiplied by a periodic kernel or a straight line", d.products);
  r.prior("lengthscale", "lengthscale; each column of the context is 4 long", d.lengthscale);
  r.prior("alpha", "parameter of rational quadratic kernels", d.alpha);
  r.prior("roughness", "lengthscale of periodic kernels within their period", d.roughness);
  r.length("least_period", "shortest period, in spacings of the data", d.least_period, 1e-3, 1e3);
  r.length("longest_period", "longest period; the context is 4 long", d.longest_period, 1e-3, 1e3);
  r.share("decaying", "share of the periodic terms that change", d.decaying);
  r.prior("decay", "lengthscale of that change, in periods", d.decay);
  if (d.dims > 1) r.prior("anisotropy", "ratio of lengthscales in a rotated frame; for several inputs", d.anisotropy);
  if (d.dims > 2)
    r.share("aligned", "share of tasks each of whose terms has its own lengthscale along each input; for three inputs",
            d.aligned);
  r.share("trend", "share of tasks with a linear trend", d.trend);
  r.share("steps", "share of tasks with a step", d.steps);
  r.share("cycles", "share of tasks with a cycle of the context's length or longer", d.cycles);
  r.prior("extra", "standard deviation of each trend, step and cycle, relative to the kernels", d.extra);
  r.share("warped", "share of tasks with warped inputs", d.warped);
}

void read_values(Reader& r, SyntheticDistribution& d) {
  r.share("noiseless", "share of tasks with the least noise", d.noiseless);
  r.prior("noise", "standard deviation of the noise otherwise, relative to the signal", d.noise);
  r.length("least_noise", "standard deviation of the noise that every task has", d.least_noise, 1e-9, 1e3);
  r.share("student", "share of tasks with Student-t noise", d.student);
  r.prior("freedom", "its degrees of freedom", d.freedom);
  r.share("outliers", "share of tasks with a few outliers", d.outliers);
  r.share("exponentiated", "share of tasks whose values are exponentials", d.exponentiated);
  r.share("clipped", "share of tasks whose values are clipped", d.clipped);
  r.share("rounded", "share of tasks whose values are rounded", d.rounded);
  r.prior("scale", "standard deviation of all values", d.scale);
  r.number("least_std", "least standard deviation of a context that is not constant, relative to `scale`", d.least_std,
           kBelowOne);
}

void read(TomlReader& table, SyntheticDistribution& d, bool all) {
  Reader r(table, all);
  read_points(r, d);
  read_signal(r, d);
  read_values(r, d);
}

}  // namespace

double PositivePrior::draw(Random& random) const {
  switch (kind) {
    case Kind::constant: return a;
    case Kind::log_uniform: return a * std::pow(b / a, random.uniform());
    case Kind::log_normal: break;
  }
  return a * std::exp(b * random.normal());
}

TrainingRange synthetic_range(const SyntheticDistribution& d) {
  return {.inputs = {-2, 2},
          .min_context = d.context.low,
          .max_context = d.context.high - 1,
          .value_std = 1,
          .target_noise = d.least_noise,
          .widest_std = 1,
          .narrowest_std = 1,
          .context_noise = d.least_noise,
          .noise_varies = true,
          .reach = d.reach,
          .tails = kTails};
}

std::shared_ptr<const TaskConfig> read_synthetic_config(TomlReader& data) {
  SyntheticDistribution d;
  d.dims = data.integer("dims", "inputs", 1, 3);
  read(data, d, true);
  return std::make_shared<const SyntheticConfig>(d);
}

std::unique_ptr<TaskSource> SyntheticConfig::source(const SourceOptions& options) const {
  return std::make_unique<SyntheticSource>(distribution_, options);
}

std::shared_ptr<const TaskConfig> SyntheticConfig::with_test_overrides(TomlReader& test) const {
  SyntheticDistribution tested = distribution_;
  read(test, tested, false);
  return std::make_shared<const SyntheticConfig>(tested);
}

TaskExtents SyntheticConfig::typical_extents() const {
  const auto middle = [](const IntegerRange& range) {
    return std::clamp(static_cast<std::int64_t>(std::sqrt(static_cast<double>(range.low * (range.high - 1)))),
                      range.low, range.high - 1);
  };
  const std::int64_t most = std::max<std::int64_t>(distribution_.context.low, 11);
  return {middle({std::min(most, distribution_.context.high - 1), distribution_.context.high}),
          middle(distribution_.targets)};
}

Batch SyntheticConfig::picture(std::int64_t tasks, std::uint64_t seed) const {
  SyntheticDistribution within = distribution_;
  within.reach = 0;
  return SyntheticConfig(within).TaskConfig::picture(tasks, seed);
}

}  // namespace npzoo
