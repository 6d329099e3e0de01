#include "npzoo/models/conditional/bootstrap.h"

#include <doctest/doctest.h>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/models/predictions/independent.h"
#include "npzoo/models/predictions/sampled_functions.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/bootstrap_recipe.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kSamplesOfTraining = 2;  // in the small forms

/// BNP and BANP of both lineages, for each of the dimensions.
std::vector<ModelCase> bootstraps() {
  std::vector<ModelCase> found = small_models();
  std::erase_if(found, [](const ModelCase& c) { return !model_info(c.spec.name).traits.resamples; });
  return found;
}

bool is_tnp(const ModelCase& c) { return c.spec.config.at("architecture") == ModelConfig::mapped_type("tnp"); }

/// Returns the number of samples of a prediction that asks for `wanted`: dl4bi always draws as many as in training.
std::int64_t samples_of(const ModelCase& c, std::int64_t wanted) { return is_tnp(c) ? wanted : kSamplesOfTraining; }

BootstrappingProcess& bootstrap(Model& model) { return dynamic_cast<BootstrappingProcess&>(model); }

/// Contexts of 6, 1, 0 and 4 points, with NaN behind; all of 6 without `ragged`.
Task some_task(const Model& model, bool ragged) {
  Task task = random_task(model, {4, 6, 3});
  if (!ragged) return task;
  task.lengths = Tensor::from<std::int64_t>({4}, {6, 1, 0, 4});
  for (Tensor* points : {&task.xc, &task.yc})
    for (std::int64_t b = 0; b < 4; ++b)
      for (std::int64_t i = task.lengths.values<std::int64_t>()[b]; i < 6; ++i)
        std::fill_n(points->data<double>() + (b * 6 + i) * points->dim(2), points->dim(2), kNaN);
  return task;
}

Marginals functions_of(const Model& model, const Context& context, const Tensor& xt) {
  return model.query(*condition(model, context), xt)->marginals();
}

/// Function k of row b, (1, Nt, Dy).
Moments function_of(const Marginals& m, std::int64_t k, std::int64_t b) {
  const auto one = [&](const Tensor& x) {
    return reshape(slice(slice(x, 0, k, k + 1), 1, b, b + 1), {1, x.dim(2), x.dim(3)});
  };
  return {one(m.mean), one(m.std)};
}

double log_density(const Moments& p, const Tensor& y, std::int64_t i) {
  const double std = p.std.values<double>()[i];
  return log_normal_density(y.values<double>()[i], p.mean.values<double>()[i], std * std);
}

/// log (1/K) Σ exp of what f(function) gives.
double log_mean(const std::vector<Moments>& functions, const auto& f) {
  LogSum sum;
  for (const Moments& p : functions) sum.add(f(p));
  return sum.value() - std::log(static_cast<double>(functions.size()));
}

/// The loss by the recipe, of a batch whose contexts are full.
double loss_by_recipe(const BootstrappingProcess& model, const Task& task, bool tnp) {
  const Recipe recipe(model, tnp);
  const Tensor x = tnp ? concat({task.xc, task.xt}, 1) : task.xt, y = tnp ? concat({task.yc, task.yt}, 1) : task.yt;
  const std::int64_t width = y.dim(2);
  double base = 0, mixture = 0;
  for (std::int64_t b = 0; b < x.dim(0); ++b) {
    const RowFunctions found = by_recipe(recipe, task, b, kSamplesOfTraining, x);
    const Tensor yb = row(y, b);
    for (std::int64_t i = 0; i < yb.numel(); ++i) base += log_density(found.base, yb, i);
    if (tnp) {  // channels of a point are of one function
      for (std::int64_t point = 0; point < yb.dim(1); ++point)
        mixture += log_mean(found.functions, [&](const Moments& p) {
          double together = 0;
          for (std::int64_t c = 0; c < width; ++c) together += log_density(p, yb, point * width + c);
          return together;
        });
    } else {
      for (std::int64_t i = 0; i < yb.numel(); ++i)
        mixture += log_mean(found.functions, [&](const Moments& p) { return log_density(p, yb, i); });
    }
  }
  const auto points = static_cast<double>(x.dim(0) * x.dim(1));
  return tnp ? -(base + mixture) / points : -(base + mixture) / (2 * points * static_cast<double>(width));
}

void set_to_zero(Linear& layer) {
  for (Parameter* p : {&layer.weight, &layer.bias})
    if (p->value.defined()) p->value = Tensor::zeros_like(p->value);
}

/// log-likelihood of the base, the mean over all points.
double mean_base_ll(const BootstrappingProcess& model, const Task& task, const Tensor& x, const Tensor& y) {
  const auto state = condition(model, context_of(task));
  return -nll(Independent(model.base(*state, x)), y).item();
}

}  // namespace

TEST_CASE("bootstrap: each function is that of the recipe, drawn sample by sample") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Recipe recipe(bootstrap(*model), is_tnp(c));
    for (const bool ragged : {false, true}) {
      const Task task = some_task(*model, ragged);
      const auto state = condition(*model, context_of(task));
      const Marginals found = model->query(*state, task.xt)->marginals();
      REQUIRE(found.mean.dim(0) == samples_of(c, kFewSamples));
      const Moments base = bootstrap(*model).base(*state, task.xt);
      for (std::int64_t b = 0; b < 4; ++b) {
        const RowFunctions expected = by_recipe(recipe, task, b, samples_of(c, kFewSamples), task.xt);
        CHECK(difference({row(base.mean, b), row(base.std, b)}, expected.base) <= kRounding);
        for (std::int64_t k = 0; k < samples_of(c, kFewSamples); ++k)
          CHECK(difference(function_of(found, k, b), expected.functions[static_cast<std::size_t>(k)]) <= kRounding);
      }
    }
  }
}

TEST_CASE("bootstrap: functions differ, and their number changes none of them") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = some_task(*model, false);
    const Marginals few = functions_of(*model, context_of(task), task.xt);
    CHECK(difference(function_of(few, 0, 0), function_of(few, 1, 0)) > 1e-6);
    Draws draws = some_draws();
    const auto state = model->condition(context_of(task), draws, 7);
    const Marginals more = model->query(*state, task.xt)->marginals();
    for (std::int64_t k = 0; k < samples_of(c, kFewSamples); ++k)
      for (std::int64_t b = 0; b < 4; ++b)
        CHECK(difference(function_of(more, k, b), function_of(few, k, b)) <= kRounding);
  }
}

TEST_CASE("bootstrap: losses are those of the authors") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = some_task(*model, false);
    CHECK(loss(*model, task).item() ==
          doctest::Approx(loss_by_recipe(bootstrap(*model), task, is_tnp(c))).epsilon(kRounding));
  }
}

TEST_CASE("bootstrap: in the code of TNP new values are constants of the gradient") {
  for (const ModelCase& c : bootstraps()) {
    if (!is_tnp(c)) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Recipe recipe(bootstrap(*model), true);
    const Task task = random_task(*model, {1, 5, 3});
    const Tensor x = concat({task.xc, task.xt}, 1), y = concat({task.yc, task.yt}, 1);
    const auto expected = gradients(*model, [&] {
      const RowFunctions found = by_recipe(recipe, task, 0, kSamplesOfTraining, x);
      const auto all = [&](Tensor Moments::*part) {
        std::vector<Tensor> each;
        for (const Moments& p : found.functions) each.push_back(reshape(p.*part, {1, 1, x.dim(1), y.dim(2)}));
        return concat(each, 0);
      };
      return add(nll(Independent(found.base), y), nll(SampledFunctions({all(&Moments::mean), all(&Moments::std)}), y));
    });
    CHECK(gradient_difference(gradients(*model, [&] { return loss(*model, task); }), expected) <= kRounding);
  }
}

TEST_CASE("identity 11: without the shift the functions are the base, and losses are its own") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    set_to_zero(bootstrap(*model).context);
    const Task task = some_task(*model, false);
    const auto state = condition(*model, context_of(task));
    const Marginals found = model->query(*state, task.xt)->marginals();
    const Moments base = bootstrap(*model).base(*state, task.xt);
    for (std::int64_t k = 0; k < samples_of(c, kFewSamples); ++k)
      for (std::int64_t b = 0; b < 4; ++b)
        CHECK(difference(function_of(found, k, b), {row(base.mean, b), row(base.std, b)}) <= kRounding);
    const Tensor x = concat({task.xc, task.xt}, 1), y = concat({task.yc, task.yt}, 1);
    const double expected =
        is_tnp(c) ? -2 * mean_base_ll(bootstrap(*model), task, x, y)
                  : -mean_base_ll(bootstrap(*model), task, task.xt, task.yt) / static_cast<double>(task.yt.dim(2));
    CHECK(loss(*model, task).item() == doctest::Approx(expected).epsilon(kRounding));
  }
}

TEST_CASE("identity 11: one context point gets the predicted mean, whatever is drawn") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Recipe recipe(bootstrap(*model), is_tnp(c));
    const Task task = random_task(*model, {1, 1, 4});
    const auto state = condition(*model, context_of(task));
    const Tensor mean = bootstrap(*model).base(*state, task.xc).mean;
    const Moments expected = recipe.function(task.xc, task.yc, mean, task.xt);
    const Marginals found = model->query(*state, task.xt)->marginals();
    for (std::int64_t k = 0; k < samples_of(c, kFewSamples); ++k)
      CHECK(difference(function_of(found, k, 0), expected) <= kRounding);
  }
}

TEST_CASE("identity 4: points in another order, with the same draws") {
  constexpr std::int64_t kBatch = 2, kPoints = 5;
  const std::vector<std::int64_t> order{3, 0, 4, 1, 2};  // new point i is old point order[i]
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    place[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto reordered = [&](const Tensor& drawn) {
    Tensor moved = drawn.clone();
    for (std::int64_t i = 0; i < drawn.numel(); ++i) {
      const std::int64_t first = i / kPoints * kPoints;
      const std::int64_t old = drawn.data<std::int64_t>()[first + order[static_cast<std::size_t>(i - first)]];
      moved.data<std::int64_t>()[i] = place[static_cast<std::size_t>(old)];
    }
    return moved;
  };
  Draws draws = some_draws();
  const Tensor below = Tensor::full({kBatch}, kPoints, DType::int64);
  std::vector<Tensor> drawn, moved;
  for (int call = 0; call < 2; ++call) {
    drawn.push_back(draws.integers(kSamplesOfTraining, below, kPoints));
    moved.push_back(reordered(drawn.back()));
  }
  Tensor index = Tensor::empty({kBatch, kPoints}, DType::int64);
  for (std::int64_t i = 0; i < index.numel(); ++i)
    index.data<std::int64_t>()[i] = order[static_cast<std::size_t>(i % kPoints)];
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {kBatch, kPoints, 3});
    const auto functions = [&](const std::vector<Tensor>& numbers, const Context& context) {
      Draws recorded = Draws::recorded(numbers);
      const Marginals m = model->query(*model->condition(context, recorded, kSamplesOfTraining), task.xt)->marginals();
      return Moments{m.mean, m.std};
    };
    const Moments before = functions(drawn, context_of(task));
    const Context other{gather(task.xc, index), gather(task.yc, index)};
    CHECK(difference(functions(moved, other), before) <= kRounding);
    CHECK(difference(functions(drawn, other), before) > 1e-6);
  }
}

TEST_CASE("bootstrap: an empty context has its base prediction alone") {
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 0, 4});
    const auto state = condition(*model, context_of(task));
    const Marginals found = model->query(*state, task.xt)->marginals();
    const Moments base = bootstrap(*model).base(*state, task.xt);
    for (std::int64_t k = 0; k < samples_of(c, kFewSamples); ++k)
      for (std::int64_t b = 0; b < 2; ++b)
        CHECK(difference(function_of(found, k, b), {row(base.mean, b), row(base.std, b)}) <= kRounding);
  }
}

TEST_CASE("bootstrap: samples in chunks equal all samples at once") {
  const OnCpu cpu;
  for (const ModelCase& c : bootstraps()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {12, 100, 3});  // three samples at a time
    task.lengths = Tensor::from<std::int64_t>({12}, {100, 1, 0, 40, 100, 99, 2, 3, 50, 100, 7, 8});
    const auto functions = [&] {
      Draws draws = some_draws();
      const Marginals m = model->query(*model->condition(context_of(task), draws, 8), task.xt)->marginals();
      return Moments{m.mean, m.std};
    };
    Tape tape;
    Moments whole;
    {
      const Recording on(tape);  // takes them at once
      whole = functions();
    }
    const NoGrad off;
    CHECK(difference(functions(), whole) <= kRounding);
  }
}

TEST_CASE("bootstrap: errors of use and of configuration") {
  for (const std::string name : {"bnp", "banp"}) {
    const auto model = varied_model(small_model(name)), other = varied_model(small_model("cnp"));
    const Task task = random_task(*model, {2, 3, 2});
    const auto state = condition(*other, context_of(task));
    CHECK(error_of([&] { query(*model, *state, task.xt); }) ==
          "[bootstrap] the state comes from another kind of model");
    ModelSpec spec = small_model(name);
    spec.config["train_samples"] = std::int64_t{0};
    CHECK(error_of([&] { make_model(spec); }) ==
          fmt::format("[{}] train_samples is 0, expected an integer from 1 to 65536", name));
    spec.config.erase("train_samples");
    make_model(spec);
    spec.config["architecture"] = std::string("anp");
    CHECK(error_of([&] { make_model(spec); }) ==
          fmt::format("[{}] architecture 'anp' found, expected tnp or dl4bi", name));
  }
}
