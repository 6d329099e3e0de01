#include "npzoo/models/predictions/flow.h"

#include <numbers>

#include "npzoo/models/tnp/flow_np.h"
#include "npzoo/ops/matmul/matmul.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Draws few_draws() { return {5, Purpose::prediction, 2}; }

/// Two targets of one channel, whose velocity is A y with A = (0.5, −0.3; 0.2, −0.8) at all times: y(1) = exp(A) y(0).
class LinearFlow final : public Flow {
 public:
  explicit LinearFlow(const FlowOptions& options)
      : Flow(Tensor::zeros({1, 2, 1}, DType::float64), few_draws(), options),
        matrix_(Tensor::from<double>({2, 2}, {0.5, -0.3, 0.2, -0.8}).to(default_device())) {}

  static constexpr double kTrace = 0.5 - 0.8;

 protected:
  Tensor velocity(const Tensor& y, double) const override {
    const std::int64_t rows = y.dim(0);
    return matmul(broadcast_to(reshape(matrix_, {1, 2, 2}), {rows, 2, 2}), y);
  }

 private:
  Tensor matrix_;
};

/// exp(sign · A) y by its series.
std::vector<double> moved_by(double sign, const std::vector<double>& y) {
  const double a[2][2] = {{0.5, -0.3}, {0.2, -0.8}};
  std::vector<double> sum = y, term = y;
  for (int n = 1; n < 40; ++n) {
    term = {sign * (a[0][0] * term[0] + a[0][1] * term[1]) / n, sign * (a[1][0] * term[0] + a[1][1] * term[1]) / n};
    for (std::size_t i = 0; i < 2; ++i) sum[i] += term[i];
  }
  return sum;
}

double normal_density(const std::vector<double>& y) {
  double sum = 0;
  for (const double value : y) sum -= 0.5 * (value * value + std::log(2 * std::numbers::pi));
  return sum;
}

/// A small model; `changes` are further parameters.
ModelSpec flow_spec(std::int64_t dim_x, std::int64_t dim_y, const ModelConfig& changes) {
  ModelConfig config{{"dim_x", dim_x},
                     {"dim_y", dim_y},
                     {"d_model", std::int64_t{8}},
                     {"dim_feedforward", std::int64_t{12}},
                     {"nhead", std::int64_t{2}},
                     {"num_layers", std::int64_t{2}},
                     {"emb_depth", std::int64_t{2}},
                     {"frequencies", std::int64_t{3}},
                     {"timesteps", std::int64_t{4}}};
  for (const auto& [key, value] : changes) config[key] = value;
  return {"flownp", config};
}

Tensor velocity_at(const FlowNp& model, const Task& task, double time) {
  Draws draws = few_draws();
  return model.velocity(context_of(task),
                        {task.xt, task.yt, Tensor::full(task.xt.shape().with(2, 1), time, DType::float64)}, draws);
}

Tensor reversed(const Tensor& x) {
  std::vector<Tensor> points;
  for (std::int64_t i = x.dim(1) - 1; i >= 0; --i) points.push_back(slice(x, 1, i, i + 1));
  return concat(points, 1);
}

}  // namespace

TEST_CASE("flow: a linear velocity has the density and the paths of its matrix exponential") {
  const std::vector<double> y{0.7, -1.2}, start = moved_by(-1, y);
  const Tensor values = Tensor::from<double>({1, 2, 1}, y);
  const double exact = normal_density(start) - LinearFlow::kTrace;
  std::vector<double> errors;
  for (const std::int64_t steps : {20, 40, 80}) {
    const LinearFlow flow({.steps = steps});
    const double found = doubles(flow.joint_log_likelihood(values))[0];
    errors.push_back(std::abs(found - exact));
  }
  CHECK(errors[0] <= 2e-3);
  for (const std::size_t i : {0, 1}) CHECK(errors[i] / errors[i + 1] == doctest::Approx(4).epsilon(0.1));
}

TEST_CASE("flow: with twice the steps, Euler's error is half, that of the midpoint rule a quarter") {
  const Tensor source = Tensor::from<double>({1, 2, 1}, {0.4, 1.1}).to(default_device());
  const std::vector<double> exact = moved_by(1, {0.4, 1.1});
  const auto error_of_rule = [&](std::int64_t steps, Flow::Rule rule) {
    return largest_difference(LinearFlow({.steps = steps}).follow(source, rule), exact);
  };
  for (const std::int64_t steps : {20, 40}) {
    CHECK(error_of_rule(steps, Flow::Rule::euler) / error_of_rule(2 * steps, Flow::Rule::euler) ==
          doctest::Approx(2).epsilon(0.1));
    CHECK(error_of_rule(steps, Flow::Rule::midpoint) / error_of_rule(2 * steps, Flow::Rule::midpoint) ==
          doctest::Approx(4).epsilon(0.1));
  }
}

TEST_CASE("flow: the mean over all probes of signs is the exact divergence") {
  const auto model = varied_model(flow_spec(1, 2, {}));
  const Task task = random_task(*model, {2, 4, 2});
  const auto state = condition(*model, context_of(task));
  const auto prediction = model->query(*state, task.xt);
  const auto& flow = dynamic_cast<const Flow&>(*prediction);
  Tensor signs = Tensor::empty({16, 2, 2, 2}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < 16; ++i)
    for (std::int64_t j = 0; j < 8; ++j) signs.data<double>()[i * 8 + j] = (i >> (j % 4)) % 2 == 0 ? 1 : -1;
  const auto each = doubles(flow.density(task.yt, signs).of_targets),
             exact = doubles(flow.exact_density(task.yt).of_targets);
  for (std::int64_t b = 0; b < 2; ++b) {
    double mean = 0;
    for (std::int64_t i = 0; i < 16; ++i) mean += (each[i * 4 + b * 2] + each[i * 4 + b * 2 + 1]) / 16;
    CHECK(mean == doctest::Approx(exact[b * 2] + exact[b * 2 + 1]).epsilon(1e-12));
  }
  CHECK(doubles(prediction->joint_log_likelihood(task.yt))[1] == doctest::Approx(exact[2] + exact[3]).epsilon(1e-12));
}

TEST_CASE("flow: probes are near the exact density, and forms name them") {
  const auto few = varied_model(flow_spec(1, 1, {})),
             probed = varied_model(flow_spec(1, 1, {{"exact_values", std::int64_t{0}}, {"probes", std::int64_t{400}}}));
  const Task task = random_task(*few, {2, 4, 5});
  const auto prediction_of = [&](const Model& model) {
    return model.query(*condition(model, context_of(task)), task.xt);
  };
  const auto exact = prediction_of(*few), estimated = prediction_of(*probed);
  CHECK(largest_difference(estimated->joint_log_likelihood(task.yt), doubles(exact->joint_log_likelihood(task.yt))) <=
        0.2);
  CHECK(exact->forms().joint == "4 steps, exact divergence");
  CHECK(estimated->forms().joint == "4 steps, 400 probes of the divergence");
  CHECK(estimated->forms().marginal == "3 samples, smoothed");
}

TEST_CASE("flow: marginals have the moments of the samples") {
  const auto model = varied_model(flow_spec(1, 2, {}));
  const Task task = random_task(*model, {2, 4, 3});
  Draws draws = few_draws();
  const auto state = model->condition(context_of(task), draws, 40);
  const auto prediction = model->query(*state, task.xt);
  Draws again = few_draws();
  const Tensor samples = prediction->sample(40, again);
  const Moments found = moments(*prediction);
  const std::int64_t each = samples.numel() / 40;
  for (std::int64_t i = 0; i < each; ++i) {
    double mean = 0, squares = 0;
    for (std::int64_t k = 0; k < 40; ++k) mean += samples.data<double>()[k * each + i] / 40;
    for (std::int64_t k = 0; k < 40; ++k) squares += std::pow(samples.data<double>()[k * each + i] - mean, 2) / 39;
    CHECK(doubles(found.mean)[i] == doctest::Approx(mean));
    CHECK(doubles(found.std)[i] == doctest::Approx(std::sqrt(squares)).epsilon(0.02));
  }
}

TEST_CASE("flownp: a single step is exact, by the rule of the paper and of the code") {
  for (const char* sampler : {"euler", "noisy"}) {
    const auto model =
        varied_model(flow_spec(2, 2, {{"timesteps", std::int64_t{1}}, {"sampler", std::string(sampler)}}));
    const auto& own = dynamic_cast<const FlowNp&>(*model);
    const Task task = random_task(*model, {2, 5, 3});
    const auto state = condition(*model, context_of(task));
    Draws draws = few_draws(), again = few_draws();
    const Tensor found = model->query(*state, task.xt)->sample(1, draws);
    const bool noisy = std::string(sampler) == "noisy";
    const std::int64_t points = noisy ? 8 : 3;
    const Tensor source = again.normal(1, 2, {points, 2}, DType::float64, default_device()).view({2, points, 2});
    const Tensor x = noisy ? concat({task.xc, task.xt}, 1) : task.xt;
    const Tensor v = own.velocity(context_of(task), {x, source, Tensor::zeros({2, points, 1}, DType::float64)}, again);
    CHECK(difference(found, reshape(slice(add(source, v), 1, points - 3, points), {1, 2, 3, 2})) <= kRounding);
  }
}

TEST_CASE("flownp: velocities move along with their targets, and depend on the other targets") {
  const auto model = varied_model(flow_spec(2, 2, {}));
  const auto& own = dynamic_cast<const FlowNp&>(*model);
  const Task task = random_task(*model, {2, 6, 5});
  const Tensor before = velocity_at(own, task, 0.3);
  const Task context{reversed(task.xc), reversed(task.yc), task.xt, task.yt, {}},
      targets{task.xc, task.yc, reversed(task.xt), reversed(task.yt), {}},
      fewer{task.xc, task.yc, slice(task.xt, 1, 0, 4), slice(task.yt, 1, 0, 4), {}};
  CHECK(difference(velocity_at(own, context, 0.3), before) <= kRounding);
  CHECK(difference(velocity_at(own, targets, 0.3), reversed(before)) <= kRounding);
  CHECK(difference(velocity_at(own, fewer, 0.3), slice(before, 1, 0, 4)) > 1e-4);
  CHECK(difference(velocity_at(own, task, 0.4), before) > 1e-4);
}

TEST_CASE("flownp: padding of context and targets changes no velocity") {
  const auto model = varied_model(flow_spec(1, 1, {}));
  const auto& own = dynamic_cast<const FlowNp&>(*model);
  const Task task = random_task(*model, {2, 6, 5});
  const Tensor lengths = Tensor::from<std::int64_t>({2}, {6, 3}), targets = Tensor::from<std::int64_t>({2}, {5, 2});
  Draws draws = few_draws();
  const Tensor time = Tensor::full({2, 5, 1}, 0.6, DType::float64);
  const Tensor padded = own.velocity({task.xc, task.yc, lengths}, {task.xt, task.yt, time, targets}, draws);
  const Tensor alone = own.velocity(
      {slice(row(task.xc, 1), 1, 0, 3), slice(row(task.yc, 1), 1, 0, 3), {}},
      {slice(row(task.xt, 1), 1, 0, 2), slice(row(task.yt, 1), 1, 0, 2), slice(row(time, 1), 1, 0, 2)}, draws);
  CHECK(difference(slice(row(padded, 1), 1, 0, 2), alone) <= kRounding);
  CHECK(difference(row(padded, 0), row(velocity_at(own, task, 0.6), 0)) <= kRounding);
}

TEST_CASE("flownp: the loss is the mean squared error of velocities at the drawn times") {
  const auto model = varied_model(flow_spec(1, 2, {}));
  const auto& own = dynamic_cast<const FlowNp&>(*model);
  const Task task = random_task(*model, {3, 6, 5});
  Draws draws = few_draws(), again = few_draws();
  const double found = model->loss(task, draws).item();
  const Tensor source = again.normal(1, 3, {5, 2}, DType::float64, default_device()).view({3, 5, 2}),
               time = again.uniform(1, 3, {5, 1}, DType::float64, default_device()).view({3, 5, 1});
  const Tensor y = add(mul(time, task.yt), mul(affine(time, -1, 1), source));
  const Tensor v = own.velocity(context_of(task), {task.xt, y, time}, again);
  double sum = 0;
  for (const double error : doubles(sub(v, sub(task.yt, source)))) sum += error * error / 30;
  CHECK(found == doctest::Approx(sum).epsilon(1e-12));
}
