#include "npzoo/models/taylor/taylorformer.h"

#include <doctest/doctest.h>

#include <set>

#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/training/batch_gradients.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/local_taylor/local_taylor.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Both models of Taylorformer's authors in all their small forms; with two inputs also with noise of neighbours.
std::vector<ModelCase> both_models() {
  std::vector<ModelCase> cases;
  for (const ModelCase& c : small_models()) {
    if (!c.spec.name.starts_with("taylorformer")) continue;
    cases.push_back(c);
    if (c.spec.name != "taylorformer" || c.spec.config.at("dim_x") != ModelConfig::mapped_type(std::int64_t{2}))
      continue;
    ModelCase noisy = c;
    noisy.label += ", with noise";
    noisy.spec.config["neighbour_noise"] = 0.01;
    cases.push_back(noisy);
  }
  return cases;
}

/// Taylorformer alone.
std::vector<ModelCase> taylorformers() {
  std::vector<ModelCase> cases = both_models();
  std::erase_if(cases, [](const ModelCase& c) { return c.spec.name != "taylorformer"; });
  return cases;
}

const Autoregressive& in_sequence_of(const Prediction& prediction) {
  return dynamic_cast<const Autoregressive&>(prediction);
}

/// Returns the moments of each target given the targets before it, (B, Nt, Dy).
Moments given_before(const Model& model, const Task& task, const Tensor& y) {
  const auto state = condition(model, context_of(task));
  const auto prediction = model.query(*state, task.xt);
  const Marginals m = in_sequence_of(*prediction).given_those_before(y);
  return {m.mean.view(y.shape()), m.std.view(y.shape())};
}

Tensor changed_at(const Tensor& y, std::int64_t point, double by) {
  Tensor other = y.to(Device::cpu).clone();
  const std::int64_t n = y.dim(1), width = y.dim(2);
  for (std::int64_t i = 0; i < other.numel(); ++i)
    if (i / width % n == point) other.data<double>()[i] += by;
  return other.to(default_device());
}

Moments targets_between(const Moments& m, std::int64_t begin, std::int64_t end) {
  return {slice(m.mean, 1, begin, end), slice(m.std, 1, begin, end)};
}

bool same_moments(const Moments& a, const Moments& b) { return same_bits(a.mean, b.mean) && same_bits(a.std, b.std); }

/// Places from `from` on, an equal step apart.
Tensor grid(std::int64_t batch, std::int64_t from, std::int64_t count) {
  Tensor x = Tensor::empty({batch, count, 1}, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data<double>()[i] = 0.25 * static_cast<double>(from + i % count) - 1;
  return x.to(default_device());
}

/// The ablations have none.
bool sees_neighbours(const ModelCase& c) { return !c.spec.config.contains("local_taylor"); }

Tensor mean_of_slopes(Model& model) {
  for (const auto& [name, parameter] : named_tensors(model))
    if (name == "features.mean") return parameter->value;
  return {};
}

Tensor variance_of_slopes(Model& model) {
  for (const auto& [name, parameter] : named_tensors(model))
    if (name == "features.variance") return parameter->value;
  return {};
}

}  // namespace

TEST_CASE("identity 15: without its head Taylorformer's mean is the nearest value before, on a grid the last one") {
  for (const ModelCase& c : taylorformers()) {
    if (c.spec.config.contains("p")) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    auto& taylorformer = dynamic_cast<Taylorformer&>(*model);
    for (Parameter* parameter : {&taylorformer.mean.weight, &taylorformer.mean.bias})
      parameter->value = Tensor::zeros_like(parameter->value);
    Task task = random_task(*model, {3, 6, 5});
    const bool one_input = model->dim_x() == 1;
    if (one_input) {
      task.xc = grid(3, 0, 6);
      task.xt = grid(3, 6, 5);
    }
    const Tensor x = concat({task.xc, task.xt}, 1), y = concat({task.yc, task.yt}, 1);
    const Tensor found = given_before(*model, task, task.yt).mean;
    if (!sees_neighbours(c)) {
      CHECK(same_bits(found, Tensor::zeros_like(found)));
      continue;
    }
    CHECK(same_bits(found, slice(slice(local_taylor(x, y, 6, {}, 6).y_near, 2, 0, model->dim_y()), 1, 0, 5)));
    if (one_input) CHECK(same_bits(found, slice(y, 1, 5, 10)));
  }
}

TEST_CASE("identity 15: of one target the teacher-forced prediction is the free-running one") {
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    for (const std::int64_t nc : {0, 1, 4}) {
      const Task task = random_task(*model, {2, nc, 1});
      CHECK(difference(predict(*model, task), given_before(*model, task, task.yt)) <= kRounding);
    }
  }
}

TEST_CASE("taylorformer: the value of a target changes nothing of itself and those before it, and something behind") {
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    for (const std::int64_t nc : {0, 4}) {
      CAPTURE(nc);
      const Task task = random_task(*model, {2, nc, 6});
      const Moments before = given_before(*model, task, task.yt);
      for (std::int64_t j = 0; j < 6; ++j) {
        CAPTURE(j);
        const Moments after = given_before(*model, task, changed_at(task.yt, j, 0.7));
        CHECK(same_moments(targets_between(before, 0, j + 1), targets_between(after, 0, j + 1)));
        if (j < 5) CHECK(difference(targets_between(before, j + 1, 6), targets_between(after, j + 1, 6)) > 1e-6);
      }
    }
  }
}

TEST_CASE("taylorformer: its ablations lack the weights of what is left out") {
  const auto names_of = [](const ModelCase& c) {
    const auto model = make_model(c.spec);
    std::set<std::string> names;
    for (const auto& [name, parameter] : named_tensors(*model)) names.insert(name.substr(0, name.find('.')));
    return names;
  };
  for (const ModelCase& c : taylorformers()) {
    CAPTURE(c.label);
    CHECK(names_of(c).contains("features") == sees_neighbours(c));
    CHECK(names_of(c).contains("x_stream") == !c.spec.config.contains("mha_x"));
    CHECK(names_of(c).contains("xy_stream"));
  }
  ModelSpec spec = small_model("taylorformer");
  spec.config["local_taylor"] = false;
  spec.config["p"] = std::int64_t{1};
  CHECK(error_of([&] { make_model(spec); }).ends_with("p 1 found, expected 0 without local_taylor"));
}

TEST_CASE("taylorformer: a target at the place of another point does not reveal its own value") {
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {2, 4, 5});
    // Targets 1 and 2 at places of the context, targets 3 and 4 at those of target 0 and of each other.
    task.xt = concat({slice(task.xt, 1, 0, 1), slice(task.xc, 1, 3, 4), slice(task.xc, 1, 0, 1),
                      slice(task.xt, 1, 0, 1), slice(task.xt, 1, 0, 1)},
                     1);
    const Moments before = given_before(*model, task, task.yt);
    CHECK(all_finite(before.mean));
    for (std::int64_t j = 0; j < 5; ++j) {
      CAPTURE(j);
      const Moments after = given_before(*model, task, changed_at(task.yt, j, 0.7));
      CHECK(same_moments(targets_between(before, 0, j + 1), targets_between(after, 0, j + 1)));
    }
  }
}

TEST_CASE("identity 16: the last layer of MHA-X with uniform weights smooths the values that are seen") {
  const auto model = varied_model(small_model("taylorformer"));
  MultiheadAttention& last = dynamic_cast<Taylorformer&>(*model).x_stream->layers.back().attention;
  for (Parameter* parameter : {&last.query.weight, &last.query.bias})
    parameter->value = Tensor::zeros_like(parameter->value);
  const Tensor h = normal<double>({3, 7, last.query.weight.value.dim(1)}, 1), y = normal<double>({3, 7, 1}, 2);
  const KeysValues keys = last.project(h, y);
  for (const std::int64_t seen : {1, 4, 7}) {
    const Tensor smooth = last.out(last.value(mean(slice(y, 1, 0, seen), 1).view({3, 1, 1})));
    const Tensor found = last(h, keys, PrefixMask::first(seen));
    CHECK(difference(found, broadcast_to(smooth, found.shape())) <= kRounding);
  }
  const Tensor none = last(h, keys, PrefixMask::first(0));
  CHECK(difference(none, broadcast_to(last.out.bias.value, none.shape())) <= kRounding);
}

TEST_CASE("taylorformer: one pass equals going target by target") {
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    for (const std::int64_t nc : {0, 6}) {
      CAPTURE(nc);
      Task task = random_task(*model, {3, nc, 6});
      if (nc > 0) task.lengths = Tensor::from<std::int64_t>({3}, {6, 0, 4});
      const auto state = condition(*model, context_of(task));
      const auto prediction = model->query(*state, task.xt);
      const Autoregressive& sequence = in_sequence_of(*prediction);
      CHECK(difference(prediction->joint_log_likelihood(task.yt),
                       sequence.Autoregressive::joint_log_likelihood(task.yt)) <= kRounding);
      const Marginals each = sequence.given_those_before(task.yt),
                      walked = sequence.Autoregressive::given_those_before(task.yt);
      CHECK(difference(each.mean, walked.mean) <= kRounding);
      CHECK(difference(each.std, walked.std) <= kRounding);
      CHECK(prediction->forms().joint == "teacher-forced");
    }
  }
}

TEST_CASE("taylorformer: paths by extended caches are those by encoding all of it again for every target") {
  const NoGrad off;
  constexpr std::int64_t kPaths = 3, kTargets = 5;
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {2, 4, kTargets});
    task.lengths = Tensor::from<std::int64_t>({2}, {4, 2});
    const auto state = condition(*model, context_of(task));
    Draws draws = some_draws(), same = some_draws();
    const Tensor samples = model->query(*state, task.xt)->sample(kPaths, draws);
    const Marginals paths = model->query(*state, task.xt)->marginals();
    for (std::int64_t t = 0; t < kTargets; ++t) {
      const Tensor noise = same.normal(kPaths, 2, {model->dim_y()}, DType::float64, Device::cpu);  // (K, B, Dy)
      for (std::int64_t k = 0; k < kPaths; ++k) {
        const auto of_path = [k](const Tensor& x) { return slice(x, 0, k, k + 1).view(x.shape().without(0)); };
        Task begun = task;
        begun.xt = slice(task.xt, 1, 0, t + 1);
        const Tensor values = slice(of_path(samples).to(default_device()), 1, 0, t + 1);
        const Moments again = targets_between(given_before(*model, begun, values), t, t + 1);
        const Tensor drawn = of_path(noise).view({2, 1, model->dim_y()}).to(default_device());
        CHECK(difference(slice(values, 1, t, t + 1), add(again.mean, mul(again.std, drawn))) <= kRounding);
        if (t > 0) continue;  // those of the marginals go their own ways from here on
        CHECK(difference({slice(of_path(paths.mean), 1, 0, 1), slice(of_path(paths.std), 1, 0, 1)}, again) <=
              kRounding);
      }
    }
  }
}

TEST_CASE("taylorformer: more paths begin with the same ones, and several at once equal each alone") {
  const NoGrad off;
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 3, 6});
    const auto state = condition(*model, context_of(task));
    const auto prediction = model->query(*state, task.xt);
    Draws a = some_draws(), b = some_draws(), alone = some_draws();
    const Tensor five = prediction->sample(5, a);
    CHECK(difference(slice(five, 0, 0, 3), prediction->sample(3, b)) <= kRounding);
    const auto first = condition(*model, context_of(task_row(task, 0)));
    CHECK(difference(slice(slice(five, 0, 0, 1), 1, 0, 1), model->query(*first, row(task.xt, 0))->sample(1, alone)) <=
          kRounding);
  }
}

TEST_CASE("taylorformer: a context that is extended is the whole one, noise of neighbours included") {
  for (const ModelCase& c : both_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 6, 4});
    const Context begun{slice(task.xc, 1, 0, 4), slice(task.yc, 1, 0, 4)},
        more{slice(task.xc, 1, 4, 6), slice(task.yc, 1, 4, 6)};
    const auto extended = model->update(*condition(*model, begun), more), whole = condition(*model, context_of(task));
    CHECK(difference(query(*model, *extended, task.xt), query(*model, *whole, task.xt)) <= kRounding);
  }
}

TEST_CASE("taylorformer: slopes are normalised over a batch, in parts and with any number of threads") {
  const OnCpu cpu;
  for (const ModelCase& c : taylorformers()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {8, 5, 4});
    const auto expected = gradients(*model, [&] { return loss(*model, task); });
    const double whole = loss(*model, task).item();
    double rows = 0;  // each by its own statistics
    for (std::int64_t b = 0; b < 8; ++b) {
      Draws draws = some_draws().from(b);
      rows += model->loss(task_row(task, b), draws).item() / 8;
    }
    CHECK((std::abs(rows - whole) > 1e-6) == sees_neighbours(c));
    for (const int threads : {1, 2}) {
      CAPTURE(threads);
      const ThreadCount count(threads);
      BatchGradients batch(named_parameters(*model));
      CHECK(batch.compute(*model, task, some_draws()) == doctest::Approx(whole).epsilon(1e-12));
      CHECK(batch.parts().size() == 4);
      std::vector<Tensor> found;
      for (const auto& [name, parameter] : named_parameters(*model)) {
        Tensor sum = Tensor::zeros_like(parameter->value);
        for (const Grads* part : batch.parts()) sum = add(sum, part->of(parameter->value));
        found.push_back(sum);
      }
      CHECK(gradient_difference(found, expected) <= 1e-11);
    }
  }
}

TEST_CASE("taylorformer: running statistics are those of real points, and move when a step is made") {
  const OnCpu cpu;
  ModelSpec spec = small_model("taylorformer");
  const auto model = varied_model(spec);
  Task task = random_task(*model, {3, 5, 4});
  task.lengths = Tensor::from<std::int64_t>({3}, {5, 0, 3});
  task.target_lengths = Tensor::from<std::int64_t>({3}, {4, 2, 1});
  const Tensor slopes =
      local_taylor(concat({task.xc, task.xt}, 1), concat({task.yc, task.yt}, 1), 5, task.lengths).derivative;
  std::vector<double> real;
  for (std::int64_t b = 0; b < 3; ++b)
    for (std::int64_t i = 0; i < 9; ++i) {
      const std::int64_t place = i < 5 ? i : i - 5;
      if (place < (i < 5 ? task.lengths : task.target_lengths).data<std::int64_t>()[b])
        real.push_back(slopes.data<double>()[b * 9 + i]);
    }
  REQUIRE(real.size() == 15);
  double average = 0, variance = 0;
  for (const double slope : real) average += slope / 15;
  for (const double slope : real) variance += (slope - average) * (slope - average) / 15;

  const Tensor mean_before = mean_of_slopes(*model).clone(), variance_before = variance_of_slopes(*model).clone();
  const Tensor statistics = model->prepared(task, some_draws()).batch_statistics;
  CHECK(error(statistics, {average, variance}) <= 1e-14);
  loss(*model, task);
  predict(*model, task);
  CHECK(same_bits(mean_of_slopes(*model), mean_before));
  CHECK(same_bits(variance_of_slopes(*model), variance_before));
  model->before_step(task, some_draws());
  CHECK(mean_of_slopes(*model).item() == doctest::Approx(0.99 * mean_before.item() + 0.01 * average).epsilon(1e-14));
  CHECK(variance_of_slopes(*model).item() ==
        doctest::Approx(0.99 * variance_before.item() + 0.01 * variance).epsilon(1e-14));
}

TEST_CASE("taylorformer: padding behind the context and the targets changes no loss") {
  const OnCpu cpu;
  for (const ModelCase& c : taylorformers()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task real = random_task(*model, {3, 5, 4});
    const auto behind = [](const Tensor& x) { return concat({x, Tensor::full(x.shape(), 0.3, x.dtype())}, 1); };
    Task longer{behind(real.xc), behind(real.yc), behind(real.xt), behind(real.yt)};
    longer.lengths = Tensor::from<std::int64_t>({3}, {5, 5, 5});
    longer.target_lengths = Tensor::from<std::int64_t>({3}, {4, 4, 4});
    longer.target_weights = real_points(longer.target_lengths, 8, DType::float64);
    longer.target_totals = Tensor::full({3}, 4, DType::float64);
    CHECK(loss(*model, longer).item() == doctest::Approx(loss(*model, real).item()).epsilon(1e-12));
  }
}

TEST_CASE("taylorformer: parameters that cannot be are refused in one line") {
  const auto message = [](const std::string& model, const std::string& key, const ModelConfig::mapped_type& value) {
    ModelSpec spec = small_model(model);
    spec.config[key] = value;
    return error_of([&] { make_model(spec); });
  };
  const std::string name = "taylorformer";
  CHECK(message(name, "dim_x", std::int64_t{3}) ==
        "[taylorformer] dim_x 3 found, expected 1 or 2: derivatives are by one or two inputs");
  CHECK(message(name, "enc_dim", std::int64_t{3}) == "[taylorformer] enc_dim 3 found, expected an even number");
  CHECK(message(name, "xmin", 2.0) == "[taylorformer] xmin 2 and xmax 2 found, expected xmin < xmax");
  CHECK(message(name, "xmin", 0.0) == "[taylorformer] xmin is 0, expected a number > 0");
  CHECK(message(name, "neighbour_noise", -0.5) == "[taylorformer] neighbour_noise is -0.5, expected a number >= 0");
  CHECK(message(name, "p", std::int64_t{2}) == "[taylorformer] p is 2, expected an integer from 0 to 1");
  for (const std::string each : {"taylorformer", "taylorformer-tnp"}) {
    CHECK(message(each, "dropout", 1.0) == "[" + each + "] dropout is 1, expected a number >= 0 and < 1");
    CHECK(message(each, "dropout", -0.1) == "[" + each + "] dropout is -0.1, expected a number >= 0 and < 1");
    CHECK(message(each, "permutation_repeats", std::int64_t{-1}) ==
          "[" + each + "] permutation_repeats is -1, expected an integer from 0 to 64");
    CHECK(message(each, "permutation_repeats", std::int64_t{65}) ==
          "[" + each + "] permutation_repeats is 65, expected an integer from 0 to 64");
  }
  const auto model = varied_model(small_model(name)), other = varied_model(small_model("tnp-d"));
  const Task task = random_task(*model, {2, 3, 4});
  const auto strange = condition(*other, context_of(task)), state = condition(*model, context_of(task));
  CHECK(error_of([&] { model->query(*strange, task.xt); }) ==
        "[taylorformer] the state comes from another kind of model");
  CHECK(error_of([&] { model->query(*state, task.xt)->joint_log_likelihood(slice(task.yt, 1, 0, 2)); }) ==
        "[prediction] y (2, 2, 1) found, expected values of 4 targets");
}
