#include "npzoo/models/blocks/drop_values.h"

#include <doctest/doctest.h>

#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/tnp/tnp_a.h"
#include "npzoo/models/tnp/tnp_nd.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Task task_to_drop_of(std::int64_t batch, std::int64_t points) {
  return {normal<double>({batch, points, 2}, 1), normal<double>({batch, points, 3}, 2),
          normal<double>({batch, 4, 2}, 3), normal<double>({batch, 4, 3}, 4)};
}

Tensor with_dropped(const Task& task, double share, std::int64_t first = 0) {
  Draws draws = Draws(7, Purpose::training, 3).from(first);
  return drop_values(task, share, draws).yc;
}

ModelSpec bandit_of(const char* name, const char* changes = "{}") {
  ModelSpec spec{name, model_config_from_json(changes, name)};
  spec.config.merge(ModelConfig{{"dim_x", std::int64_t{2}}, {"dim_y", std::int64_t{3}}, {"drop_y", 0.5}});
  spec.config["score_context"] = true;
  spec.config.merge(model_config_from_json(model_info(name).small_forms[0], name));
  return spec;
}

/// Encodes a context's own points with a plain encoder, (B, Nc, E).
Tensor encoded_points(const TokenModel& model, const Tensor& xc, const Tensor& yc, const Tensor& lengths) {
  Tensor h = model.embedder(concat({xc, yc}, -1));
  for (const TransformerLayer& layer : model.encoder.layers)
    h = layer(h, layer.keys_values(h), PrefixMask::lengths(lengths));
  return h;
}

/// Inputs of a bandit's loss: the task with the context that the model sees, and the prediction of its targets.
struct SeenTask {
  Task task, dropped;
  std::vector<double> joint;  // of each task's targets
  std::vector<double> points{6, 6, 6};

  SeenTask(const Model& model, bool ragged) : task(task_to_drop_of(3, 6)) {
    if (ragged) {
      points = {6, 2, 0};
      task.lengths = Tensor::from<std::int64_t>({3}, {6, 2, 0});
    }
    Draws draws(7, Purpose::training, 3);
    dropped = drop_values(task, 0.5, draws);
    const auto state = model.condition({dropped.xc, dropped.yc, task.lengths}, draws, 1);
    joint = doubles(model.query(*state, task.xt)->joint_log_likelihood(task.yt));
  }
  double loss(const Model& model) const {
    Draws draws(7, Purpose::training, 3);
    return doubles(model.loss(task, draws))[0];
  }
  /// Σ of `each` (B, Nc, …) over a task's points.
  double over_points(const Tensor& each, std::size_t b) const {
    const std::vector<double> all = doubles(each);
    double sum = 0;
    const std::size_t of_task = all.size() / 3, of_point = of_task / 6;
    for (std::size_t i = 0; i < static_cast<std::size_t>(points[b]) * of_point; ++i) sum += all[b * of_task + i];
    return sum;
  }
};

}  // namespace

TEST_CASE("drop_values: a share of the values makes room for standard normal noise, one by one") {
  const Task task = task_to_drop_of(4, 500);
  Draws draws(7, Purpose::training, 3);
  CHECK(same_bits(drop_values(task, 0, draws).yc, task.yc));
  CHECK(draws.calls() == 0);
  for (const double share : {0.3, 1.0}) {
    const std::vector<double> before = doubles(task.yc), after = doubles(with_dropped(task, share));
    RunningMean gone, noise, squares;
    for (std::size_t i = 0; i < after.size(); ++i) {
      gone.add(after[i] != before[i] ? 1 : 0);
      if (after[i] == before[i]) continue;
      noise.add(after[i]);
      squares.add(after[i] * after[i]);
    }
    const auto count = static_cast<double>(noise.count());
    CHECK(std::abs(gone.estimate().value - share) < 5 * std::sqrt(share * (1 - share) / 6000) + 1e-12);
    CHECK(std::abs(noise.estimate().value) < 5 / std::sqrt(count));
    CHECK(std::abs(squares.estimate().value - 1) < 5 * std::sqrt(2 / count));
  }
}

TEST_CASE("drop_values: dropped values of a task depend neither on the others nor on padding") {
  const Task task = task_to_drop_of(4, 30);
  const Tensor all = with_dropped(task, 0.5);
  const Task later{slice(task.xc, 0, 2, 4), slice(task.yc, 0, 2, 4), slice(task.xt, 0, 2, 4), slice(task.yt, 0, 2, 4)};
  CHECK(same_bits(slice(all, 0, 2, 4), with_dropped(later, 0.5, 2)));
  Task shorter = task;
  shorter.xc = slice(task.xc, 1, 0, 11);
  shorter.yc = slice(task.yc, 1, 0, 11);
  CHECK(same_bits(slice(all, 1, 0, 11), with_dropped(shorter, 0.5)));
}

TEST_CASE("drop_values: TNP-D's loss of all points is that of the targets where the context has no weight") {
  ModelSpec spec{"tnp-d", model_config_from_json(model_info("tnp-d").small_forms[0], "tnp-d")};
  spec.config.merge(ModelConfig{{"dim_x", std::int64_t{2}}, {"dim_y", std::int64_t{3}}});
  const auto plain = varied_model(spec);
  spec.config["score_context"] = true;
  const auto bandit = varied_model(spec);
  Task task = task_to_drop_of(3, 6);
  const auto loss = [&](const Model& model) {
    Draws draws(7, Purpose::training, 3);
    return doubles(model.loss(task, draws))[0];
  };
  CHECK(loss(*bandit) != doctest::Approx(loss(*plain)).epsilon(1e-6));
  task.context_weights = Tensor::zeros({3, 6}, DType::float64);
  task.target_weights = Tensor::full({3, 4}, 1, DType::float64);
  CHECK(loss(*bandit) == doctest::Approx(loss(*plain)).epsilon(1e-12));
}

TEST_CASE("drop_values: TNP-A's bandit counts a point of the context, which is given its value, as much as a target") {
  const auto model = varied_model(bandit_of("tnp-a"));
  const auto& tnp_a = dynamic_cast<const TnpA&>(*model);
  for (const bool ragged : {false, true}) {
    CAPTURE(ragged);
    const SeenTask seen(*model, ragged);
    const Tensor h = encoded_points(tnp_a, seen.dropped.xc, seen.dropped.yc, seen.task.lengths);
    const Moments said = gaussian_head(tnp_a.predictor(h), {});
    const Tensor density = gaussian_log_density(seen.task.yc, said.mean, said.std);  // (B, Nc)
    double expected = 0;
    for (std::size_t b = 0; b < 3; ++b)
      expected -= (seen.over_points(density, b) + seen.joint[b]) / (seen.points[b] + 4) / 3;
    CHECK(seen.loss(*model) == doctest::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("drop_values: TNP-ND's bandit adds the context's squared error to the joint density for each target") {
  for (const char* covariance : {R"({"cov_approx": "cholesky"})", R"({"cov_approx": "lowrank"})"}) {
    const auto model = varied_model(bandit_of("tnp-nd", covariance));
    const auto& tnp_nd = dynamic_cast<const TnpNd&>(*model);
    for (const bool ragged : {false, true}) {
      CAPTURE(ragged);
      const SeenTask seen(*model, ragged);
      const Tensor h = encoded_points(tnp_nd, seen.dropped.xc, seen.dropped.yc, seen.task.lengths);
      const Tensor error = square(sub(tnp_nd.head.mean(h), seen.task.yc));  // (B, Nc, Dy)
      double expected = 0;
      for (std::size_t b = 0; b < 3; ++b) {
        if (seen.points[b] > 0) expected += seen.over_points(error, b) / seen.points[b] / 3;
        expected -= seen.joint[b] / 4 / 3;
      }
      CHECK(seen.loss(*model) == doctest::Approx(expected).epsilon(1e-10));
    }
  }
}

TEST_CASE("drop_values: a share that is none") {
  for (const char* model : {"tnp-d", "tnp-a", "tnp-nd", "lbanp", "cmanp", "eqtnp"}) {
    ModelConfig config = model_config_from_json(model_info(model).small_forms[0], model);
    config.merge(ModelConfig{{"dim_x", std::int64_t{2}}, {"dim_y", std::int64_t{3}}});
    config["drop_y"] = 1.5;
    CHECK(error_of([&] {
            make_model({model, config});
          }) == fmt::format("[{}] drop_y is 1.5, expected a number from 0 to 1", model));
  }
}
