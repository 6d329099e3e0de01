#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/engine/gradcheck.h"
#include "npzoo/models/applications/tables/likelihood_units.h"
#include "npzoo/models/config_json.h"
#include "npzoo/models/likelihoods/output_head.h"
#include "npzoo/models/trials/likelihood.h"
#include "tests/models/model_fixtures.h"
#include "tests/toy_tasks.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr StdForm kHeadForm{StdForm::Kind::softplus, 0.01};

Likelihood likelihood_of(const Distribution& d) { return {&d, d.parameters() == 0 ? 3 : 0}; }

/// Values (2, 4, 2) of the distribution with these parameters.
Tensor supported_quantiles(const Distribution& d, std::size_t count) {
  std::vector<double> p(count, 0.5);
  Tensor y = Tensor::empty({2, 4, 2}, DType::float64, Device::cpu);
  for (std::size_t i = 0; i < 16; ++i) y.values<double>()[i] = d.quantile(p, (static_cast<double>(i) + 0.5) / 16);
  return y.to(default_device());
}

std::vector<double> all_doubles(const Tensor& x) {
  const Tensor here = x.to(Device::cpu).to(DType::float64);
  return {here.values<double>().begin(), here.values<double>().end()};
}

}  // namespace

TEST_CASE("likelihood: recorded densities are those of the distributions, and their gradients are right") {
  for (const Distribution* d : distributions()) {
    CAPTURE(std::string(d->name()));
    const Likelihood likelihood = likelihood_of(*d);
    const Tensor raw = normal<double>({2, 4, likelihood.outputs(2)}, 5);
    const Tensor y = supported_quantiles(*d, static_cast<std::size_t>(likelihood.parameters()));
    const auto prediction = output_head(raw, kHeadForm, likelihood);
    const std::vector<double> recorded = all_doubles(prediction->log_likelihood(y)),
                              exact = all_doubles(log_likelihood(prediction->marginals(), y));
    double joint = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(recorded[i] == doctest::Approx(exact[i]).epsilon(1e-10));
      if (i < 4) joint += exact[i];
    }
    CHECK(all_doubles(prediction->joint_log_likelihood(y))[0] == doctest::Approx(joint).epsilon(1e-12));
    const auto loss = [&](const std::vector<Tensor>& in) { return nll(*output_head(in[0], kHeadForm, likelihood), y); };
    CHECK(gradcheck(loss, {raw}).max_error <= 1e-6);
    // Float32 keeps most digits.
    const auto rounded = output_head(raw.to(DType::float32), kHeadForm, likelihood);
    const std::vector<double> single = all_doubles(rounded->log_likelihood(y.to(DType::float32)));
    for (std::size_t i = 0; i < 8; ++i) CHECK(std::abs(single[i] - exact[i]) <= 2e-4 * (1 + std::abs(exact[i])));
  }
}

TEST_CASE("likelihood: large counts and extreme outputs have finite densities and gradients") {
  for (const Distribution* d : distributions()) {
    CAPTURE(std::string(d->name()));
    const Likelihood likelihood = likelihood_of(*d);
    const double most = d == &bernoulli_distribution() || d == &categorical_distribution() ? 1
                        : d == &beta_distribution()                                        ? 0.999999
                                                                                           : 1e5;
    for (const double size : {-60.0, 0.0, 60.0})
      for (const double value : {0.0, most}) {  // 0 is padding, in the support or not
        const Tensor raw = Tensor::full({1, 1, likelihood.outputs(1)}, size, DType::float32);
        const Tensor y = Tensor::full({1, 1, 1}, value, DType::float32);
        const auto loss = [&](const std::vector<Tensor>& in) {
          return nll(*output_head(in[0], kHeadForm, likelihood), y);
        };
        for (const Tensor& result : with_gradients(loss, {raw})) CHECK(all_finite(result));
      }
  }
}

TEST_CASE("likelihood: marginals, samples and central intervals agree with the distribution") {
  for (const Distribution* d : distributions()) {
    CAPTURE(std::string(d->name()));
    const Likelihood likelihood = likelihood_of(*d);
    const Tensor raw = normal<double>({2, 4, likelihood.outputs(2)}, 8, 0.5);
    const Tensor y = supported_quantiles(*d, static_cast<std::size_t>(likelihood.parameters()));
    const auto prediction = output_head(raw, kHeadForm, likelihood);
    const Marginals m = on_host(prediction->marginals());
    REQUIRE(m.distribution == d);
    REQUIRE(m.mean.shape() == Shape{1, 2, 4, 2});
    REQUIRE(m.parameters.shape() == Shape{likelihood.parameters(), 2, 4, 2});
    const Tensor below = cdf(m, y), half = quantile(m, 0.5), score = crps(m, y), mass = central_mass(m, y);
    const Moments both = moments(m);
    constexpr std::int64_t kSamples = 4000;
    Draws draws(3, Purpose::evaluation, 0);
    const std::vector<double> samples = all_doubles(prediction->sample(kSamples, draws)), values = all_doubles(y);
    REQUIRE(samples.size() == 16 * kSamples);
    for (std::size_t i = 0; i < 16; ++i) {
      std::vector<double> p;
      for (std::size_t k = 0; k < static_cast<std::size_t>(m.parameters.dim(0)); ++k)
        p.push_back(m.parameters.values<double>()[k * 16 + i]);
      CHECK(below.values<double>()[i] == d->cdf(p, values[i]));
      CHECK(half.values<double>()[i] == d->quantile(p, 0.5));
      CHECK(score.values<double>()[i] == d->crps(p, values[i]));
      CHECK(m.mean.values<double>()[i] == doctest::Approx(both.mean.values<double>()[i]));
      CHECK((0 <= mass.values<double>()[i] && mass.values<double>()[i] <= 1));
      double inside = 0;
      for (std::size_t s = 0; s < kSamples; ++s) inside += samples[s * 16 + i] <= values[i];
      CHECK(std::abs(inside / kSamples - d->cdf(p, values[i])) <= 4.5 * 0.5 / std::sqrt(kSamples));
    }
    CHECK(same_bits(mass, central_mass(m, y)));  // no hidden state
    CHECK(error_of([&] { check_gaussian(m, "there"); }) ==
          fmt::format("[there] the model predicts by the likelihood {}, expected gaussian", d->name()));
    CHECK(error_of([&] { prediction->log_likelihood(slice(y, 1, 0, 2)); }) ==
          "[log_likelihood] y (2, 2, 2) found, expected (2, 4, 2)");
  }
}

namespace {

/// Raw outputs that make simulated values most likely, by Adam.
Tensor most_likely_outputs(const Likelihood& likelihood, const Tensor& y) {
  Tensor raw = Tensor::full({1, 1, likelihood.outputs(1)}, 0.3, DType::float64);
  const auto count = static_cast<std::size_t>(raw.numel());
  std::vector<double> first(count), second(count);
  for (int step = 1; step <= 300; ++step) {
    Tape tape;
    tape.watch(raw);
    Tensor loss;
    {
      const Recording on(tape);
      loss = nll(*output_head(broadcast_to(raw, {1, y.dim(1), raw.dim(2)}), kHeadForm, likelihood), y);
    }
    const std::vector<double> slope = all_doubles(tape.backward(loss).of(raw));
    std::vector<double> next = all_doubles(raw);
    for (std::size_t i = 0; i < count; ++i) {
      first[i] = 0.9 * first[i] + 0.1 * slope[i];
      second[i] = 0.99 * second[i] + 0.01 * slope[i] * slope[i];
      next[i] -= 0.1 * std::pow(0.99, step / 2) * first[i] / (1 - std::pow(0.9, step)) /
                 (std::sqrt(second[i] / (1 - std::pow(0.99, step))) + 1e-12);
    }
    raw = Tensor::from<double>(raw.shape(), std::span<const double>(next)).to(default_device());
  }
  return raw;
}

Tensor simulated(const Distribution& d, const std::vector<double>& p, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Tensor y = Tensor::empty({1, count, 1}, DType::float64, Device::cpu);
  for (double& value : y.values<double>()) value = d.quantile(p, std::max(random.uniform(), 1e-300));
  return y.to(default_device());
}

}  // namespace

TEST_CASE("likelihood: a fit to simulated counts, events and bounded values finds the truth and covers others") {
  if (on_emulated_gpu()) return;
  struct Simulated {
    const Distribution* distribution;
    std::vector<double> p;
  };
  const Simulated all[] = {{&poisson_distribution(), {1.2}},
                           {&negative_binomial_distribution(), {1.5, 0.7}},
                           {&zero_inflated_poisson_distribution(), {-0.7, 1.6}},
                           {&bernoulli_distribution(), {-0.8}},
                           {&categorical_distribution(), {0.5, -0.5, 0.0}},
                           {&beta_distribution(), {0.6, 2.2}},
                           {&student_t_distribution(), {1.0, 0.8, 4.0}},
                           {&log_normal_distribution(), {0.2, 0.6}},
                           {&zero_inflated_log_normal_distribution(), {-0.3, 0.2, 0.6}},
                           {&zero_inflated_negative_binomial_distribution(), {-1.0, 1.8, 1.5}}};
  for (const Simulated& s : all) {
    CAPTURE(std::string(s.distribution->name()));
    const Likelihood likelihood = likelihood_of(*s.distribution);
    const Tensor raw = most_likely_outputs(likelihood, simulated(*s.distribution, s.p, 4000, 1));
    constexpr std::int64_t kOthers = 20'000;
    const Tensor others = simulated(*s.distribution, s.p, kOthers, 2);
    const auto prediction = output_head(broadcast_to(raw, {1, kOthers, raw.dim(2)}), kHeadForm, likelihood);
    const Marginals m = on_host(prediction->marginals());
    double truth = 0, found = 0;
    for (const double y : all_doubles(others)) truth += s.distribution->log_density(s.p, y) / kOthers;
    for (const double density : all_doubles(log_likelihood(m, others))) found += density / kOthers;
    CHECK(truth - found <= 2e-3);  // the loss of 4000 values is about 1.5 / 4000
    MarginalFit fit;
    const std::vector<double> masses = all_doubles(central_mass(m, others));
    for (const double mass : masses) fit.add(0, mass);
    for (const int percent : {50, 80, 90, 95}) {
      CAPTURE(percent);
      CHECK(std::abs(fit.coverage(percent) - percent / 100.0) <= 0.015);
    }
  }
}

TEST_CASE("likelihood: the key decides the outputs, and wrong keys and values are errors") {
  const auto make = [](const char* name, const std::string& more) {
    ModelConfig config = model_config_from_json(model_info(name).small_forms.front(), name);
    config.merge(ModelConfig{{"dim_x", std::int64_t{1}}, {"dim_y", std::int64_t{1}}});
    config.merge(model_config_from_json(more, name));
    return make_model({name, config});
  };
  for (const ModelInfo& info : models()) {
    if (info.takes != TaskForm::points) continue;
    CAPTURE(std::string(info.name));
    if (!info.likelihoods) {
      CHECK(error_of([&] { make(info.name, R"({"likelihood": "poisson"})"); })
                .starts_with(fmt::format("[{}] the key likelihood found, but this model has no other likelihoods than "
                                         "its own; those that have: cnp, canp, ",
                                         info.name)));
      continue;
    }
    for (const char* likelihood : {"gaussian", "poisson", "student-t"}) {
      const auto model = make(info.name, fmt::format(R"({{"likelihood": "{}"}})", likelihood));
      CHECK(model->likelihood().gaussian() == (std::string(likelihood) == "gaussian"));
      if (!model->likelihood().gaussian()) CHECK_FALSE(model->std_floor());
      const Task task = random_task(*model, {}, DType::float32);
      Draws draws(1, Purpose::training, 0);
      CHECK(all_finite(model->loss(task, draws)));
    }
  }
  CHECK(error_of([&] {
          make("tnp-d", R"({"likelihood": "gamma"})");
        }).starts_with("[tnp-d] likelihood 'gamma' found, expected gaussian, student-t, log-normal, "));
  CHECK(error_of([&] { make("tnp-d", R"({"likelihood": "categorical"})"); }) ==
        "[tnp-d] classes is missing, expected an integer");
  CHECK(error_of([&] {
          make("tnp-d", R"({"likelihood": "poisson", "classes": 3})");
        }).starts_with("[tnp-d] classes is an unknown key"));
}

TEST_CASE("likelihood: an impossible value is named, padding is not looked at") {
  const Likelihood counts{&poisson_distribution()};
  Task task{Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 3, 1}), Tensor::zeros({2, 2, 1}), Tensor::zeros({2, 2, 1}), {}};
  check_support(counts, task);
  task.yt = Tensor::from<float>({2, 2, 1}, {1.0F, 0.0F, 3.0F, 2.5F});
  CHECK(error_of([&] { check_support(counts, task); }) ==
        "[likelihood] value 2.5 of target point 2, channel 1, of task 2 found, expected a whole number from 0, as "
        "likelihood = \"poisson\" needs");
  task.target_lengths = Tensor::from<std::int64_t>({2}, {2, 1});
  check_support(counts, task);
  check_support(Likelihood{}, task);
  CHECK(error_of([&] { check_support(Likelihood{&log_normal_distribution()}, task); }) ==
        "[likelihood] value 0 of context point 1, channel 1, of task 1 found, expected a number above 0, as likelihood "
        "= \"log-normal\" needs");
  task.lengths = Tensor::from<std::int64_t>({2}, {0, 0});
  CHECK(error_of([&] { check_support(Likelihood{&beta_distribution()}, task); })
            .starts_with("[likelihood] value 1 of target point 1, channel 1, of task 1 found, expected a number "
                         "between 0 and 1, exclusive"));
}

TEST_CASE("likelihood: tables keep the units of counts, and their impossible values are named") {
  const Standardisation units{.inputs = {{}}, .values = {{.shift = 3, .scale = 2}}};
  const std::vector<double> y{3, 4};
  const auto mapped = [&](const Likelihood& likelihood) {
    return units_of_likelihood(units, likelihood).map_values(y);
  };
  CHECK(mapped({}) == std::vector{0.0, 0.5});
  CHECK(mapped({&student_t_distribution()}) == std::vector{0.0, 0.5});
  CHECK(mapped({&poisson_distribution()}) == y);
  const std::vector<std::string> names{"a", "b"};
  const std::vector<double> observed{1, 2, 3, 0.5};
  check_observed(observed, names, {});
  CHECK(error_of([&] { check_observed(observed, names, {&poisson_distribution()}); }) ==
        "[predict] value 0.5 of column 'b' at observed point 2 found, expected a whole number from 0, as the model's "
        "likelihood poisson needs");
}

TEST_CASE("likelihood: evaluations refuse impossible values and score the others") {
  const Protocol counts = load_protocol("quick/counts"), curves = load_protocol("quick/gp1d");
  ModelSpec spec = model_spec(counts, "cnp");
  spec.config["dim_hid"] = std::int64_t{8};
  const auto model = make_model(spec);
  const SourceOptions options{.batch_size = 4, .split = Split::evaluation, .device = default_device()};
  const Evaluation e = evaluate(*model, *counts.data->source(options), {.batches = 3});
  CHECK(std::isfinite(e.log_likelihood));
  CHECK(e.crps > 0);
  CHECK(std::isnan(e.exact_gp));
  CHECK_FALSE(e.std_floor);
  CHECK(error_of([&] {
          evaluate(*model, *curves.data->source(options), {.batches = 3});
        }).ends_with("expected a whole number from 0, as likelihood = \"negative-binomial\" needs"));
}
