#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/kinds/gp/config.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/ops/concat/concat.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

GpConfig order_tasks(std::int64_t targets = 6) {
  GpDistribution d;
  d.kernels = {{KernelKind::rbf, {.a = 0.4}, {.a = 1}, {}}};
  d.points = 4 + targets;
  d.context = {3, 4};
  d.min_targets = targets;
  return GpConfig(d);
}

/// Believes that the `first` targets, as they come, are N(0, 2²), the others N(0, 1).
class Impatient final : public Model {
 public:
  explicit Impatient(std::int64_t first) : first_(first) {}

  std::unique_ptr<ContextState> do_condition(const Context& context, Draws& draws,
                                             std::int64_t samples) const override {
    return std::make_unique<HeldContext>(context, draws, samples);
  }
  std::unique_ptr<Prediction> do_query(const ContextState& /*state*/, const Tensor& xt) const override {
    const Tensor mean = Tensor::zeros(xt.shape(), DType::float64);
    Tensor std = Tensor::full(xt.shape(), 1, DType::float64);
    for (std::int64_t b = 0; b < xt.dim(0); ++b)
      for (std::int64_t i = 0; i < first_; ++i) std.data<double>()[b * xt.dim(1) + i] = 2;
    return std::make_unique<Independent>(Moments{mean, std});
  }
  void visit(ModuleVisitor&) override {}
  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 1; }

 private:
  std::int64_t first_;
};

TrialOptions order_options(std::int64_t orders, std::uint64_t seed = 3) {
  return {.tasks = {.batch_size = 5, .seed = seed, .split = Split::evaluation, .dtype = DType::float64},
          .batches = 2,
          .rules = {{"orders", orders}}};
}

Findings found_of(const Model& model, std::int64_t orders, const TaskConfig& tasks = order_tasks()) {
  return find_trial("orders").run(model, tasks, order_options(orders));
}

double order_figure(const Findings& found, const std::string& name) {
  const auto at = std::ranges::find(found.figures, name, &Figure::name);
  CAPTURE(name);
  REQUIRE(at != found.figures.end());
  return at->value.value;
}

}  // namespace

TEST_CASE("orders trial: 0 where the order does not matter, and as many tasks as there are") {
  const OnCpu cpu;
  const Findings found = found_of(Impatient(0), 8);
  CHECK(found.tasks == 10);
  CHECK(found.headline().name == "order_deviation");
  CHECK_FALSE(found.headline().more_is_better);
  CHECK(found.headline().value.value < 1e-14);
  CHECK(found_of(Impatient(6), 8).headline().value.value < 1e-14);
}

TEST_CASE("orders trial: the deviation over many orders is that of which target comes first") {
  const OnCpu cpu;
  const GpConfig tasks = order_tasks();
  const Findings found = found_of(Impatient(1), 20'000, tasks);
  // log N(y; 0, 2²) − log N(y; 0, 1) of one target in six, each as often.
  const auto source = tasks.source(order_options(1).tasks);
  RunningMean expected;
  for (std::uint64_t batch = 0; batch < 2; ++batch) {
    const Task task = source->task(batch);
    for (std::int64_t b = 0; b < 5; ++b) {
      RunningMean mean, squares;
      for (std::int64_t i = 0; i < 6; ++i) {
        const double y = task.yt.data<double>()[b * 6 + i], gain = 0.375 * y * y / 6;
        mean.add(gain);
        squares.add(gain * gain);
      }
      expected.add(std::sqrt(squares.estimate().value - std::pow(mean.estimate().value, 2)));
    }
  }
  // A deviation of 20,000 draws is known to 1 % or so.
  CHECK(found.headline().value.value == doctest::Approx(expected.estimate().value).epsilon(0.03));
  CHECK(order_figure(found, "order_deviation_quantile.2.5") < found.headline().value.value);
  CHECK(order_figure(found, "order_deviation_quantile.97.5") > found.headline().value.value);
  double tasks_in_bars = 0;
  for (const Figure& figure : found.figures)
    if (figure.name.starts_with("order_deviation_histogram.")) tasks_in_bars += figure.value.value;
  CHECK(tasks_in_bars == 10);
}

TEST_CASE("orders trial: autoregressive models depend on the order, others do not") {
  const OnCpu cpu;
  const auto deviation = [](const char* name) {
    ModelSpec spec = small_model(name);
    spec.config["dim_x"] = spec.config["dim_y"] = std::int64_t{1};
    return found_of(*varied_model(spec), 6).headline().value.value;
  };
  CHECK(deviation("tnp-a") > 1e-3);
  CHECK(deviation("taylorformer") > 1e-3);
  CHECK(deviation("cnp") < 1e-12);
  CHECK(deviation("tnp-d") < 1e-12);
  CHECK(deviation("np") < 1e-12);
}

TEST_CASE("autoregressive model: the joint density is that of the conditionals, the marginals are the model's own") {
  const OnCpu cpu;
  for (const char* name : {"cnp", "tnp-d", "lbanp", "inctnp", "kriging-tnp"}) {
    CAPTURE(name);
    ModelSpec spec = small_model(name);
    spec.config["dim_x"] = spec.config["dim_y"] = std::int64_t{1};
    const auto plain = varied_model(spec);
    const AutoregressiveModel model(*plain);
    const Task task = order_tasks().source(order_options(1).tasks)->task(0);
    const auto encode = [&](const Model& m, std::int64_t known) {
      Draws draws(3, Purpose::evaluation, 0);
      const Context context{
          concat({task.xc, slice(task.xt, 1, 0, known)}, 1), concat({task.yc, slice(task.yt, 1, 0, known)}, 1), {}};
      return m.condition(context, draws, 2);
    };
    REQUIRE_FALSE(task.lengths.defined());
    const auto prediction = model.query(*encode(model, 0), task.xt);
    std::vector<double> expected(5);
    for (std::int64_t i = 0; i < 6; ++i) {
      const auto one = plain->query(*encode(*plain, i), slice(task.xt, 1, i, i + 1));
      const Tensor log_density = one->joint_log_likelihood(slice(task.yt, 1, i, i + 1));
      for (std::size_t b = 0; b < 5; ++b) expected[b] += log_density.values<double>()[b];
    }
    const Tensor joint = prediction->joint_log_likelihood(task.yt);
    for (std::size_t b = 0; b < 5; ++b) CHECK(joint.values<double>()[b] == doctest::Approx(expected[b]).epsilon(1e-10));
    const auto alone = plain->query(*encode(*plain, 0), task.xt);
    CHECK(difference(moments(*prediction).mean, moments(*alone).mean) == 0);
    CHECK(difference(prediction->log_likelihood(task.yt), alone->log_likelihood(task.yt)) == 0);
    Draws first(5, Purpose::prediction, 0), again(5, Purpose::prediction, 0);
    const Tensor paths = prediction->sample(2, first);
    CHECK(paths.shape() == Shape{2, 5, 6, 1});
    CHECK(difference(paths, prediction->sample(2, again)) == 0);
    CHECK(found_of(model, 4).headline().value.value > 1e-6);
  }
}

TEST_CASE("orders trial: a validation scores likelihoods; rules and tasks that it cannot use") {
  const OnCpu cpu;
  TrialOptions how = order_options(6);
  how.headline_only = true;
  CHECK(find_trial("orders").run(Impatient(1), order_tasks(), how).headline().name == "log_likelihood");
  CHECK(error_of([] { found_of(Impatient(1), 1); }).find("orders = 1 found, expected 2 or more") != std::string::npos);
  how = order_options(6);
  how.rules["width"] = 2.0;
  CHECK(error_of([&] { find_trial("orders").run(Impatient(1), order_tasks(), how); }).find("width") !=
        std::string::npos);
}
