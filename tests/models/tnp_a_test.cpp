#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "npzoo/engine/memory.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/predictions/target_paths.h"
#include "npzoo/models/tnp/tnp_a.h"
#include "npzoo/models/trials/choosers.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

ModelSpec small_tnp_a(bool permute = false, bool bound_std = false) {
  ModelSpec spec = small_model("tnp-a");
  spec.config["permute"] = permute;
  spec.config["bound_std"] = bound_std;
  return spec;
}

const Autoregressive& as_sequence(const Prediction& prediction) {
  return dynamic_cast<const Autoregressive&>(prediction);
}

/// TNP-D with a model's weights.
std::unique_ptr<Model> as_tnp_d(Model& model, const ModelSpec& spec) {
  ModelSpec other{"tnp-d", spec.config};
  other.config.erase("permute");
  other.config["architecture"] = std::string("tnp");
  auto tnp_d = make_model(other);
  const auto from = named_parameters(model), to = named_parameters(*tnp_d);
  REQUIRE(from.size() == to.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    CHECK(to[i].name == from[i].name);
    to[i].parameter->value = from[i].parameter->value;
  }
  return tnp_d;
}

/// Mean and deviation of target `t` by a plain encoder over all of [context; targets so far; target] (B, Nc + t + 1):
/// the authors' mask, nothing cached.
Moments re_encoded(const TnpA& model, const Task& task, const Tensor& values, std::int64_t t) {
  const std::int64_t batch = task.xc.dim(0), nc = task.xc.dim(1), n = nc + t + 1;
  const Tensor x = concat({task.xc, slice(task.xt, 1, 0, t + 1)}, 1);
  const Tensor y = concat({task.yc, slice(values, 1, 0, t), Tensor::zeros({batch, 1, model.dim_y()}, x.dtype())}, 1);
  Tensor seen = Tensor::empty({batch, n}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < n; ++i) seen.data<std::int64_t>()[b * n + i] = i < nc ? nc : std::min(i + 1, n - 1);
  }
  Tensor h = model.embedder(concat({x, y}, -1));
  for (const TransformerLayer& layer : model.encoder.layers)
    h = layer(h, layer.keys_values(h), PrefixMask::lengths(seen));
  return gaussian_head(model.predictor(slice(h, 1, n - 1, n)),
                       {model.std_floor() > 0 ? StdForm::Kind::softplus : StdForm::Kind::exp, *model.std_floor()});
}

/// Path `k` of samples (K, B, Nt, Dy), on the model's device.
Tensor path_of(const Tensor& samples, std::int64_t k) {
  return slice(samples, 0, k, k + 1).view(samples.shape().without(0)).to(default_device());
}

}  // namespace

TEST_CASE("identity 6: one target is predicted by TNP-A as by TNP-D, and the first of several too") {
  for (const bool bound_std : {false, true})
    for (const bool ragged : {false, true}) {
      CAPTURE(bound_std);
      CAPTURE(ragged);
      const ModelSpec spec = small_tnp_a(false, bound_std);
      const auto model = varied_model(spec);
      const auto tnp_d = as_tnp_d(*model, spec);
      Task task = random_task(*model, {4, 6, 5});
      if (ragged) task.lengths = Tensor::from<std::int64_t>({4}, {6, 2, 0, 1});
      const Moments together = predict(*model, task);
      Task first = task;
      first.xt = slice(task.xt, 1, 0, 1);
      first.yt = slice(task.yt, 1, 0, 1);
      const Moments expected = predict(*tnp_d, first);
      CHECK(difference(predict(*model, first), expected) <= kRounding);
      CHECK(difference({slice(together.mean, 1, 0, 1), slice(together.std, 1, 0, 1)}, expected) <= kRounding);
      const auto a = condition(*model, context_of(task)), d = condition(*tnp_d, context_of(task));
      CHECK(difference(model->query(*a, first.xt)->joint_log_likelihood(first.yt),
                       tnp_d->query(*d, first.xt)->joint_log_likelihood(first.yt)) <= kRounding);
      // The same holds for each of several targets by itself, in one pass or one after the other.
      const auto sequence = model->query(*a, task.xt);
      const Moments each = predict(*tnp_d, task);
      for (const Marginals& alone :
           {as_sequence(*sequence).each_alone(), as_sequence(*sequence).Autoregressive::each_alone()})
        CHECK(difference({alone.mean.view(each.mean.shape()), alone.std.view(each.std.shape())}, each) <= kRounding);
      // The second one is given the first, which TNP-D does not know.
      CHECK(difference(slice(together.mean, 1, 1, 2), slice(predict(*tnp_d, task).mean, 1, 1, 2)) > 1e-4);
      if (bound_std || ragged) continue;
      CHECK(loss(*model, first).item() == doctest::Approx(loss(*tnp_d, first).item()).epsilon(1e-13));
      CHECK(gradient_difference(gradients(*model, [&] { return loss(*model, first); }),
                                gradients(*tnp_d, [&] { return loss(*tnp_d, first); })) <= kRounding);
    }
}

TEST_CASE("identity 6: TNP-A decides as TNP-D, which sees candidates one by one") {
  const ModelSpec spec = small_tnp_a();
  const auto model = varied_model(spec);
  const auto tnp_d = as_tnp_d(*model, spec);
  const Task task = random_task(*model, {3, 4, 30});
  const Candidates candidates(task);
  const auto curve = [&](const Model& by) {
    return search(candidates, 6, model_chooser(by, candidates, {.acquisition = {}, .repeat = true}, {1, 0, 6}));
  };
  const SearchCurve a = curve(*model), d = curve(*tnp_d);
  CHECK(a.cumulative == d.cumulative);
  CHECK(a.simple == d.simple);
  CHECK(a.simple.back() != a.simple.front());
}

TEST_CASE("identity 6: the density of all targets in one pass is that of cached passes, target by target") {
  for (const bool permute : {false, true})
    for (const std::int64_t nc : {0, 6}) {
      CAPTURE(permute);
      CAPTURE(nc);
      const auto model = varied_model(small_tnp_a(permute));
      Task task = random_task(*model, {3, nc, 7});
      if (nc > 0) task.lengths = Tensor::from<std::int64_t>({3}, {6, 0, 4});
      const auto state = condition(*model, context_of(task));
      const auto prediction = model->query(*state, task.xt);
      const Tensor one_pass = prediction->joint_log_likelihood(task.yt);
      CHECK(difference(one_pass, as_sequence(*prediction).Autoregressive::joint_log_likelihood(task.yt)) <= kRounding);
      const Marginals each = as_sequence(*prediction).given_those_before(task.yt),
                      walked = as_sequence(*prediction).Autoregressive::given_those_before(task.yt);
      CHECK(each.mean.shape() == Shape{1, 3, 7, task.yt.dim(2)});
      CHECK(difference(each.mean, walked.mean) <= kRounding);
      CHECK(difference(each.std, walked.std) <= kRounding);
      const Tensor nats = affine(mean(one_pass), -1.0 / 7, 0);
      CHECK(loss(*model, task).item() == doctest::Approx(nats.item()).epsilon(1e-13));
      CHECK(prediction->forms().joint == "teacher-forced");
      CHECK(prediction->forms().marginal == "3 samples");
    }
}

TEST_CASE("tnp-a: targets see what the authors' mask allows") {
  for (const std::int64_t nc : {0, 5}) {
    CAPTURE(nc);
    const auto model = varied_model(small_tnp_a());
    const auto& tnp_a = dynamic_cast<const TnpA&>(*model);
    const Task task = random_task(*model, {2, nc, 6});
    const auto state = condition(*model, context_of(task));
    const auto prediction = model->query(*state, task.xt);
    as_sequence(*prediction).teacher_forced(task.yt, [&](const Prediction& one, std::int64_t t, std::int64_t) {
      const Moments m = moments(one), expected = re_encoded(tnp_a, task, task.yt, t);
      CHECK(difference(m, expected) <= kRounding);
    });
  }
}

TEST_CASE("tnp-a: paths by extended caches are those by encoding all of it again for every target") {
  const NoGrad off;
  const auto model = varied_model(small_tnp_a());
  const auto& tnp_a = dynamic_cast<const TnpA&>(*model);
  const Task task = random_task(*model, {2, 5, 6});
  const auto state = condition(*model, context_of(task));
  const auto prediction = model->query(*state, task.xt);
  Draws draws = some_draws();
  const Tensor samples = prediction->sample(4, draws);
  const Marginals paths = prediction->marginals();
  Draws same = some_draws();
  std::vector<Tensor> noise;  // of each target, (4, B, Dy)
  for (int t = 0; t < 6; ++t) noise.push_back(same.normal(4, 2, {1}, DType::float64, Device::cpu));
  for (std::int64_t k = 0; k < 4; ++k) {
    const Tensor values = path_of(samples, k);
    for (std::int64_t t = 0; t < 6; ++t) {
      const Moments m = re_encoded(tnp_a, task, values, t);
      const Tensor drawn = path_of(noise[static_cast<std::size_t>(t)], k).view({2, 1, 1});
      CHECK(difference(slice(values, 1, t, t + 1), add(m.mean, mul(m.std, drawn))) <= kRounding);
      if (k == kFewSamples) continue;  // the marginals' own draws are the same
      CHECK(difference(slice(path_of(paths.mean, k), 1, t, t + 1), m.mean) <= kRounding);
      CHECK(difference(slice(path_of(paths.std, k), 1, t, t + 1), m.std) <= kRounding);
    }
  }
}

TEST_CASE("tnp-a: more paths begin with the same ones") {
  const NoGrad off;
  for (const bool permute : {false, true}) {
    CAPTURE(permute);
    const auto model = varied_model(small_tnp_a(permute));
    const Task task = random_task(*model, {2, 3, 9});
    const auto state = condition(*model, context_of(task));
    const auto prediction = model->query(*state, task.xt);
    Draws a = some_draws(), b = some_draws();
    CHECK(difference(slice(prediction->sample(5, a), 0, 0, 3), prediction->sample(3, b)) <= kRounding);
  }
}

TEST_CASE("tnp-a: many paths are drawn some at a time, in bounded memory, as they are alone") {
  const OnCpu cpu;
  const NoGrad off;
  const auto model = varied_model(small_tnp_a(), DType::float32);
  // Two layers of keys and values of width 8: two paths of each task fit.
  constexpr std::int64_t kTasks = 256, kPaths = 5,
                         kPoints = TargetPaths::path_memory(Device::cpu) / (2 * kTasks * 32 * 4);
  const Task task = random_task(*model, {kTasks, 3, kPoints}, DType::float32);
  const auto state = condition(*model, context_of(task));
  Draws draws = some_draws(), same = some_draws();
  const auto prediction = model->query(*state, task.xt);
  const std::int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  const Tensor all = prediction->sample(kPaths, draws);
  // All paths at once would take five halves of it.
  CHECK(memory_stats().peak_live_bytes - before <= TargetPaths::path_memory(Device::cpu) * 7 / 4);
  const Tensor alone =
      model->query(*condition(*model, context_of(task_row(task, 0))), row(task.xt, 0))->sample(1, same);
  CHECK(difference(slice(slice(all, 0, 0, 1), 1, 0, 1), alone) <= 1e-4);
}

TEST_CASE("tnp-a: paths in their own order equal paths in that order, sorted back") {
  const NoGrad off;
  const auto model = varied_model(small_tnp_a(true)), in_order = varied_model(small_tnp_a(false));
  constexpr std::int64_t kPaths = 4, kPoints = 6;
  const Task task = random_task(*model, {2, 5, kPoints});
  const auto state = condition(*model, context_of(task)), plain = condition(*in_order, context_of(task));
  Draws draws = some_draws();
  const Tensor samples = model->query(*state, task.xt)->sample(kPaths, draws);
  Draws same = some_draws();
  const Tensor keys = same.normal(kPaths, 2, {kPoints}, DType::float64, Device::cpu);
  std::set<std::vector<std::int64_t>> orders;
  for (std::int64_t k = 0; k < kPaths; ++k) {
    Tensor order = Tensor::empty({2, kPoints}, DType::int64, Device::cpu);
    for (std::int64_t b = 0; b < 2; ++b) {
      const auto of_row = keys.values<double>().subspan((k * 2 + b) * kPoints, kPoints);
      std::vector<std::int64_t> places{0, 1, 2, 3, 4, 5};
      std::ranges::sort(places, {}, [&](std::int64_t i) { return of_row[i]; });
      std::ranges::copy(places, order.data<std::int64_t>() + b * kPoints);
      orders.insert(places);
    }
    // The model that goes in order draws the same, once the numbers for the order are drawn.
    Draws rest = some_draws();
    rest.normal(1, 2, {1}, DType::float64, Device::cpu);
    const auto there = in_order->query(*plain, gather(task.xt, order));
    const Tensor expected = path_of(there->sample(kPaths, rest), k);
    CHECK(difference(gather(path_of(samples, k), order), expected) <= kRounding);
  }
  CHECK(orders.size() > 4);
  const auto prediction = model->query(*state, task.xt), ordered = in_order->query(*plain, task.xt);
  CHECK(difference(prediction->joint_log_likelihood(task.yt), ordered->joint_log_likelihood(task.yt)) <= kRounding);
}

TEST_CASE("tnp-a: with a bounded deviation training adds noise to the values that are given, and to nothing else") {
  const auto model = varied_model(small_tnp_a(false, true));
  const Task task = random_task(*model, {3, 4, 6});
  const auto state = condition(*model, context_of(task));
  const auto prediction = model->query(*state, task.xt);
  Draws draws = some_draws();
  const Tensor noise = draws.normal(1, 3, {6, 1}, DType::float64, Device::cpu).view({3, 6, 1});
  const Tensor given = add(task.yt, affine(noise.to(default_device()), 0.05, 0));
  double nats = 0;  // of the true values, given those with noise
  as_sequence(*prediction).teacher_forced(given, [&](const Prediction& one, std::int64_t t, std::int64_t end) {
    for (const double x : doubles(one.joint_log_likelihood(slice(task.yt, 1, t, end)))) nats -= x / (3 * 6);
  });
  CHECK(loss(*model, task).item() == doctest::Approx(nats).epsilon(1e-12));
  double clean = 0;
  for (const double x : doubles(prediction->joint_log_likelihood(task.yt))) clean -= x / (3 * 6);
  CHECK(std::abs(nats - clean) > 1e-6);
}

TEST_CASE("tnp-a: targets behind change nothing of those before them") {
  const NoGrad off;
  const auto model = varied_model(small_tnp_a());
  const Task task = random_task(*model, {2, 5, 6});
  const auto state = condition(*model, context_of(task));
  const Moments all = query(*model, *state, task.xt), some = query(*model, *state, slice(task.xt, 1, 0, 4));
  CHECK(difference({slice(all.mean, 1, 0, 4), slice(all.std, 1, 0, 4)}, some) <= kRounding);
  const auto other = varied_model(small_model("tnp-d"));
  const auto strange = condition(*other, context_of(task));
  CHECK(error_of([&] { model->query(*strange, task.xt); }) == "[tnp-a] the state comes from another kind of model");
  CHECK(error_of([&] { model->query(*state, task.xt)->joint_log_likelihood(slice(task.yt, 1, 0, 4)); }) ==
        "[prediction] y (2, 4, 1) found, expected values of 6 targets");
}
