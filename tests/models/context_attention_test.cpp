#include "npzoo/models/context_attention.h"

#include <doctest/doctest.h>

#include <numeric>

#include "npzoo/models/blocks/attention_listener.h"
#include "npzoo/models/tnp/lbanp.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/attention_weights.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Checks that the weights it hears of are those that the outputs were made with.
class WeightsTimesValues final : public AttentionListener {
 public:
  void hear(const HeardAttention& heard) override {
    ++count;
    const Tensor expected = weighed(heard.weights, heard.values);
    CHECK(difference(heard.out.view(expected.shape()), expected) <= kRounding);
    if (!heard.origin.reading.defined()) return;
    CHECK(heard.origin.reading.dim(1) == heard.values.dim(1));
    for (const double sum : row_sums(heard.origin.reading)) CHECK(std::abs(sum - 1) <= kRounding);
  }

  int count = 0;
};

/// True for models with parameters or an option of attention.
bool attends(const ModelCase& c, Model& model) {
  const ModelInfo& info = model_info(c.spec.name);
  // A history is read before its targets are asked for; series are seen by lags, or after steps were joined. A flow
  // attends to context and targets as one sequence.
  if (info.takes != TaskForm::points || c.spec.name == "flownp") return false;
  return c.spec.config.contains("attention") || std::ranges::any_of(named_tensors(model), [](const NamedParameter& p) {
           return p.name.find("attention.") != std::string::npos;
         });
}

std::vector<Tensor> attention_of(const Model& model, const Task& task) {
  return context_attention(model, context_of(task), task.xt, some_draws());
}

std::unique_ptr<Model> small_form(const std::string& name, const std::string& changes) {
  ModelSpec spec = small_model(name);
  for (const auto& [key, value] : model_config_from_json(changes, name)) spec.config[key] = value;
  return varied_model(spec);
}

std::unique_ptr<Model> deepmind_anp(const std::string& attention) {
  const std::string sizes =
      R"({"architecture": "anp", "dim_x": 2, "dim_y": 1, "dim_hid": 6, "dim_lat": 3, "dec_depth": 2, "enc_depth": 2, "lat_depth": 2, "attention": )";
  return varied_model({"anp", model_config_from_json(sizes + attention + "}", "anp")});
}

constexpr TaskSize kOneTarget{.batch = 2, .nc = 7, .nt = 1};

}  // namespace

TEST_CASE("context attention: in every model, weights times values are the result of attention") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, kOneTarget);
    const KeepAttention keep;
    const auto state = condition(*model, context_of(task));
    WeightsTimesValues listener;
    query(*model, *state, task.xt);
    CHECK((listener.count > 0) == attends(c, *model));
  }
}

TEST_CASE("context attention: in every model, weights of each head add up to 1, those of padding to 0") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = padded(random_task(*model, kOneTarget), {4, 7}, kNaN);
    const auto layers = attention_of(*model, task);
    CHECK(layers.empty() != attends(c, *model));
    const double off = c.spec.name == "bsa-tnp" ? 1e-9 : kRounding;  // whose sum of weights has a constant besides
    for (const Tensor& weights : layers) {
      REQUIRE(weights.shape() == Shape{2, weights.dim(1), 7});
      for (const double sum : row_sums(weights)) CHECK(std::abs(sum - 1) <= off);
      for (std::int64_t h = 0; h < weights.dim(1); ++h)
        for (std::int64_t j = 4; j < 7; ++j) CHECK(weights.data<double>()[h * 7 + j] == 0);
    }
  }
}

TEST_CASE("context attention: listeners do not change results") {
  for (const ModelCase& c : small_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec, DType::float32);
    const Task task = random_task(*model, {}, DType::float32);
    const Moments before = predict(*model, task);
    struct Deaf final : AttentionListener {
      void hear(const HeardAttention& /*heard*/) override {}
    } listener;
    const Moments heard = predict(*model, task);
    CHECK(same_bits(heard.mean, before.mean));
    CHECK(same_bits(heard.std, before.std));
  }
}

TEST_CASE("context attention: uniform and laplace attention have weights that need no model") {
  for (const bool uniform : {true, false}) {
    const auto model = deepmind_anp(uniform ? R"("uniform")" : R"("laplace", "laplace_scale": 0.5)");
    const Task task = random_task(*model, kOneTarget);
    const auto layers = attention_of(*model, task);
    REQUIRE(layers.size() == 1);
    const std::vector<double> xc = doubles(task.xc), xt = doubles(task.xt);
    std::vector<double> expected;
    for (std::int64_t b = 0; b < 2; ++b) {
      std::vector<double> row;
      for (std::int64_t j = 0; j < 7; ++j) {
        const double* const x = xc.data() + (b * 7 + j) * 2;
        const double* const t = xt.data() + b * 2;
        row.push_back(uniform ? 1 : std::exp(-(std::abs(x[0] - t[0]) + std::abs(x[1] - t[1])) / 0.5));
      }
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (const double weight : row) expected.push_back(weight / sum);
    }
    CHECK(largest_difference(layers[0], expected) <= kRounding);
  }
}

TEST_CASE("context attention: attention of targets through latents is the product of the layers between") {
  const auto made = varied_model(small_model("lbanp"));
  const auto& model = dynamic_cast<const Lbanp&>(*made);
  const Task task = random_task(model, {.batch = 1, .nc = 7, .nt = 1});
  const PrefixMask all = PrefixMask::all();
  const auto& [cross, self] = model.encoder[0];
  const Tensor tokens = model.embedder(concat({task.xc, task.yc}, -1));
  const Tensor latents = reshape(model.latents.value, {1, 3, 8});
  const auto mean_weights = [&](const PerceiverLayer& layer, const Tensor& x, const Tensor& keys) {
    const Tensor queries = layer.attention.query(layer.norm1(x));
    return mean(attention_weights(queries, keys, all, layer.attention.options()), 1);
  };
  const Tensor reads = mean_weights(cross, latents, cross.keys_values(tokens).keys);  // (1, 3, 7)
  const Tensor met = cross(latents, cross.keys_values(tokens));
  const Tensor among = mean_weights(self, met, self.attention.key(self.norm1(met)));  // (1, 3, 3)
  const PerceiverLayer& decoder = model.decoder.layers[0];
  const Tensor queries = decoder.attention.query(decoder.norm1(model.decoder.embedder(task.xt)));
  const Tensor sees = attention_weights(queries, decoder.keys_values(self(met)).keys, all, decoder.attention.options());
  const Tensor heads = reshape(sees, {1, 2, 3});  // of one target, two heads
  const auto layers = attention_of(model, task);
  REQUIRE(layers.size() == 2);
  CHECK(difference(layers[0], matmul(matmul(heads, among), reads)) <= kRounding);
}

TEST_CASE("context attention: chunks and later points are seen as all points at once are") {
  const auto in_chunks_of_two = small_form("cmanp", R"({"CMAB_block_size": 2})"), at_once = small_form("cmanp", "{}");
  const Task task = random_task(*at_once, kOneTarget);
  const auto expected = attention_of(*at_once, task), found = attention_of(*in_chunks_of_two, task);
  REQUIRE(expected.size() == 2);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(difference(found[i], expected[i]) <= kRounding);

  const auto part = [&](const Tensor& x, std::int64_t begin, std::int64_t end) { return slice(x, 1, begin, end); };
  const KeepAttention keep;
  const auto first = condition(*at_once, {part(task.xc, 0, 3), part(task.yc, 0, 3)});
  const auto all = at_once->update(*first, {part(task.xc, 3, 7), part(task.yc, 3, 7)});
  struct Readings final : AttentionListener {
    void hear(const HeardAttention& heard) override { all.push_back(heard.origin.reading); }
    std::vector<Tensor> all;
  } of_update;
  query(*at_once, *all, task.xt);
  const auto together = condition(*at_once, context_of(task));
  Readings of_all;
  query(*at_once, *together, task.xt);
  REQUIRE(of_update.all.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(difference(of_update.all[i], of_all.all[i]) <= kRounding);
}

TEST_CASE("context attention: an empty context gets no attention, several targets are refused") {
  const auto model = varied_model(small_model("tnp-d"));
  const Task none = random_task(*model, {.batch = 1, .nc = 0, .nt = 1});
  const auto layers = attention_of(*model, none);
  REQUIRE(layers.size() == 2);
  CHECK(layers[0].shape() == Shape{1, 2, 0});
  CHECK(error_of([&] { attention_of(*model, random_task(*model, {.batch = 1, .nc = 3, .nt = 2})); }) ==
        "[attention] targets (1, 2, 1) found, expected one for each task");
}
