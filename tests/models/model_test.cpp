#include "npzoo/models/model.h"

#include <doctest/doctest.h>

#include <set>

#include "npzoo/engine/gradcheck.h"
#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Calls `f(model)`, or f(model, whether it predicts jointly), for every model of the table, in double, with weights of
/// its own.
template <class F>
void for_all_models(const F& f) {
  for (const ModelCase& c : all_models()) {
    CAPTURE(c.label);
    if constexpr (std::invocable<F, Model&>)
      f(*varied_model(c.spec));
    else
      f(*varied_model(c.spec), predicts_jointly(c.spec.name));
  }
}

/// The same random order of points in every row: (B, n).
Tensor random_order(std::int64_t batch, std::int64_t n) {
  Tensor order = Tensor::empty({batch, n}, DType::int64);
  Random random(17);
  random.fill_permutation(order.values<std::int64_t>().first(static_cast<std::size_t>(n)));
  for (std::int64_t i = n; i < order.numel(); ++i) order.data<std::int64_t>()[i] = order.data<std::int64_t>()[i - n];
  return order;
}

/// Row b of a padded task as it was before the padding.
Task without_padding(const Task& task, std::int64_t b) {
  const std::int64_t n = task.lengths.values<std::int64_t>()[static_cast<std::size_t>(b)];
  return {slice(row(task.xc, b), 1, 0, n), slice(row(task.yc, b), 1, 0, n), row(task.xt, b), row(task.yt, b), {}};
}

}  // namespace

TEST_CASE("model: shapes and dtypes") {
  for_all_models([](Model& model) {
    for (const TaskSize size : {TaskSize{1, 1, 1}, TaskSize{3, 7, 5}}) {
      const Task task = random_task(model, size);
      const auto state = condition(model, context_of(task));
      const auto prediction = model.query(*state, task.xt);
      const Marginals each = prediction->marginals();
      const std::int64_t channels = model.dim_y() - each.labels;
      CHECK(each.mean.shape().without(0) == Shape{size.batch, size.nt, channels});
      CHECK(each.std.shape() == each.mean.shape());
      CHECK(each.mean.dtype() == DType::float64);
      const Moments p = moments(*prediction);
      CHECK(p.mean.shape() == Shape{size.batch, size.nt, channels});
      CHECK(p.std.shape() == p.mean.shape());
      CHECK(prediction->log_likelihood(task.yt).shape() == Shape{size.batch, size.nt});
      CHECK(prediction->joint_log_likelihood(task.yt).shape() == Shape{size.batch});
      Draws draws = some_draws();
      CHECK(prediction->sample(2, draws).shape() == Shape{2, size.batch, size.nt, model.dim_y()});
      CHECK(loss(model, task).shape() == Shape{});
    }
  });
}

TEST_CASE("model: no context, one context point and no target") {
  for_all_models([](Model& model) {
    for (const std::int64_t nc : {0, 1}) {
      const Task task = random_task(model, {2, nc, 4});
      const Moments p = predict(model, task);
      CHECK(all_finite(p.mean));
      CHECK(all_finite(p.std));
      for (const Tensor& gradient : gradients(model, [&] { return loss(model, task); })) CHECK(all_finite(gradient));
    }
    const std::int64_t channels = predict(model, random_task(model, {2, 3, 1})).mean.dim(2);
    CHECK(predict(model, random_task(model, {2, 3, 0})).mean.shape() == Shape{2, 0, channels});
    CHECK(predict(model, random_task(model, {2, 0, 0})).std.shape() == Shape{2, 0, channels});
  });
}

TEST_CASE("model: the order of context points means nothing") {
  for (const ModelCase& c : all_models()) {
    if (!is_of_sets(c.spec.name)) continue;
    CAPTURE(c.label);
    const auto model = varied_model(without_noise_of_points(c.spec));
    Task task = random_task(*model, {});
    const Moments before = predict(*model, task);
    const Tensor order = random_order(task.xc.dim(0), task.xc.dim(1));
    task.xc = gather(task.xc, order);
    task.yc = gather(task.yc, order);
    CHECK(difference(predict(*model, task), before) <= kRounding);
  }
}

TEST_CASE("model: targets are predicted one by one, in any order") {
  for_all_models([](Model& model, bool jointly) {
    if (jointly) return;
    const Task task = random_task(model, {});
    const auto state = condition(model, context_of(task));
    const Moments together = query(model, *state, task.xt);

    const Tensor order = random_order(task.xt.dim(0), task.xt.dim(1));
    CHECK(difference(query(model, *state, gather(task.xt, order)),
                     {gather(together.mean, order), gather(together.std, order)}) <= kRounding);
    for (std::int64_t i = 0; i < task.xt.dim(1); ++i)
      CHECK(difference(query(model, *state, slice(task.xt, 1, i, i + 1)),
                       {slice(together.mean, 1, i, i + 1), slice(together.std, 1, i, i + 1)}) <= kRounding);
  });
}

TEST_CASE("model: a context conditioned once answers in chunks, and can be extended") {
  for_all_models([](Model& model, bool jointly) {
    const Task task = random_task(model, {2, 6, 9});
    const Moments at_once = predict(model, task);

    const auto first = condition(model, {slice(task.xc, 1, 0, 2), slice(task.yc, 1, 0, 2), {}});
    const auto none = model.update(*first, {slice(task.xc, 1, 2, 2), slice(task.yc, 1, 2, 2), {}});
    const auto all = model.update(*none, {slice(task.xc, 1, 2, 6), slice(task.yc, 1, 2, 6), {}});
    if (jointly) return static_cast<void>(CHECK(difference(query(model, *all, task.xt), at_once) <= kRounding));
    const Moments a = query(model, *all, slice(task.xt, 1, 0, 4)), b = query(model, *all, slice(task.xt, 1, 4, 9));
    CHECK(difference({concat({a.mean, b.mean}, 1), concat({a.std, b.std}, 1)}, at_once) <= kRounding);
  });
}

TEST_CASE("model: a batch is its rows") {
  for_all_models([](Model& model) {
    const Task task = random_task(model, {});
    const Moments together = predict(model, task);
    for (std::int64_t b = 0; b < task.xc.dim(0); ++b)
      CHECK(difference(predict(model, task_row(task, b), b), {row(together.mean, b), row(together.std, b)}) <=
            kRounding);
  });
}

TEST_CASE("model: padding is never read") {
  for_all_models([](Model& model) {
    for (const double padding : {0.0, -1e30, kNaN}) {
      CAPTURE(padding);
      const Task task = padded(random_task(model, {4, 6, 3}), {6, 1, 0, 4}, padding);
      const Moments together = predict(model, task);
      for (std::int64_t b = 0; b < 4; ++b)
        CHECK(difference(predict(model, without_padding(task, b), b), {row(together.mean, b), row(together.std, b)}) <=
              kRounding);
    }
  });
}

TEST_CASE("model: contexts of different lengths are extended, each by its own points") {
  for_all_models([](Model& model) {
    const Task whole = random_task(model, {4, 11, 3});
    const auto part = [&](std::int64_t begin, std::int64_t end, std::initializer_list<std::int64_t> lengths) {
      const Task task{slice(whole.xc, 1, begin, end), slice(whole.yc, 1, begin, end), whole.xt, whole.yt, {}};
      return padded(task, lengths, kNaN);
    };
    const Task first = part(0, 6, {6, 0, 2, 0}), more = part(6, 11, {1, 5, 0, 0});
    const auto join = [](const Tensor& a, const Tensor& b) { return concat({a, b}, 1); };
    for (const bool all_begin : {false, true}) {  // all points of the first part are real
      CAPTURE(all_begin);
      const Task begin = all_begin ? part(0, 6, {6, 6, 6, 6}) : first;
      const auto state = condition(model, all_begin ? Context{begin.xc, begin.yc, {}} : context_of(begin));
      const Moments together = query(model, *model.update(*state, context_of(more)), whole.xt);
      for (std::int64_t b = 0; b < 4; ++b) {
        const Task old = without_padding(begin, b), added = without_padding(more, b);
        const Task alone{join(old.xc, added.xc), join(old.yc, added.yc), old.xt, old.yt, {}};
        CHECK(difference(predict(model, alone, b), {row(together.mean, b), row(together.std, b)}) <= kRounding);
      }
    }
  });
}

TEST_CASE("model: padding takes and gives no gradient") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task ragged = random_task(*model, {4, 6, 3});
    const auto gradient_with = [&](double padding) {
      const Task task = padded(ragged, {6, 1, 0, 4}, padding);
      // Predictions that draw targets one after the other pass gradients through their density alone.
      const bool jointly = predicts_jointly(c.spec.name);
      return gradients(*model, [&] { return jointly ? loss(*model, task) : target_nll(*model, task); });
    };
    const auto expected = gradient_with(0);
    CHECK(gradient_difference(gradient_with(3), expected) <= kRounding);
    CHECK(gradient_difference(gradient_with(kNaN), expected) <= kRounding);
  }
}

TEST_CASE("model: gradient of the loss with respect to every parameter") {
  const auto check_loss = [](const ModelCase& c, const GradcheckOptions& options, std::int64_t contexts = 3) {
    const auto model = varied_model(c.spec);
    const auto parameters = named_parameters(*model);
    std::vector<Tensor> values;
    for (const auto& [name, parameter] : parameters) values.push_back(parameter->value);
    const Task task = random_task(*model, {2, contexts, 2});
    const auto loss_with = [&](const std::vector<Tensor>& inputs) {
      for (std::size_t i = 0; i < inputs.size(); ++i) parameters[i].parameter->value = inputs[i];
      return loss(*model, task);
    };
    return gradcheck(loss_with, values, options);
  };
  // A step so small that a ReLU hardly ever crosses its kink; rounding is then 1e-16 / 3e-8 in a loss of about 1. Where one
  // does, it does so in all directions, and another task decides.
  const GradcheckOptions short_step{.step = 3e-8, .max_entries = 0};
  for (const ModelCase& c : all_models()) {
    if (!is_whole_gradient(c)) continue;
    GradcheckResult direction = check_loss(c, short_step);
    if (direction.max_error > 1e-7) direction = check_loss(c, short_step, 4);
    CAPTURE(c.label);
    CAPTURE(direction.worst);
    CHECK(direction.checked == 1);
    CHECK(direction.max_error <= 1e-7);
  }
  for (const ModelCase& c : small_models()) {
    if (!is_whole_gradient(c)) continue;
    const GradcheckResult entries = check_loss(c, {.max_entries = 4});
    CAPTURE(c.label);
    CAPTURE(entries.worst);
    CHECK(entries.max_error <= 1e-6);
  }
}

TEST_CASE("model: weights survive a checkpoint file bit for bit") {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory / "checkpoint.safetensors";
  for (const ModelCase& c : all_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec, DType::float32);
    Checkpoint saved;
    saved.run = {load_protocol("quick/gp1d"), c.spec, 3};
    for (const auto& [name, parameter] : named_tensors(*model)) {
      saved.weights[name] = parameter->value;
      if (!parameter->trained) continue;
      saved.first_moments[name] = saved.second_moments[name] = Tensor::zeros_like(parameter->value);
    }
    save_checkpoint(path, saved);
    const auto restored = restore_model(load_checkpoint(path));
    const Task task = random_task(*model, {2, 5, 4}, DType::float32);
    const Moments before = predict(*model, task), after = predict(*restored, task);
    CHECK(same_bits(before.mean, after.mean));
    CHECK(same_bits(before.std, after.std));
  }
}

TEST_CASE(
    "model: without drawn weights it has the same parameters, and is another one's equal once they are assigned") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = make_model(c.spec), empty = make_model(c.spec, {.drawn = false});
    const auto from = named_tensors(*model), to = named_tensors(*empty);
    REQUIRE(from.size() == to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      CHECK(to[i].name == from[i].name);
      CHECK(to[i].parameter->trained == from[i].parameter->trained);
      REQUIRE(to[i].parameter->value.shape() == from[i].parameter->value.shape());
      CHECK(to[i].parameter->value.dtype() == from[i].parameter->value.dtype());
      CHECK(to[i].parameter->value.device() == from[i].parameter->value.device());
      to[i].parameter->value = from[i].parameter->value.clone();
    }
    const Task task = random_task(*model, {2, 5, 3}, DType::float32);
    CHECK(same_bits(predict(*empty, task).mean, predict(*model, task).mean));
  }
}

TEST_CASE("model: thirty steps lower the loss") {
  for (const ModelCase& c : all_models()) {
    CAPTURE(c.label);
    const auto model = make_model(c.spec);
    const Task task = random_task(*model, {4, 7, 5}, DType::float32);
    Optimiser adam({.kind = OptimiserKind::adam, .lr = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
                   named_parameters(*model));
    const double before = loss(*model, task).item();
    Tape tape;
    for (int step = 0; step < 30; ++step) {
      Recording on(tape);
      for (const auto& [name, parameter] : adam.parameters()) tape.watch(parameter->value);
      adam.step(tape.backward(loss(*model, task)), 1e-3);
    }
    CHECK(loss(*model, task).item() < before);
  }
}

TEST_CASE("model: the standard deviation reaches its floor and no less") {
  for (const ModelCase& c : all_models()) {
    if (predicts_joint_gaussians(c.spec.name)) continue;  // their factors have other floors
    CAPTURE(c.label);
    const auto varied = varied_model(c.spec);
    Model& model = *varied;
    if (!model.std_floor()) continue;                             // it names none
    Parameter& bias = *named_parameters(model).back().parameter;  // of the last layer: means, then deviations
    bias.value = bias.value.clone();
    const auto each = bias.value.values<double>();
    const bool of_both = std::ssize(each) > model.dim_y();  // some have a layer for deviations alone
    std::ranges::fill(each.subspan(of_both ? each.size() / 2 : 0), -1e4);
    const Task task = random_task(model, {});
    const auto state = condition(model, context_of(task));
    const Tensor std = model.query(*state, task.xt)->marginals().std;
    const auto values = std.values<double>();
    CHECK(*std::ranges::min_element(values) == model.std_floor());
    CHECK(*std::ranges::max_element(values) == model.std_floor());
  }
}

TEST_CASE("model: every model has a preset, and so has each published row of a model that is here") {
  std::set<std::string> with_preset;
  for (const std::string& protocol_name : protocol_names()) {
    CAPTURE(protocol_name);
    const Protocol protocol = load_protocol(protocol_name);
    for (const auto& [model, config] : protocol.models) with_preset.insert(model);
    for (const TestConfig& test : protocol.evaluation.tests) {
      std::vector<std::map<std::string, Published>> tables{test.published};
      for (const auto& [figure, rows] : test.published_figures) tables.push_back(rows);
      for (const auto& rows : tables)
        for (const auto& row : rows) {
          const std::string& model = row.first;
          CAPTURE(model);
          CHECK(std::ranges::count(model_names(), model) == static_cast<int>(protocol.models.contains(model)));
        }
    }
  }
  for (const ModelInfo& info : built_in_models()) {
    CAPTURE(std::string(info.name));
    CHECK(with_preset.contains(info.name));
  }
}

TEST_CASE("model: targets that are predicted jointly are predicted at once") {
  CHECK(targets_at_a_time(Density::marginal, 7) == 7);
  CHECK(targets_at_a_time(Density::mixture, 7) == 7);
  CHECK(targets_at_a_time(Density::joint, 7) == std::numeric_limits<std::int64_t>::max());
}
