#include "npzoo/models/prediction.h"

#include <numbers>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/engine/gradcheck.h"
#include "npzoo/models/predictions/components.h"
#include "npzoo/models/predictions/mixture.h"
#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/models/trials/likelihood.h"
#include "npzoo/ops/softmax/softmax.h"
#include "tests/models/exact_gp.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// K Gaussians for each of (B, Nt, Dy) values.
Moments some_functions(const Shape& shape) { return {normal<double>(shape, 1), exp(normal<double>(shape, 2, 0.5))}; }

/// (B, Nt, K) → (K, B, Nt), weights that sum to 1 over K.
Tensor transpose_of_softmax(const Tensor& x) { return components_first(log_softmax(x)); }

double normal_density(double y, double mean, double std) {
  const double z = (y - mean) / std;
  return std::exp(-z * z / 2) / (std * std::sqrt(2 * std::numbers::pi));
}

struct Statistics {
  std::vector<double> mean, covariance;  // (M), (M, M)
};

/// Returns the moments of samples (n, 1, M, 1).
Statistics statistics(const Tensor& samples) {
  const auto n = static_cast<std::size_t>(samples.dim(0)), m = static_cast<std::size_t>(samples.dim(2));
  const std::vector<double> y = doubles(samples);
  Statistics s{std::vector<double>(m), std::vector<double>(m * m)};
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < m; ++i) s.mean[i] += y[k * m + i] / static_cast<double>(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < m; ++j)
        s.covariance[i * m + j] += (y[k * m + i] - s.mean[i]) * (y[k * m + j] - s.mean[j]) / static_cast<double>(n);
  return s;
}

/// Five standard errors of n samples of a Gaussian with this covariance.
void check_statistics(const Tensor& samples, const std::vector<double>& mean, const std::vector<double>& covariance) {
  const Statistics found = statistics(samples);
  const std::size_t m = mean.size();
  const double n = static_cast<double>(samples.dim(0));
  REQUIRE(found.mean.size() == m);
  for (std::size_t i = 0; i < m; ++i) {
    CHECK(std::abs(found.mean[i] - mean[i]) <= 5 * std::sqrt(covariance[i * m + i] / n));
    for (std::size_t j = 0; j < m; ++j) {
      const double c = covariance[i * m + j];
      CHECK(std::abs(found.covariance[i * m + j] - c) <=
            5 * std::sqrt((covariance[i * m + i] * covariance[j * m + j] + c * c) / n));
    }
  }
}

struct GpTask {
  Kernel kernel;
  Task task;
  JointPosterior exact{};  // of the first row
};

GpTask gp_task(std::uint64_t seed) {
  const GpDistribution d = exact_process();
  const GpBatch batch = GpSampler(d, {3, seed, Split::evaluation, DType::float64}).draw(0);
  GpTask t{.kernel = batch.truth.kernels()[0], .task = batch.task};
  t.exact = joint_posterior(t.kernel, d.target_noise, doubles(row(t.task.xc, 0)), doubles(row(t.task.yc, 0)),
                            doubles(row(t.task.xt, 0)));
  return t;
}

double exact_joint(const GpTask& t, std::int64_t b) {
  const auto xc = doubles(row(t.task.xc, b)), yc = doubles(row(t.task.yc, b)), xt = doubles(row(t.task.xt, b));
  return GpPosterior(t.kernel, {xc, 1}, yc, 0.2).joint_log_likelihood({xt, 1}, doubles(row(t.task.yt, b)), 0.2);
}

}  // namespace

TEST_CASE("prediction: figures of marginals are those of each value's mixture") {
  for (const std::int64_t count : {1, 4}) {
    const Moments functions = some_functions({count, 2, 3, 2});
    const Marginals m{functions.mean, functions.std};
    const Tensor y = normal<double>({2, 3, 2}, 3);
    const Moments both = moments(m);
    const Tensor below = cdf(m, y), mass = central_mass(m, y), score = crps(m, y), upper = quantile(m, 0.9);
    const auto means = doubles(m.mean), deviations = doubles(m.std), values = doubles(y);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::vector<double> mean, std;
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
        mean.push_back(means[k * values.size() + i]);
        std.push_back(deviations[k * values.size() + i]);
      }
      const GaussianMixture mixture{mean, std};
      CHECK(doubles(both.mean)[i] == moments(mixture).mean);
      CHECK(doubles(both.std)[i] == moments(mixture).std);
      CHECK(doubles(below)[i] == cdf(mixture, values[i]));
      CHECK(doubles(mass)[i] == central_mass(mixture, values[i]));
      CHECK(doubles(score)[i] == crps(mixture, values[i]));
      CHECK(doubles(upper)[i] == quantile(mixture, 0.9));
    }
    const Tensor points = log_likelihood(m, y);
    REQUIRE(points.shape() == Shape{2, 3});
    for (std::size_t i = 0; i < 6; ++i) {
      double density = 0;  // of both channels
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
        const std::size_t first = k * 12 + 2 * i;
        density += normal_density(values[2 * i], means[first], deviations[first]) *
                   normal_density(values[2 * i + 1], means[first + 1], deviations[first + 1]);
      }
      CHECK(doubles(points)[i] == doctest::Approx(std::log(density / static_cast<double>(count))).epsilon(1e-12));
    }
    const Tensor wrong = Tensor::zeros({2, 2, 2}, DType::float64);
    CHECK(error_of([&] { log_likelihood(m, wrong); }) == "[log_likelihood] y (2, 2, 2) found, expected (2, 3, 2)");
    CHECK(error_of([&] { crps(m, wrong); }) == "[crps] y (2, 2, 2) found, expected (2, 3, 2)");
  }
}

TEST_CASE("prediction: far from a mixture its density is that of the nearest Gaussian, in double") {
  const Marginals m{Tensor::from<double>({2, 1, 1, 1}, {0.0, 100.0}), Tensor::from<double>({2, 1, 1, 1}, {1.0, 1.0})};
  const Tensor far = Tensor::from<double>({1, 1, 1}, {-60.0});
  CHECK(log_likelihood(m, far).item() ==
        doctest::Approx(-1800 - 0.5 * std::log(2 * std::numbers::pi) - std::log(2.0)).epsilon(1e-14));
}

TEST_CASE("prediction: independent Gaussians") {
  const Moments gaussians = some_functions({2, 3, 2});
  const Independent p(gaussians);
  const Tensor y = normal<double>({2, 3, 2}, 3);
  CHECK(same_bits(moments(p).mean.to(default_device()), gaussians.mean));
  CHECK(same_bits(moments(p).std.to(default_device()), gaussians.std));
  const std::vector<double> points = doubles(log_likelihood(p.marginals(), y)),
                            joint = doubles(p.joint_log_likelihood(y));
  CHECK(largest_difference(p.log_likelihood(y), points) <= 1e-14);
  CHECK(joint[1] == doctest::Approx(points[3] + points[4] + points[5]).epsilon(1e-14));
  const Independent one(
      {slice(slice(gaussians.mean, 0, 0, 1), 2, 0, 1), slice(slice(gaussians.std, 0, 0, 1), 2, 0, 1)});
  Draws draws = some_draws();
  std::vector<double> covariance(9);
  for (std::size_t i = 0; i < 3; ++i) covariance[4 * i] = std::pow(doubles(moments(one).std)[i], 2);
  check_statistics(one.sample(20'000, draws), doubles(moments(one).mean), covariance);
}

TEST_CASE("prediction: the same functions drawn for all targets") {
  const Moments functions = some_functions({3, 2, 4, 2});
  const SampledFunctions p(functions);
  const Tensor y = normal<double>({2, 4, 2}, 3);
  const auto means = doubles(functions.mean), deviations = doubles(functions.std), values = doubles(y);
  for (std::size_t b = 0; b < 2; ++b) {
    double density = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      double product = 1;
      for (std::size_t i = 8 * b; i < 8 * (b + 1); ++i)
        product *= normal_density(values[i], means[16 * k + i], deviations[16 * k + i]);
      density += product / 3;
    }
    CHECK(doubles(p.joint_log_likelihood(y))[b] == doctest::Approx(std::log(density)).epsilon(1e-12));
  }
  // By itself each target is the mixture; what training sees of it has gradients.
  CHECK(largest_difference(p.log_likelihood(y), doubles(log_likelihood(p.marginals(), y))) <= 1e-13);
  const auto negative = [&](const std::vector<Tensor>& in) { return nll(SampledFunctions({in[0], in[1]}), y); };
  CHECK(gradcheck(negative, {functions.mean, functions.std}).max_error <= 1e-7);
  CHECK(error_of([&] {
          SampledFunctions({y, y});
        }) == "[prediction] functions (2, 4, 2) found, expected (K, B, Nt, Dy)");
  CHECK(error_of([&] { p.joint_log_likelihood(slice(y, 1, 0, 2)); }) ==
        "[prediction] y (2, 2, 2) found, expected (2, 4, 2)");
}

TEST_CASE("prediction: a mixture at each target") {
  const Moments components = some_functions({3, 2, 4, 2});
  const Tensor weights = transpose_of_softmax(normal<double>({2, 4, 3}, 5));
  const Mixture p({components.mean, components.std, weights});
  const Tensor y = normal<double>({2, 4, 2}, 3);
  const auto means = doubles(components.mean), deviations = doubles(components.std), values = doubles(y),
             log_weights = doubles(weights), points = doubles(p.log_likelihood(y)),
             joint = doubles(p.joint_log_likelihood(y));
  double together = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    double density = 0;
    for (std::size_t k = 0; k < 3; ++k)
      density += std::exp(log_weights[8 * k + i]) *
                 normal_density(values[2 * i], means[16 * k + 2 * i], deviations[16 * k + 2 * i]) *
                 normal_density(values[2 * i + 1], means[16 * k + 2 * i + 1], deviations[16 * k + 2 * i + 1]);
    CHECK(points[i] == doctest::Approx(std::log(density)).epsilon(1e-12));
    if (i < 4) together += std::log(density);
  }
  CHECK(joint[0] == doctest::Approx(together).epsilon(1e-12));
  const auto negative = [&](const std::vector<Tensor>& in) { return nll(Mixture({in[0], in[1], in[2]}), y); };
  CHECK(gradcheck(negative, {components.mean, components.std, weights}).max_error <= 1e-7);
  CHECK(error_of([&] { Mixture({y, y, y}); }) == "[prediction] components (2, 4, 2) found, expected (K, B, Nt, Dy)");
  CHECK(
      error_of([&] {
        Mixture({components.mean, components.std, y});
      }) ==
      "[prediction] standard deviations (3, 2, 4, 2) and weights (2, 4, 2) of components found, expected (3, 2, 4, 2) "
      "and (3, 2, 4)");
  CHECK(error_of([&] {
          Mixture({components.mean, components.std, weights, Scale::logarithmic});
        }) == "[prediction] components on another scale, or with labels, found, expected values");
}

TEST_CASE("prediction: samples of a mixture are of its components by weight, each target by itself") {
  const Tensor mean = Tensor::from<double>({2, 1, 2, 1}, {-5.0, -5.0, 5.0, 5.0}),
               weight = Tensor::from<double>({2, 1, 2}, {std::log(0.2), std::log(0.5), std::log(0.8), std::log(0.5)});
  const Mixture p({mean, Tensor::full({2, 1, 2, 1}, 1, DType::float64), weight});
  Draws draws = some_draws();
  // Means 3 and 0; variances 1 + 25 − mean², each counted from 20,000 samples; nothing in common.
  const Statistics s = statistics(p.sample(20'000, draws));
  CHECK(std::abs(s.mean[0] - 3) < 0.2);
  CHECK(std::abs(s.mean[1]) < 0.2);
  CHECK(s.covariance[0] == doctest::Approx(17).epsilon(0.05));
  CHECK(s.covariance[3] == doctest::Approx(26).epsilon(0.02));
  CHECK(std::abs(s.covariance[1]) < 0.8);
}

TEST_CASE("prediction: samples of functions keep to one function") {
  const Tensor mean = Tensor::from<double>({2, 1, 2, 1}, {-5.0, -5.0, 5.0, 5.0});
  const SampledFunctions p({mean, Tensor::full({2, 1, 2, 1}, 1, DType::float64)});
  Draws draws = some_draws();
  // Samples of an equal mixture of N(∓5, 1): mean 0, variance 26, covariance 25.
  const Statistics s = statistics(p.sample(20'000, draws));
  CHECK(std::abs(s.mean[0]) < 0.2);
  CHECK(s.covariance[0] == doctest::Approx(26).epsilon(0.02));
  CHECK(s.covariance[1] == doctest::Approx(25).epsilon(0.02));

  // A function has no noise: it is one of the two.
  const Tensor functions = p.functions(400, draws);
  CHECK(functions.shape() == Shape{400, 1, 2, 1});
  std::int64_t low = 0;
  for (std::int64_t i = 0; i < 400; ++i) {
    const double first = functions.values<double>()[static_cast<std::size_t>(2 * i)];
    CHECK(functions.values<double>()[static_cast<std::size_t>(2 * i + 1)] == first);
    CHECK(std::abs(first) == 5);
    low += first < 0;
  }
  CHECK(std::abs(low - 200) < 60);
}

TEST_CASE("prediction: a joint Gaussian is the exact posterior of a process, its samples included") {
  const GpTask t = gp_task(3);
  const ExactGp model(t.kernel, 0.2);
  const auto state = condition(model, context_of(t.task));
  const auto p = model.query(*state, t.task.xt);
  const std::vector<double> joint = doubles(p->joint_log_likelihood(t.task.yt));
  for (std::int64_t b = 0; b < 3; ++b)
    CHECK(joint[static_cast<std::size_t>(b)] == doctest::Approx(exact_joint(t, b)).epsilon(1e-9));
  const std::vector<double> xc = doubles(row(t.task.xc, 0)), yc = doubles(row(t.task.yc, 0)),
                            xt = doubles(row(t.task.xt, 0));
  GpMarginals each = GpPosterior(t.kernel, {xc, 1}, yc, 0.2).marginals({xt, 1}, 0.2);
  for (double& v : each.variance) v = std::sqrt(v);
  CHECK(largest_difference(row(moments(*p).mean, 0), each.mean) <= 1e-9);
  CHECK(largest_difference(row(moments(*p).std, 0), each.variance) <= 1e-9);
  Draws draws = some_draws();
  check_statistics(slice(p->sample(20'000, draws), 1, 0, 1), t.exact.mean, t.exact.covariance);
}

TEST_CASE("prediction: low rank and diagonal are the joint Gaussian of the same covariance") {
  constexpr std::int64_t kValues = 6, kRank = 2;
  const Tensor mean = normal<double>({1, 3, 2}, 1), factor = normal<double>({1, kValues, kRank}, 2),
               diagonal = exp(normal<double>({1, kValues}, 3)), y = normal<double>({1, 3, 2}, 4);
  std::vector<double> covariance(kValues * kValues);
  const std::vector<double> f = doubles(factor), d = doubles(diagonal);
  for (std::size_t i = 0; i < kValues; ++i) {
    covariance[i * kValues + i] = d[i];
    for (std::size_t j = 0; j < kValues; ++j)
      for (std::size_t r = 0; r < kRank; ++r) covariance[i * kValues + j] += f[i * kRank + r] * f[j * kRank + r];
  }
  const Cholesky l(covariance, kValues);
  Tensor lower = Tensor::zeros({1, kValues, kValues}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < kValues; ++i)
    for (std::int64_t j = 0; j <= i; ++j) lower.data<double>()[i * kValues + j] = l(i, j);
  const JointGaussian low_rank(mean, factor, diagonal), full(mean, lower.to(default_device()));
  CHECK(low_rank.joint_log_likelihood(y).item() == doctest::Approx(full.joint_log_likelihood(y).item()).epsilon(1e-12));
  CHECK(difference(moments(low_rank), moments(full)) <= 1e-13);
  Draws draws = some_draws();
  const Tensor samples = low_rank.sample(20'000, draws);
  check_statistics(samples.view({20'000, 1, kValues, 1}), doubles(mean), covariance);
  const JointGaussian none(mean, Tensor::zeros({1, kValues, 0}, DType::float64), diagonal);  // no factor: independent
  CHECK(none.joint_log_likelihood(y).item() ==
        doctest::Approx(Independent({mean, reshape(sqrt(diagonal), {1, 3, 2})}).joint_log_likelihood(y).item())
            .epsilon(1e-13));
  CHECK(error_of([&] { JointGaussian(mean, factor); }) == "[prediction] factor (1, 6, 2) found, expected (1, 6, 6)");
  CHECK(error_of([&] { JointGaussian(mean, factor, mean); }) ==
        "[prediction] diagonal (1, 3, 2) found, expected (1, 6)");
  CHECK(error_of([&] { full.joint_log_likelihood(slice(y, 1, 0, 1)); }) ==
        "[prediction] y (1, 1, 2) found, expected (1, 3, 2)");
}

TEST_CASE("prediction: a chain of conditionals is the joint density, in blocks of any size") {
  const GpTask t = gp_task(4);
  const std::int64_t nt = t.task.xt.dim(1);
  for (const std::int64_t block : {std::int64_t{1}, std::int64_t{2}, nt, nt + 3}) {
    CAPTURE(block);
    const ExactGp model(t.kernel, 0.2, block);
    const auto state = condition(model, context_of(t.task));
    const std::vector<double> joint = doubles(model.query(*state, t.task.xt)->joint_log_likelihood(t.task.yt));
    for (std::int64_t b = 0; b < 3; ++b)
      CHECK(joint[static_cast<std::size_t>(b)] == doctest::Approx(exact_joint(t, b)).epsilon(1e-9));
    const auto none = model.query(*state, slice(t.task.xt, 1, 0, 0));
    CHECK(none->joint_log_likelihood(slice(t.task.yt, 1, 0, 0)).values<double>()[2] == 0);
    CHECK(none->marginals().mean.shape() == Shape{kFewSamples, 3, 0, 1});
  }
  const ExactGp model(t.kernel, 0.2, 1);
  const auto state = condition(model, context_of(t.task));
  CHECK(error_of([&] { model.query(*state, t.task.xt)->joint_log_likelihood(slice(t.task.yt, 1, 0, 1)); }) ==
        fmt::format("[prediction] y (3, 1, 1) found, expected values of {} targets", nt));
  CHECK(error_of([&] { ExactGp(t.kernel, 0.2, 0).query(*state, t.task.xt); }) ==
        fmt::format("[prediction] {} paths in blocks of 0 targets, expected 1 or more", kFewSamples));
}

TEST_CASE("prediction: paths of a chain are draws of the joint distribution, and their conditionals its marginals") {
  GpTask t = gp_task(5);
  t.task = task_row(t.task, 0);
  t.task.xt = slice(t.task.xt, 1, 0, 3);
  const ExactGp model(t.kernel, 0.2, 2);
  const JointPosterior exact =
      joint_posterior(t.kernel, 0.2, doubles(t.task.xc), doubles(t.task.yc), doubles(t.task.xt));
  Draws draws = some_draws();
  constexpr std::int64_t kPaths = 4000;
  const auto state = model.condition(context_of(t.task), draws, kPaths);
  const auto p = model.query(*state, t.task.xt);
  check_statistics(p->sample(kPaths, draws), exact.mean, exact.covariance);
  CHECK(p->marginals().mean.shape() == Shape{kPaths, 1, 3, 1});
  const Moments each = moments(*p);
  for (std::size_t i = 0; i < 3; ++i) {
    const double std = std::sqrt(exact.covariance[4 * i]);
    CHECK(std::abs(doubles(each.mean)[i] - exact.mean[i]) <= 5 * std / std::sqrt(static_cast<double>(kPaths)));
    CHECK(doubles(each.std)[i] == doctest::Approx(std).epsilon(5 / std::sqrt(2.0 * kPaths)));
  }
  CHECK(same_bits(p->marginals().mean, model.query(*state, t.task.xt)->marginals().mean));
}

TEST_CASE("evaluate: the joint density is scored where it is the model's, and reaches the exact one") {
  const GpSampler sampler(exact_process(), {4, 3, Split::evaluation});
  const Kernel kernel = sampler.draw(0).truth.kernels()[0];
  for (const std::optional<std::int64_t> block : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
    const ExactGp model(kernel, 0.2, block);
    const Evaluation joint =
        evaluate(model, sampler, {.batches = 3, .exact_batches = 3, .density = Density::joint, .context = true});
    CHECK(joint.joint_log_likelihood == doctest::Approx(joint.exact_gp).epsilon(1e-5));
    CHECK(joint.forms.joint == (block ? "teacher-forced, blocks of 2" : "exact"));
    CHECK(joint.forms.marginal == (block ? "50 samples" : "exact"));
    CHECK(std::abs(joint.exact_gap) < 1e-5);
    CHECK_FALSE(joint.std_floor.has_value());
    CHECK(std::isfinite(joint.crps));
    const Evaluation each = evaluate(model, sampler, {.batches = 3, .exact_batches = 3, .density = Density::mixture});
    CHECK(each.exact_gp < joint.exact_gp);
    CHECK(each.log_likelihood == joint.log_likelihood);
    CHECK(each.joint_log_likelihood == joint.joint_log_likelihood);
    const Evaluation alone = evaluate(model, sampler, {.batches = 3, .density = Density::joint, .density_only = true});
    CHECK(alone.joint_log_likelihood == joint.joint_log_likelihood);
    CHECK(std::isnan(alone.log_likelihood));
    CHECK(alone.marginal_batches == 0);
    const Evaluation few = evaluate(model, sampler, {.batches = 3, .density = Density::joint, .path_batches = 1});
    CHECK(few.marginal_batches == (block ? 1 : 3));
    CHECK(few.joint_log_likelihood == joint.joint_log_likelihood);
    // Paths only come near the marginals; one Gaussian for each is them.
    CHECK(std::abs(each.exact_gap) < (block ? 0.05 : 1e-5));
    if (!block) continue;
    const auto seeded = [&](std::uint64_t seed) { return evaluate(model, sampler, {.batches = 2, .seed = seed}).crps; };
    CHECK(seeded(1) == seeded(1));
    CHECK(seeded(1) != seeded(2));
  }
}
