#include "npzoo/models/tnp/tnp_buffer.h"

#include <doctest/doctest.h>

#include <cmath>

#include "npzoo/models/predictions/target_orders.h"
#include "npzoo/models/predictions/target_paths.h"
#include "npzoo/models/tnp/buffered_targets.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/buffer_fixtures.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

ModelSpec small_buffer(std::int64_t components, std::int64_t buffer, std::int64_t dim_y = 1) {
  ModelSpec spec = small_model("tnp-buffer");
  spec.config["components"] = components;
  spec.config["buffer"] = buffer;
  spec.config["dim_y"] = dim_y;
  return spec;
}

const TnpBuffer& as_tnp_buffer(const Model& model) { return dynamic_cast<const TnpBuffer&>(model); }

std::unique_ptr<TnpBufferState> state_of_buffer(const TnpBuffer& model, const Task& task) {
  return model.encoded(context_of(task), some_draws(), kFewSamples);
}

/// The paper's mask in one encoder over [context; buffer; targets], nothing cached: hidden states of the targets.
Tensor encoded_with_buffer(const TnpBuffer& model, const Task& task, const Context& buffer, const Tensor& seen) {
  const auto state = state_of_buffer(model, task);
  const std::int64_t batch = task.xc.dim(0), nc = task.xc.dim(1), n = buffer.xc.dim(1), nt = task.xt.dim(1),
                     all = nc + n + nt;
  const Tensor role = slice(model.roles.value, 0, 0, 1);
  Tensor h = concat({add(add(model.embedder_x(task.xc), model.embedder_y(task.yc)), role),
                     model.buffer_tokens(*state, buffer.xc, buffer.yc, 0), model.target_tokens(*state, task.xt)},
                    1);
  Tensor keys = Tensor::empty({batch, all}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < batch * all; ++i) {
    const std::int64_t at = i % all;
    keys.data<std::int64_t>()[i] = nc + (at < nc       ? 0
                                         : at < nc + n ? at - nc
                                                       : seen.data<std::int64_t>()[i / all * nt + at - nc - n]);
  }
  for (const TransformerLayer& layer : model.encoder.layers)
    h = layer(h, layer.keys_values(h), PrefixMask::lengths(keys));
  return slice(h, 1, nc + n, all);
}

/// Means and raw deviations of the first component.
Moments first_component(const TnpBuffer& model, const Tensor& h) {
  const std::int64_t components = model.config().components, width = components * model.dim_y(),
                     logits = components > 1 ? components : 0;
  const Moments all = gaussian_head(slice(model.predictor(h), -1, logits, logits + 2 * width), model.config().std);
  return {slice(all.mean, -1, 0, model.dim_y()), slice(all.std, -1, 0, model.dim_y())};
}

Moments first_component(const Marginals& marginals) {
  const auto first = [](const Tensor& x) { return slice(x, 0, 0, 1).view(x.shape().without(0)); };
  return {first(marginals.mean), first(marginals.std)};
}

/// TNP-D with a model's weights. The model's embeddings are single matrices, and its context has the role 0.
std::unique_ptr<Model> buffer_as_tnp_d(TnpBuffer& model) {
  auto tnp_d = make_model({"tnp-d",
                           {{"dim_x", std::int64_t{1}},
                            {"dim_y", std::int64_t{1}},
                            {"architecture", std::string("tnp")},
                            {"d_model", std::int64_t{8}},
                            {"dim_feedforward", std::int64_t{12}},
                            {"nhead", std::int64_t{2}},
                            {"num_layers", std::int64_t{2}},
                            {"emb_depth", std::int64_t{1}},
                            {"bound_std", true}}});
  const auto from = named_parameters(model), to = named_parameters(*tnp_d);
  const auto at = [](const std::vector<NamedParameter>& all, const std::string& name) -> Parameter& {
    const auto found = std::ranges::find(all, name, &NamedParameter::name);
    REQUIRE(found != all.end());
    return *found->parameter;
  };
  for (const NamedParameter& p : to)
    if (p.name.find("embedder") == std::string::npos) p.parameter->value = at(from, p.name).value;
  const Linear &x = model.embedder_x.layers[0], &y = model.embedder_y.layers[0];
  at(to, "embedder.layers.0.weight").value = concat({x.weight.value, y.weight.value}, 1);
  at(to, "embedder.layers.0.bias").value = add(x.bias.value, y.bias.value);
  model.roles.value =
      concat({Tensor::zeros({2, 8}, DType::float64, default_device()), reshape(y.bias.value, {1, 8})}, 0);
  return tnp_d;
}

}  // namespace

TEST_CASE("identity: with an empty buffer tnp-buffer is TNP-D, and one target has the same joint density") {
  ModelSpec spec = small_buffer(1, 3);
  spec.config["emb_depth"] = std::int64_t{1};
  spec.config["head_hidden"] = std::int64_t{12};
  const auto model = varied_model(spec);
  const auto tnp_d = buffer_as_tnp_d(dynamic_cast<TnpBuffer&>(*model));
  Task task = random_task(*model, {4, 6, 5});
  task.lengths = Tensor::from<std::int64_t>({4}, {6, 2, 0, 1});
  const Moments expected = predict(*tnp_d, task);
  CHECK(difference(predict(*model, task), expected) <= kRounding);
  const auto state = condition(*model, context_of(task)), plain = condition(*tnp_d, context_of(task));
  const auto prediction = model->query(*state, task.xt);
  CHECK(difference_of_marginals(buffered_sequence(*prediction).each_alone(),
                                tnp_d->query(*plain, task.xt)->marginals()) <= kRounding);
  const Tensor x = slice(task.xt, 1, 0, 1), y = slice(task.yt, 1, 0, 1);
  CHECK(difference(model->query(*state, x)->joint_log_likelihood(y),
                   tnp_d->query(*plain, x)->joint_log_likelihood(y)) <= kRounding);
}

TEST_CASE("tnp-buffer: the density of all targets in one pass is that of one target after the other") {
  for (const std::int64_t components : {1, 3})
    for (const std::int64_t buffer : {1, 2, 3, 9})
      for (const std::int64_t nc : {0, 6}) {
        CAPTURE(components);
        CAPTURE(buffer);
        CAPTURE(nc);
        const auto model = varied_model(small_buffer(components, buffer, 2));
        Task task = random_task(*model, {3, nc, 7});
        if (nc > 0) task.lengths = Tensor::from<std::int64_t>({3}, {6, 0, 4});
        const auto state = condition(*model, context_of(task));
        const auto prediction = model->query(*state, task.xt);
        const Autoregressive& sequence = buffered_sequence(*prediction);
        CHECK(difference(prediction->joint_log_likelihood(task.yt),
                         sequence.Autoregressive::joint_log_likelihood(task.yt)) <= kRounding);
        CHECK(difference_of_marginals(sequence.given_those_before(task.yt),
                                      sequence.Autoregressive::given_those_before(task.yt)) <= kRounding);
        CHECK(prediction->forms().marginal == "exact");
        CHECK(prediction->forms().joint ==
              (buffer == 9 ? "teacher-forced"
                           : fmt::format("teacher-forced, buffer joins the context after {}", buffer)));
      }
}

TEST_CASE("tnp-buffer: with a buffer of one target the density is that of plain autoregression") {
  const auto model = varied_model(small_buffer(3, 1));
  const Task task = random_task(*model, {2, 4, 5});
  std::shared_ptr<const ContextState> state = condition(*model, context_of(task));
  const Tensor together = model->query(*state, task.xt)->joint_log_likelihood(task.yt);
  std::vector<double> sum(2);
  for (std::int64_t t = 0; t < 5; ++t) {
    const Tensor x = slice(task.xt, 1, t, t + 1), y = slice(task.yt, 1, t, t + 1);
    const Tensor one = log_likelihood(model->query(*state, x)->marginals(), y);
    for (std::size_t b = 0; b < 2; ++b) sum[b] += one.values<double>()[b];
    state = model->update(*state, {x, y, {}});
  }
  CHECK(largest_difference(together, sum) <= 1e-12);
}

TEST_CASE("tnp-buffer: points see what the paper's mask allows") {
  for (const std::int64_t nc : {0, 5}) {
    CAPTURE(nc);
    const auto owner = varied_model(small_buffer(3, 4));
    const TnpBuffer& model = as_tnp_buffer(*owner);
    const Task task = random_task(model, {2, nc, 6}), other = random_task(model, {2, 3, 1});
    const Context buffer{other.xc, other.yc, {}};
    const Tensor seen = equal_counts(2, {0, 3, 1, 2, 0, 3});
    const auto state = state_of_buffer(model, task);
    const Marginals found = model.given_buffer(*state, buffer, task.xt, masks_of_buffer(3, seen));
    CHECK(difference(first_component(found), first_component(model, encoded_with_buffer(model, task, buffer, seen))) <=
          kRounding);
    // Targets that see none of the buffer are those of an empty one.
    const Moments alone = first_component(model.given_context(*state, task.xt));
    CHECK(difference(slice(first_component(found).mean, 1, 0, 1), slice(alone.mean, 1, 0, 1)) <= kRounding);
  }
}

TEST_CASE(
    "tnp-buffer: states of the context, and those of points before it, have the same bits whatever a buffer point is") {
  const auto owner = varied_model(small_buffer(3, 4));
  const TnpBuffer& model = as_tnp_buffer(*owner);
  const Task task = random_task(model, {2, 5, 5}), other = random_task(model, {2, 3, 1});
  const Context buffer{other.xc, other.yc, {}};
  const Context changed{other.xc, concat({slice(other.yc, 1, 0, 1), affine(slice(other.yc, 1, 1, 3), 1, 1)}, 1), {}};
  const Tensor seen = equal_counts(2, {0, 1, 2, 3, 1});
  const auto state = state_of_buffer(model, task);
  std::vector<Tensor> before;
  for (const KeysValues& layer : state->encoded) before.push_back(layer.keys.clone());
  const Moments a = first_component(model.given_buffer(*state, buffer, task.xt, masks_of_buffer(3, seen))),
                b = first_component(model.given_buffer(*state, changed, task.xt, masks_of_buffer(3, seen)));
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(same_bits(state->encoded[i].keys, before[i]));
  for (const std::int64_t t : {0, 1, 4}) CHECK(same_bits(slice(a.mean, 1, t, t + 1), slice(b.mean, 1, t, t + 1)));
  for (const std::int64_t t : {2, 3}) CHECK(difference(slice(a.mean, 1, t, t + 1), slice(b.mean, 1, t, t + 1)) > 1e-4);
}

TEST_CASE("tnp-buffer: the order of the context changes nothing, that of the buffer does") {
  const auto owner = varied_model(small_buffer(3, 4));
  const TnpBuffer& model = as_tnp_buffer(*owner);
  const Task task = random_task(model, {2, 5, 4});
  const auto permuted = [](const Tensor& x, const std::vector<std::int64_t>& order) {
    return gather(x, equal_counts(x.dim(0), order));
  };
  Task other = task;
  other.xc = permuted(task.xc, {3, 0, 4, 1, 2});
  other.yc = permuted(task.yc, {3, 0, 4, 1, 2});
  const auto joint = [&](const Task& of) {
    return model.query(*condition(model, context_of(of)), of.xt)->joint_log_likelihood(of.yt);
  };
  CHECK(difference(joint(other), joint(task)) <= kRounding);
  const auto last = [&](const Task& of) {
    const auto prediction = model.query(*condition(model, context_of(of)), of.xt);
    return slice(buffered_sequence(*prediction).given_those_before(of.yt).mean, 2, 3, 4);
  };
  other.xt = permuted(task.xt, {1, 0, 2, 3});
  other.yt = permuted(task.yt, {1, 0, 2, 3});
  CHECK(difference(last(other), last(task)) > 1e-5);
}

TEST_CASE("tnp-buffer: paths are drawn from the teacher-forced conditionals, by the same numbers") {
  const NoGrad off;
  for (const std::int64_t components : {1, 3})
    for (const std::int64_t buffer : {2, 9}) {
      CAPTURE(components);
      CAPTURE(buffer);
      const auto model = varied_model(small_buffer(components, buffer, 2));
      Task task = random_task(*model, {2, 5, 7});
      task.lengths = Tensor::from<std::int64_t>({2}, {5, 3});
      const auto state = condition(*model, context_of(task));
      check_paths_follow_conditionals(buffered_sequence(*model->query(*state, task.xt)), components);
    }
}

TEST_CASE("tnp-buffer: more paths begin with the same ones, some at a time as alone") {
  const OnCpu cpu;
  const NoGrad off;
  const auto model = varied_model(small_buffer(3, 4), DType::float32);
  // Two layers of keys and values of width 8: 128 paths of each task fit.
  constexpr std::int64_t kTasks = 256, kPaths = 130;
  static_assert(TargetPaths::path_memory(Device::cpu) / (kTasks * 2 * 32 * 4) == 128);
  const Task task = random_task(*model, {kTasks, 3, 2}, DType::float32);
  const auto state = condition(*model, context_of(task));
  Draws draws = some_draws(), same = some_draws();
  const Tensor all = model->query(*state, task.xt)->sample(kPaths, draws);
  const Task one = task_row(task, 0);
  const Tensor alone = model->query(*condition(*model, context_of(one)), one.xt)->sample(kPaths, same);
  CHECK(difference(slice(all, 1, 0, 1), alone) <= 1e-4);
  Draws few = some_draws();
  CHECK(difference(slice(alone, 0, 0, 3), model->query(*condition(*model, context_of(one)), one.xt)->sample(3, few)) <=
        1e-4);
}

TEST_CASE("tnp-buffer: half of the targets see no buffer, the others each number of points as often") {
  Draws draws = some_draws();
  constexpr std::int64_t kTasks = 500, kTargets = 20, kBuffer = 4;
  const BufferMasks masks = drawn_buffer_masks(kTasks, kTargets, kBuffer, draws);
  std::vector<int> found(kBuffer + 1);
  for (std::int64_t b = 0; b < kTasks; ++b) {
    for (std::int64_t i = 0; i < kBuffer; ++i) CHECK(masks.all.visible(b, i, 100) == i);
    for (std::int64_t i = 0; i < kTargets; ++i) {
      const std::int64_t seen = masks.by_targets.visible(b, i, 100);
      CHECK(masks.all.visible(b, kBuffer + i, 100) == seen);
      CHECK(seen <= std::min(i, kBuffer));
      if (i >= kBuffer) ++found[static_cast<std::size_t>(seen)];
    }
  }
  constexpr double kAll = kTasks * (kTargets - kBuffer);
  CHECK(found[0] / kAll == doctest::Approx(0.5).epsilon(0.03));
  for (std::size_t v = 1; v <= kBuffer; ++v) CHECK(found[v] / kAll == doctest::Approx(0.5 / kBuffer).epsilon(0.08));
}

TEST_CASE("tnp-buffer: the loss is that of targets in a drawn order, each after the points that its mask shows") {
  const auto owner = varied_model(small_buffer(1, 3));
  const TnpBuffer& model = as_tnp_buffer(*owner);
  const Task task = random_task(model, {3, 4, 6});
  Draws draws = some_draws();
  const Task shuffled = in_drawn_orders(task, 1, draws).front();
  const BufferMasks masks = drawn_buffer_masks(3, 6, 3, draws);
  Tensor seen = Tensor::empty({3, 6}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < 18; ++i) seen.data<std::int64_t>()[i] = masks.by_targets.visible(i / 6, i % 6, 100);
  const Context buffer{slice(shuffled.xt, 1, 0, 3), slice(shuffled.yt, 1, 0, 3), {}};
  const Moments m = first_component(model, encoded_with_buffer(model, shuffled, buffer, seen));
  const Marginals each{reshape(m.mean, {1, 3, 6, 1}), reshape(m.std, {1, 3, 6, 1})};
  double sum = 0;
  for (const double value : doubles(log_likelihood(each, shuffled.yt))) sum -= value / 18;
  CHECK(loss(model, task).item() == doctest::Approx(sum).epsilon(1e-12));
}

TEST_CASE("tnp-buffer: parameters of the paper's sizes") {
  const ModelConfig config = model_config_from_json(
      R"({"dim_x": 1, "dim_y": 1, "d_model": 128, "dim_feedforward": 256, "nhead": 4, "num_layers": 6, "emb_depth": 3,
          "emb_hidden": 256, "head_hidden": 256, "components": 20, "buffer": 16, "min_std": 0.0})",
      "tnp-buffer");
  const auto model = make_model({"tnp-buffer", config}, {.drawn = false});
  CHECK(count_elements(named_parameters(*model)) == 1'044'156);
}
