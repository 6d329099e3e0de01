#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <stop_token>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/optimise/acquisition.h"
#include "npzoo/models/applications/optimise/gp_surrogate.h"
#include "npzoo/models/applications/optimise/model_surrogate.h"
#include "npzoo/models/applications/optimise/propose.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr auto kEveryAcquisition = {AcquisitionKind::expected_improvement, AcquisitionKind::log_expected_improvement,
                                    AcquisitionKind::confidence_bound, AcquisitionKind::improvement_probability};

/// E[f(best − margin − y)] of a mixture of Gaussians by Simpson's rule, ± 12 deviations around each.
template <class F>
double integral_below(const Belief& b, double best, const F& f) {
  constexpr int kSteps = 20000;
  double total = 0;
  for (std::size_t k = 0; k < b.mean.size(); ++k) {
    // Up to `best` alone, where the integrand has its corner.
    const double low = b.mean[k] - 12 * b.std[k], high = std::min(best, b.mean[k] + 12 * b.std[k]);
    const double h = (high - low) / kSteps;
    for (int i = 0; i <= kSteps && high > low; ++i) {
      const double y = low + i * h, z = (y - b.mean[k]) / b.std[k];
      const double weight = (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2) * h / 3;
      total +=
          std::exp(b.log_weight[k] - 0.5 * z * z) / (b.std[k] * std::sqrt(2 * std::numbers::pi)) * weight * f(best - y);
    }
  }
  return total;
}

/// log(φ(z) + z Φ(z)) = log φ(z) + log ∫ v exp(−v²/2 + v z) dv from 0 on, for z below 0.
double log_improvement_by_quadrature(double z) {
  const double end = 45 / (1 - z);
  constexpr int kSteps = 20000;
  const double h = end / kSteps;
  double total = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double v = i * h;
    total += (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2) * h / 3 * v * std::exp(-0.5 * v * v + v * z);
  }
  return -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi) + std::log(total);
}

/// Two tasks of a smooth function, values seen at seven points of each.
struct SeenPoints {
  std::vector<double> x, y;

  SeenPoints(std::int64_t tasks, std::int64_t dims) {
    Random random(5);
    for (std::int64_t i = 0; i < tasks * 7; ++i) {
      double y_sum = 0;
      for (std::int64_t d = 0; d < dims; ++d) {
        x.push_back(random.uniform());
        y_sum += std::sin(5 * x.back() + static_cast<double>(i / 7));
      }
      y.push_back(3 + 2 * y_sum);
    }
  }
};

/// The largest difference between gradients and central differences, over the largest gradient.
double gradient_error(const Surrogate& surrogate, const Judge& judge, std::vector<double> x) {
  constexpr double kStep = 1e-5;
  const Judged judged = surrogate.judge(x, judge);
  const auto dims = static_cast<std::size_t>(surrogate.dims());
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    const auto value = [&](double u) {
      x[i] = u;
      return judge(surrogate.believe(x), nullptr)[i / dims];
    };
    const double slope =
        (8 * (value(at + kStep) - value(at - kStep)) - (value(at + 2 * kStep) - value(at - 2 * kStep))) / (12 * kStep);
    x[i] = at;
    worst = std::max(worst, std::abs(slope - judged.d_x[i]));
    largest = std::max(largest, std::abs(slope));
  }
  return worst / largest;
}

void check_gradients(const Surrogate& surrogate, const std::string& label) {
  Random random(9);
  std::vector<double> x(static_cast<std::size_t>(surrogate.tasks() * 3 * surrogate.dims()));
  for (double& u : x) u = random.uniform(0.05, 0.95);
  const std::vector<double> best(static_cast<std::size_t>(surrogate.tasks()), 0.5);
  for (const AcquisitionKind kind : kEveryAcquisition) {
    CAPTURE(label);
    CAPTURE(to_string(kind));
    const Judge judge = [&](const Belief& belief, BeliefSlopes* slopes) {
      return acquire({.kind = kind, .margin = 0.1}, belief, best, slopes);
    };
    CHECK(gradient_error(surrogate, judge, x) <= 1e-6);
  }
}

}  // namespace

TEST_CASE(
    "beliefs: moments of mixtures do not depend on an offset, even of weights that add up to 1 in float32 alone") {
  const double a = std::log(double(1.0f / 3)), b = std::log(double(2.0f / 3) + 1e-7);
  const Belief near{2, {0.5, -0.25}, {0.1, 0.2}, {a, b}}, far{2, {1e9 + 0.5, 1e9 - 0.25}, {0.1, 0.2}, {a, b}};
  CHECK(moments_of(near).mean.front() == doctest::Approx(0).epsilon(1e-6));
  CHECK(moments_of(far).mean.front() - 1e9 == doctest::Approx(0).epsilon(1e-6));
  CHECK(moments_of(far).std.front() == doctest::Approx(moments_of(near).std.front()).epsilon(1e-6));
  const double best = 1e9, of_near = 0;
  const Acquisition bound{.kind = AcquisitionKind::confidence_bound};
  CHECK(acquire(bound, far, std::span(&best, 1)).front() + 1e9 ==
        doctest::Approx(acquire(bound, near, std::span(&of_near, 1)).front()).epsilon(1e-6));
}

TEST_CASE("acquisition: figures of a mixture agree with quadrature, log EI for any distance") {
  const Belief b{3, {0.2, -1.0, 2.0}, {0.5, 1.5, 0.1}, {std::log(0.5), std::log(0.3), std::log(0.2)}};
  for (const double best : {-3.0, -0.5, 0.1, 1.0, 4.0}) {
    const auto figure = [&](AcquisitionKind kind) { return acquire({.kind = kind}, b, std::span(&best, 1)).front(); };
    const double ei = integral_below(b, best, [](double u) { return u; });
    CHECK(figure(AcquisitionKind::expected_improvement) == doctest::Approx(ei).epsilon(1e-9));
    CHECK(figure(AcquisitionKind::log_expected_improvement) == doctest::Approx(std::log(ei)).epsilon(1e-9));
    CHECK(figure(AcquisitionKind::improvement_probability) ==
          doctest::Approx(integral_below(b, best, [](double) { return 1; })).epsilon(1e-9));
  }
  const double mean = 0.5 * 0.2 - 0.3 + 0.4, square = 0.5 * (0.04 + 0.25) + 0.3 * (1 + 2.25) + 0.2 * (4 + 0.01),
               none = 0;
  CHECK(acquire({.kind = AcquisitionKind::confidence_bound, .width = 3}, b, std::span(&none, 1)).front() ==
        doctest::Approx(-mean + 3 * std::sqrt(square - mean * mean)).epsilon(1e-13));
  for (const double z : {-0.5, -0.999, -1.001, -3.0, -9.99, -10.01, -50.0, -1e3})
    CHECK(log_improvement(z) == doctest::Approx(log_improvement_by_quadrature(z)).epsilon(1e-10));
  CHECK(log_improvement(-1e100) < -1e199);
  CHECK(log_improvement(30) == doctest::Approx(std::log(30.0)).epsilon(1e-14));
  CHECK(error_of([] { acquisition_kind("best"); }) == "[acquisition] \"best\" found, expected ei, log-ei, ucb or pi");
}

TEST_CASE("acquisition: gradients through every model that has those of inputs are central differences") {
  for (const ModelCase& c : small_models()) {
    if (c.spec.config.at("dim_y") != ModelConfig::mapped_type(std::int64_t{1})) continue;
    if (!model_info(c.spec.name).input_gradients) continue;
    const auto model = varied_model(c.spec);
    if (model->places() || !model->likelihood().gaussian()) continue;  // others are not taken
    ModelSurrogateOptions options;
    options.range.inputs = {-2, 2};
    options.samples = 3;
    options.dtype = DType::float64;
    ModelSurrogate surrogate(*model, model_info(c.spec.name), 2, options);
    const SeenPoints seen(2, model->dim_x());
    surrogate.observe(seen.x, seen.y);
    check_gradients(surrogate, c.label);
  }
}

TEST_CASE("acquisition: gradients through Gaussian processes are central differences") {
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::matern32, KernelKind::matern52, KernelKind::periodic,
                                KernelKind::weakly_periodic, KernelKind::rbf_mixture}) {
    // Periodic functions of distances in a plane are no covariances.
    const bool cycles = kind == KernelKind::periodic || kind == KernelKind::weakly_periodic;
    const std::vector<double> lengthscales = cycles ? std::vector<double>{0.6} : std::vector<double>{0.4, 0.7};
    GpSurrogate surrogate(std::vector<GpHyperparameters>(2, {kind, lengthscales, 2.0, 0.1, 0.8, 2.5}));
    const SeenPoints seen(2, surrogate.dims());
    surrogate.observe(seen.x, seen.y);
    check_gradients(surrogate, std::string(to_string(kind)));
  }
}

TEST_CASE("gp surrogate: categories are alike or 1 apart, and have a lengthscale of their own") {
  const std::vector<std::int64_t> categories{0, 3};
  const GpHyperparameters known{KernelKind::matern52, {0.4, 0.7}, 2.0, 0.1, 1, 1, categories};
  GpSurrogate surrogate(std::vector<GpHyperparameters>{known});
  const std::vector<double> x{0.2, 0.1, 0.6, 0.5, 0.8, 0.9}, y{1, -1, 2};
  surrogate.observe(x, y);
  const auto at = [&](double u, double v) { return surrogate.believe(std::vector<double>{u, v}); };
  CHECK(at(0.3, 0.01).mean == at(0.3, 0.33).mean);  // one category
  CHECK(at(0.3, 0.34).mean != at(0.3, 0.33).mean);
  // The categories of equal inputs have the correlation of the distance 1.
  GpSurrogate one(std::vector<GpHyperparameters>{known}),
      numbers(std::vector<GpHyperparameters>{{KernelKind::matern52, {0.4, 0.7}, 2.0, 0.1}});
  for (GpSurrogate* s : {&one, &numbers}) s->observe(std::vector<double>{0.5, 0}, std::vector<double>{1});
  const std::vector<double> last{0.5, 1}, middle{0.5, 0.5};
  CHECK(one.believe(last).mean == numbers.believe(last).mean);
  CHECK(one.believe(middle).mean == one.believe(last).mean);
  const Judged judged = surrogate.judge(std::vector<double>{0.3, 0.5}, [](const Belief& belief, BeliefSlopes* slopes) {
    const double best = 0;
    return acquire({}, belief, std::span(&best, 1), slopes);
  });
  CHECK(judged.d_x[0] != 0);
  CHECK(judged.d_x[1] == 0);

  // A function of the number alone, and one of the category alone.
  Random random(3);
  std::vector<double> places, by_number, by_category;
  for (int i = 0; i < 60; ++i) {
    places.insert(places.end(), {random.uniform(), (static_cast<double>(i % 3) + 0.5) / 3});
    by_number.push_back(std::sin(6 * places[places.size() - 2]));
    by_category.push_back(static_cast<double>(i % 3) - 1);
  }
  const GpHyperparameters start{.lengthscales = {0.4, 0.4}, .categories = categories};
  const GpHyperparameters first = fit_gp(start, places, by_number), second = fit_gp(start, places, by_category);
  CHECK(first.lengthscales[1] > 5 * first.lengthscales[0]);
  CHECK(second.lengthscales[0] > 2 * second.lengthscales[1]);
}

TEST_CASE("gp surrogate: any coordinate stands for a category") {
  for (const double u : {0.0, 0.24, -0.1, -kInfinity, std::nan("")}) CHECK(category_at(u, 4) == 0);
  CHECK(category_at(0.25, 4) == 1);
  for (const double u : {0.99, 1.0, 7.0, 1e300, kInfinity}) CHECK(category_at(u, 4) == 3);
}

TEST_CASE("gp surrogate: a fit finds the parameters of the data") {
  // A function of the first input alone, with noise.
  Random random(3);
  std::vector<double> x, y;
  for (int i = 0; i < 120; ++i) {
    x.insert(x.end(), {random.uniform(), random.uniform()});
    y.push_back(1.4 * std::sin(9 * x[x.size() - 2]) + 0.1 * random.normal());
  }
  const GpHyperparameters fitted = fit_gp({KernelKind::matern52, {0.4, 0.4}}, x, y);
  CHECK(fitted.lengthscales[1] > 5 * fitted.lengthscales[0]);
  CHECK(fitted.noise > 0.07);
  CHECK(fitted.noise < 0.14);
}

TEST_CASE("gp surrogate: expected improvement beats random search on samples of a Gaussian process") {
  // Regret of 20 functions after 5 random points and 15 more: EI's is less than a tenth of random search's by far.
  constexpr std::int64_t kTasks = 20, kGrid = 100, kSteps = 15;
  const GpHyperparameters truth{KernelKind::rbf, {0.1}, 1.0, 1e-3};
  GpSurrogate prior(std::vector<GpHyperparameters>(kTasks, truth)),
      surrogate(std::vector<GpHyperparameters>(kTasks, truth));
  std::vector<double> grid, best(kTasks, kInfinity), at_random(kTasks, kInfinity);
  for (std::int64_t i = 0; i < kTasks * kGrid; ++i) grid.push_back(static_cast<double>(i % kGrid) / (kGrid - 1));
  Draws draws(1, Purpose::evaluation, 0);
  const std::vector<double> drawn = prior.sample(grid, draws);
  Random random(2);
  const auto look = [&](const std::vector<std::int64_t>& at, std::vector<double>& least, bool tell) {
    std::vector<double> x, y;
    for (std::size_t b = 0; b < kTasks; ++b) {
      x.push_back(grid[static_cast<std::size_t>(at[b])]);
      y.push_back(drawn[b * kGrid + static_cast<std::size_t>(at[b])]);
      least[b] = std::min(least[b], y.back());
    }
    if (tell) surrogate.observe(x, y);
  };
  const auto anywhere = [&] {
    std::vector<std::int64_t> at(kTasks);
    for (std::int64_t& i : at) i = random.integer(0, kGrid);
    return at;
  };
  for (int i = 0; i < 5; ++i) {
    const auto at = anywhere();
    look(at, best, true);
    look(at, at_random, false);
  }
  for (std::int64_t step = 0; step < kSteps; ++step) {
    look(anywhere(), at_random, false);
    const std::vector<double> worth = acquire({}, surrogate.believe(grid), best);
    std::vector<std::int64_t> at;
    for (std::size_t b = 0; b < kTasks; ++b) {
      const auto of_task = std::span(worth).subspan(b * kGrid, kGrid);
      at.push_back(std::ranges::max_element(of_task) - of_task.begin());
    }
    look(at, best, true);
  }
  double regret = 0, random_regret = 0;
  for (std::size_t b = 0; b < kTasks; ++b) {
    const double least = *std::ranges::min_element(std::span(drawn).subspan(b * kGrid, kGrid));
    regret += best[b] - least;
    random_regret += at_random[b] - least;
  }
  CHECK(random_regret > 1);
  CHECK(regret < 0.1 * random_regret);
}

TEST_CASE("gp surrogate: a stop request leaves the observations as they were") {
  GpSurrogate surrogate(std::vector<GpHyperparameters>{{KernelKind::matern52, {0.3}, 1.0, 1e-2}});
  const std::vector<double> first{0.1, 0.7}, values{1, -1}, at{0.3};
  surrogate.observe(first, values);
  const Belief before = surrogate.believe(at);
  std::vector<double> many, zeros(300, 0);
  for (int i = 0; i < 300; ++i) many.push_back(i / 300.0);
  {
    std::stop_source source;
    source.request_stop();
    const StopScope scope(source.get_token());
    CHECK_THROWS_AS(surrogate.observe(many, zeros), Interrupted);
  }
  CHECK(surrogate.believe(at).mean == before.mean);
  surrogate.observe(many, zeros);
  CHECK(std::abs(surrogate.believe(at).mean[0]) < 0.1);
}

TEST_CASE("proposals: a value far above the others is told as hardly worse than these, in their order") {
  Observations seen;
  seen.dims = 1;
  seen.y = {3, 1, 1e30, 2, 4, 0, 5, 1e3, 2.5, 1.5, 3.5, 4.5};
  for (std::size_t i = 0; i < seen.y.size(); ++i) seen.x.push_back(static_cast<double>(i) / 16);
  const std::vector<double> told = told_values(seen).y;
  for (std::size_t i = 0; i < told.size(); ++i)
    if (i != 2 && i != 7) CHECK(told[i] == seen.y[i]);
  CHECK(told[7] > 5);
  CHECK(told[2] > told[7]);
  CHECK(told[2] < 5.5);             // from quartile to quartile it is less than 5
  for (double& y : seen.y) y = -y;  // values far below are the best ones
  const std::vector<double> low = told_values(seen).y;
  CHECK(low[2] < low[7]);
  CHECK(low[7] < -30);
}

TEST_CASE("proposals: points climb to the acquisition's maximum, and held inputs stay") {
  GpSurrogate surrogate(std::vector<GpHyperparameters>{{KernelKind::matern52, {0.3, 0.5}, 1.0, 1e-3}});
  const SeenPoints seen(1, 2);
  surrogate.observe(seen.x, seen.y);
  const Judge judge = [](const Belief& belief, BeliefSlopes* slopes) {
    const double best = -0.2;
    return acquire({.kind = AcquisitionKind::confidence_bound}, belief, std::span(&best, 1), slopes);
  };
  for (const bool held : {false, true}) {
    std::vector<std::vector<double>> starts;
    for (const double u : {0.1, 0.3, 0.5, 0.7, 0.9})
      for (const double v : {0.2, 0.8}) starts.push_back({u, held ? 0.4 : v});
    const std::vector<double> top = climb(surrogate, judge, starts, {false, held}).front();
    double highest = -kInfinity;
    for (int i = 0; i <= 100; ++i)
      for (int j = 0; j <= 100; ++j)
        highest = std::max(
            highest, judge(surrogate.believe(std::vector<double>{i / 100.0, held ? 0.4 : j / 100.0}), nullptr)[0]);
    CHECK(judge(surrogate.believe(top), nullptr)[0] >= highest - 1e-9);
    if (held) CHECK(top[1] == 0.4);
  }
}
