#include <doctest/doctest.h>

#include "npzoo/engine/memory.h"
#include "npzoo/models/cmanp/cmanp.h"
#include "npzoo/ops/gather/gather.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

Context points_of(const Context& c, std::int64_t begin, std::int64_t end) {
  return {slice(c.xc, 1, begin, end), slice(c.yc, 1, begin, end), {}};
}

const CmanpState& cmanp_state(const ContextState& state) { return dynamic_cast<const CmanpState&>(state); }

/// Largest difference between what two contexts are to a model; log-sum-exps of no points are equal.
double state_difference(const ContextState& a, const ContextState& b) {
  const CmanpState &x = cmanp_state(a), &y = cmanp_state(b);
  double top = 0;
  for (std::size_t i = 0; i < y.gathered.size(); ++i) {
    top = std::max(top, difference(x.gathered[i].mean, y.gathered[i].mean));
    top = std::max(top, largest_difference(x.gathered[i].log_sum_exp, doubles(y.gathered[i].log_sum_exp)));
    top = std::max(top, difference(x.latents[i], y.latents[i]));
  }
  return top;
}

/// A context in a random order, given in random chunks: some may be empty.
std::unique_ptr<ContextState> streamed(const Model& model, const Context& context, Random& random) {
  const std::int64_t nc = context.xc.dim(1);
  Tensor order = Tensor::empty({context.xc.dim(0), nc}, DType::int64);
  for (std::int64_t b = 0; b < order.dim(0); ++b)
    random.fill_permutation({order.data<std::int64_t>() + b * nc, static_cast<std::size_t>(nc)});
  const Context mixed{gather(context.xc, order), gather(context.yc, order), {}};
  std::int64_t end = random.integer(0, nc + 1);
  auto state = condition(model, points_of(mixed, 0, end));
  while (end < nc) {
    const std::int64_t begin = end;
    end += random.integer(0, nc - end + 1);
    state = model.update(*state, points_of(mixed, begin, end));
  }
  return state;
}

void check_identity_7(const ModelSpec& spec, DType dtype, int trials, double tolerance) {
  const auto model = varied_model(spec, dtype);
  const Task task = random_task(*model, {2, 12, 4}, dtype);
  const Context context{task.xc, task.yc, {}};
  const auto whole = condition(*model, context);
  const Moments expected = query(*model, *whole, task.xt);
  Random random(5);
  double states = 0, predictions = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const auto state = streamed(*model, context, random);
    states = std::max(states, state_difference(*state, *whole));
    predictions = std::max(predictions, difference(query(*model, *state, task.xt), expected));
  }
  CHECK(states <= tolerance);
  CHECK(predictions <= tolerance);
}

}  // namespace

TEST_CASE("identity 7: CMANP fed in any order, in any chunks, is CMANP fed at once") {
  ModelSpec in_threes = small_model("cmanp");
  in_threes.config["CMAB_block_size"] = std::int64_t{3};
  const int trials = on_emulated_gpu() ? 20 : 500;
  for (const ModelSpec& spec : {small_model("cmanp"), in_threes}) {
    check_identity_7(spec, DType::float64, trials, 1e-12);
    check_identity_7(spec, DType::float32, trials, 1e-5);
  }
}

TEST_CASE("streaming: a model fed in any order, in any chunks, is the model fed at once") {
  for (const std::string& name : model_names())
    for (const auto& [dtype, tolerance] : {std::pair{DType::float64, 1e-12}, {DType::float32, 1e-5}}) {
      if (!is_of_sets(name)) continue;
      CAPTURE(name);
      const auto model = varied_model(small_model(name), dtype);
      const Task task = random_task(*model, {2, 12, 4}, dtype);
      const Context context{task.xc, task.yc, {}};
      const Moments expected = predict(*model, task);
      Random random(5);
      for (int trial = 0; trial < 100; ++trial)
        CHECK(difference(query(*model, *streamed(*model, context, random), task.xt), expected) <= tolerance);
    }
}

TEST_CASE("streaming: a context of another batch size is refused") {
  const auto model = varied_model(small_model("cnp"));
  const Task one = random_task(*model, {1, 3, 1}), three = random_task(*model, {3, 3, 1});
  const auto state = condition(*model, {one.xc, one.yc, {}});
  CHECK(error_of([&] {
          model->update(*state, {three.xc, three.yc, {}});
        }) == "[cnp] 3 batch elements found, expected 1 as in the state");
}

TEST_CASE("identity 7: the gradients of a model that streams are those of the context at once") {
  for (const ModelCase& c : small_models()) {
    const auto model = varied_model(c.spec);
    if (!model->streams()) continue;
    CAPTURE(c.label);
    const Task task = random_task(*model, {2, 7, 3});
    const Context context{task.xc, task.yc, {}};
    const auto in_parts = gradients(*model, [&] {
      auto state = condition(*model, points_of(context, 0, 3));
      state = model->update(*state, points_of(context, 3, 3));
      state = model->update(*state, points_of(context, 3, 7));
      return nll(*model->query(*state, task.xt), task.yt);
    });
    CHECK(gradient_difference(in_parts, gradients(*model, [&] { return target_nll(*model, task); })) <= 1e-12);
  }
}

TEST_CASE("streaming: models that pool do, whatever they draw, and CMANP") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const ModelConfig& config = c.spec.config;
    const bool pools = config.contains("attention") && std::get<std::string>(config.at("attention")) == "uniform" &&
                       !config.contains("self_attention_layers");
    const bool always = c.spec.name == "cnp" || c.spec.name == "np" || c.spec.name == "cmanp";
    if (always || c.spec.name == "anp" || c.spec.name == "canp")
      CHECK(make_model(c.spec)->streams() == (always || pools));
  }
}

TEST_CASE("streaming: a model that reads its points in their order, fed in any chunks, is the model fed at once") {
  for (const ModelCase& c : small_models()) {
    if (!model_info(c.spec.name).traits.ordered) continue;
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 12, 4});
    const Context context{task.xc, task.yc, {}};
    const Moments expected = predict(*model, task);
    Random random(5);
    for (int trial = 0; trial < 20; ++trial) {
      auto state = condition(*model, points_of(context, 0, 0));
      for (std::int64_t begin = 0, end = 0; begin < 12; begin = end) {
        end += random.integer(0, 12 - end + 1);
        state = model->update(*state, points_of(context, begin, end));
      }
      CHECK(difference(query(*model, *state, task.xt), expected) <= 1e-12);
    }
  }
}

TEST_CASE("streaming: models that do keep no points, unless their state grows; the others do") {
  const ThreadCount one(1);
  for (const std::string& name : model_names()) {
    CAPTURE(name);
    const auto model = varied_model(small_model(name), DType::float32);
    const auto stream = [&](int chunks) {
      return peak_bytes([&] {
        std::unique_ptr<ContextState> state;
        for (int i = 0; i < chunks; ++i) {
          const Task task = random_task(*model, {2, 16, 0}, DType::float32);
          const Context points{task.xc, task.yc, {}};
          state = state ? model->update(*state, points) : condition(*model, points);
        }
      });
    };
    CHECK((stream(20) == stream(10)) == (model->streams() && !model->state_grows()));
  }
}

TEST_CASE("streaming: CMANP takes a long context chunk by chunk") {
  const ThreadCount one(1);
  ModelSpec spec = small_model("cmanp");
  spec.config["CMAB_block_size"] = std::int64_t{16};
  const auto model = varied_model(spec, DType::float32);
  const auto at_once = [&](std::int64_t chunks) {
    const Task task = random_task(*model, {2, 16 * chunks, 0}, DType::float32);
    return peak_bytes([&] { condition(*model, {task.xc, task.yc, {}}); });
  };
  CHECK(at_once(200) == at_once(20));
}
