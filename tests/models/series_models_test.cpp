#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/models/forecast/autoformer.h"
#include "npzoo/models/forecast/informer.h"
#include "npzoo/models/training/batch_gradients.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/softmax/softmax.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kWidth = 6;

struct SeriesLengths {
  std::int64_t batch = 3, queries = 7, keys = 7;

  Tensor x() const { return normal<double>({batch, queries, kWidth}, 31); }
  Tensor memory() const { return normal<double>({batch, keys, kWidth}, 32); }
};

/// A module in double, with values of its own.
template <class Module>
Module varied(Module module) {
  std::uint64_t seed = 300;
  for (const auto& [name, parameter] : named_tensors(module))
    if (parameter->trained)
      parameter->value = normal<double>(parameter->value.shape(), seed++, 0.5);
    else
      parameter->value = parameter->value.to(DType::float64);
  return module;
}

Initializer some_weights() { return {Framework::torch, {}}; }

AutoCorrelation auto_correlation(double factor) {
  Initializer init = some_weights();
  return varied(AutoCorrelation(kWidth, factor, init));
}

ProbAttention prob_attention(const ProbAttentionConfig& config) {
  Initializer init = some_weights();
  return varied(ProbAttention(config, init));
}

double at(const Tensor& x, std::int64_t b, std::int64_t t, std::int64_t c) {
  return t < x.dim(1) ? x.data<double>()[(b * x.dim(1) + t) * x.dim(2) + c] : 0;
}

/// Mean over channels of Σ over t of q(t + τ) k(t), going round at the length of q; behind its end k is 0.
double correlation_by_definition(const Tensor& q, const Tensor& k, std::int64_t b, std::int64_t delay) {
  double sum = 0;
  const std::int64_t length = q.dim(1);
  for (std::int64_t t = 0; t < length; ++t)
    for (std::int64_t c = 0; c < kWidth; ++c) sum += at(q, b, (t + delay) % length, c) * at(k, b, t, c);
  return sum / static_cast<double>(kWidth);
}

/// Auto-correlation of projected queries, keys and values, delay by delay.
Tensor moved_values(const std::vector<double>& correlation, const Tensor& values, std::int64_t length,
                    std::int64_t count, bool training) {
  const std::int64_t batch = values.dim(0);
  Tensor out = Tensor::zeros({batch, length, kWidth}, DType::float64);
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto of = [&](std::int64_t task, std::int64_t delay) {
      return correlation[static_cast<std::size_t>(task * length + delay)];
    };
    const auto rank = [&](std::int64_t delay) {
      double sum = 0;
      for (std::int64_t task = 0; task < batch; ++task) sum += of(task, delay);
      return training ? sum : of(b, delay);
    };
    std::vector<std::int64_t> delays(static_cast<std::size_t>(length));
    std::iota(delays.begin(), delays.end(), 0);
    std::ranges::stable_sort(delays, std::greater(), rank);
    delays.resize(static_cast<std::size_t>(count));
    double total = 0;
    for (const std::int64_t delay : delays) total += std::exp(of(b, delay));
    for (const std::int64_t delay : delays)
      for (std::int64_t t = 0; t < length; ++t)
        for (std::int64_t c = 0; c < kWidth; ++c)
          out.data<double>()[(b * length + t) * kWidth + c] +=
              std::exp(of(b, delay)) / total * at(values, b, (t + delay) % length, c);
  }
  return out;
}

/// Softmax attention of heads by themselves, put side by side, of all keys or those up to a query's own step.
Tensor full_attention(const SeriesProjections& p, const Tensor& x, const Tensor& memory, std::int64_t heads,
                      bool causal) {
  const Tensor q = p.query(x), k = p.key(memory), v = p.value(memory);
  const std::int64_t each = kWidth / heads;
  Tensor out = Tensor::zeros(q.shape(), DType::float64);
  for (std::int64_t b = 0; b < x.dim(0); ++b)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < x.dim(1); ++i) {
        std::vector<double> weights;
        for (std::int64_t j = 0; j < (causal ? i + 1 : memory.dim(1)); ++j) {
          double logit = 0;
          for (std::int64_t c = h * each; c < (h + 1) * each; ++c) logit += at(q, b, i, c) * at(k, b, j, c);
          weights.push_back(std::exp(logit / std::sqrt(static_cast<double>(each))));
        }
        const double total = std::reduce(weights.begin(), weights.end());
        for (std::int64_t c = h * each; c < (h + 1) * each; ++c)
          for (std::size_t j = 0; j < weights.size(); ++j)
            out.data<double>()[(b * x.dim(1) + i) * kWidth + c] +=
                weights[j] / total * at(v, b, static_cast<std::int64_t>(j), c);
      }
  return p.out(out);
}

std::vector<ModelCase> series_models() {
  std::vector<ModelCase> cases = small_models();
  std::erase_if(cases, [](const ModelCase& c) { return model_info(c.spec.name).takes != TaskForm::series; });
  return cases;
}

}  // namespace

TEST_CASE("identity 18: auto-correlation is a sum over the delays that circular correlation ranks first") {
  const OnCpu cpu;
  for (const SeriesLengths& size : {SeriesLengths{3, 7, 7}, SeriesLengths{2, 9, 4}, SeriesLengths{3, 5, 8}})
    for (const CircularMethod method : {CircularMethod::products, CircularMethod::fourier})
      for (const double factor : {0.1, 1.0, 2.0})
        for (const bool training : {false, true}) {
          CAPTURE(size.keys);
          CAPTURE(static_cast<int>(method));
          CAPTURE(factor);
          CAPTURE(training);
          AutoCorrelation attention = auto_correlation(factor);
          attention.method = method;
          const SeriesProjections& p = attention.projections;
          const Tensor q = p.query(size.x()), k = p.key(size.memory()), v = p.value(size.memory());
          std::vector<double> correlation;
          for (std::int64_t b = 0; b < size.batch; ++b)
            for (std::int64_t delay = 0; delay < size.queries; ++delay)
              correlation.push_back(correlation_by_definition(q, k, b, delay));
          const auto count = std::max<std::int64_t>(
              1, static_cast<std::int64_t>(factor * std::log(static_cast<double>(size.queries))));
          const Tensor expected = p.out(moved_values(correlation, v, size.queries, count, training));

          Draws draws = some_draws();
          SeriesTrace trace;
          const Tensor found = attention(size.x(), size.memory(), {draws, training, 0, &trace});
          CHECK(error(trace.correlations.at(0), correlation) <= 1e-13);
          CHECK(difference(found, expected) <= 1e-13);
        }
}

TEST_CASE("identity 18: delays of a batch of one are its own, and of equal correlations all shifts count alike") {
  const OnCpu cpu;
  Draws draws = some_draws();
  const SeriesLengths one{1, 7, 7};
  const AutoCorrelation attention = auto_correlation(1);
  CHECK(same_bits(attention(one.x(), one.memory(), {draws, true}), attention(one.x(), one.memory(), {draws, false})));

  // Constant keys correlate alike at every delay; factor 4 asks for ⌊4 ln 7⌋ = 7 of them.
  AutoCorrelation all = auto_correlation(4);
  all.projections.key.weight.value = Tensor::zeros({kWidth, kWidth}, DType::float64);
  const SeriesProjections& p = all.projections;
  const Tensor values = p.value(one.memory());
  Tensor mean = Tensor::zeros({1, 7, kWidth}, DType::float64);
  for (std::int64_t t = 0; t < 7; ++t)
    for (std::int64_t c = 0; c < kWidth; ++c)
      for (std::int64_t s = 0; s < 7; ++s) mean.data<double>()[t * kWidth + c] += at(values, 0, s, c) / 7;
  CHECK(difference(all(one.x(), one.memory(), {draws, false}), p.out(mean)) <= 1e-13);
}

TEST_CASE("identity 18: sparse attention of as many queries as there are is full attention, whatever was drawn") {
  const OnCpu cpu;
  for (const bool causal : {false, true})
    for (const std::int64_t heads : {1, 3})
      for (const SeriesLengths& size : {SeriesLengths{2, 7, 7}, SeriesLengths{2, 5, causal ? 5 : 9}}) {
        CAPTURE(causal);
        CAPTURE(heads);
        const ProbAttention attention = prob_attention({kWidth, heads, 5, causal});
        const Tensor expected = full_attention(attention.projections, size.x(), size.memory(), heads, causal);
        for (const std::uint64_t seed : {1, 2}) {
          Draws draws(seed, Purpose::training, 0);
          CHECK(difference(attention(size.x(), size.memory(), {draws}), expected) <= 1e-13);
        }
      }
}

TEST_CASE("sparse attention: few queries attend, the others get the result of a zero query") {
  const OnCpu cpu;
  const SeriesLengths size{3, 20, 20};
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    ProbAttention attention = prob_attention({kWidth, 1, 1, causal});
    SeriesTrace trace;
    Draws draws = some_draws();
    const Tensor found = attention(size.x(), size.memory(), {draws, false, 0, &trace});
    const Tensor full = full_attention(attention.projections, size.x(), size.memory(), 1, causal),
                 values = attention.projections.value(size.memory());
    Tensor idle = Tensor::zeros({size.batch, size.queries, kWidth}, DType::float64);
    for (std::int64_t b = 0; b < size.batch; ++b)
      for (std::int64_t i = 0; i < size.queries; ++i)
        for (std::int64_t j = 0; j < (causal ? i + 1 : size.keys); ++j)
          for (std::int64_t c = 0; c < kWidth; ++c)
            idle.data<double>()[(b * size.queries + i) * kWidth + c] +=
                at(values, b, j, c) / (causal ? 1 : static_cast<double>(size.keys));
    const Tensor without = attention.projections.out(idle);
    const std::vector<double> chosen = doubles(trace.chosen.at(0));
    CHECK(std::ranges::count(chosen, 1.0) == 3 * size.batch);  // ⌈ln 20⌉
    CHECK(std::ranges::count(chosen, 0.0) == 17 * size.batch);
    double error = 0;
    for (std::int64_t b = 0; b < size.batch; ++b)
      for (std::int64_t i = 0; i < size.queries; ++i)
        for (std::int64_t c = 0; c < kWidth; ++c) {
          const Tensor& expected = chosen[static_cast<std::size_t>(b * size.queries + i)] == 1 ? full : without;
          error = std::max(error, std::abs(at(found, b, i, c) - at(expected, b, i, c)));
        }
    CHECK(error <= 1e-13);
  }
}

TEST_CASE("sparse attention: heads are put side by side, or scrambled as in the authors' code") {
  const OnCpu cpu;
  const SeriesLengths size;
  const auto with = [&](std::int64_t heads, bool scrambled) {
    Draws draws = some_draws();
    return prob_attention({kWidth, heads, 5, false, scrambled})(size.x(), size.memory(), {draws});
  };
  CHECK(same_bits(with(1, true), with(1, false)));
  CHECK(difference(with(2, true), with(2, false)) > 1e-3);
}

TEST_CASE("distilling: a series is halved, and evaluation does not depend on the batch") {
  const OnCpu cpu;
  Initializer init = some_weights();
  DistillingLayer layer = varied(DistillingLayer(kWidth, init));
  for (const std::int64_t length : {1, 2, 7, 12})
    CHECK(layer(normal<double>({2, length, kWidth}, 5), false).dim(1) == (length + 1) / 2 + 1);
  const Tensor x = normal<double>({3, 8, kWidth}, 6);
  CHECK(difference(row(layer(x, false), 1), layer(row(x, 1), false)) <= 1e-14);
  CHECK(difference(row(layer(x, true), 1), layer(row(x, 1), true)) > 1e-3);
}

TEST_CASE("series models: where a step is said to be means nothing, when it was does") {
  const OnCpu cpu;
  for (const ModelCase& c : series_models()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    Task task = random_task(*model, {2, 6, 5});
    const Moments before = predict(*model, task);
    for (Tensor* x : {&task.xc, &task.xt})
      for (std::int64_t i = 0; i < x->numel(); i += x->dim(2)) x->data<double>()[i] += 3;
    CHECK(difference(predict(*model, task), before) == 0);
    if (model->dim_x() == 1) continue;
    task.xt.data<double>()[1] += 1;
    CHECK(difference(predict(*model, task), before) > 1e-6);
  }
}

TEST_CASE("series models: a batch is trained on whole, and gives the same bits on any number of threads") {
  const OnCpu cpu;
  for (ModelCase c : series_models()) {
    CAPTURE(c.label);
    c.spec.config["dropout"] = 0.2;
    const auto model = varied_model(c.spec, DType::float32);
    const Task task = random_task(*model, {6, 7, 5}, DType::float32);
    const auto gradients_by = [&](int threads) {
      const ThreadCount count(threads);
      BatchGradients batch(named_parameters(*model));
      std::vector<double> all{batch.compute(*model, task, some_draws())};
      REQUIRE(batch.parts().size() == 1);
      for (const auto& [name, parameter] : named_parameters(*model))
        for (const double value : doubles(batch.parts()[0]->of(parameter->value))) all.push_back(value);
      return all;
    };
    const std::vector<double> once = gradients_by(1);
    CHECK(gradients_by(3) == once);
    c.spec.config["dropout"] = 0.0;
    const auto plain = make_model(c.spec);
    const auto from = named_tensors(*model), to = named_tensors(*plain);
    for (std::size_t i = 0; i < from.size(); ++i) to[i].parameter->value = from[i].parameter->value;
    CHECK(loss(*plain, task).item() != loss(*model, task).item());
    CHECK(same_bits(predict(*plain, task).mean, predict(*model, task).mean));
  }
}

TEST_CASE("series models: statistics of batches are kept before an update, and used in evaluation alone") {
  const OnCpu cpu;
  const auto model = varied_model(small_model("informer"));
  const Task task = random_task(*model, {4, 9, 5});
  const Moments before = predict(*model, task);
  const double loss_before = loss(*model, task).item();
  model->before_step(task, some_draws());
  CHECK(difference(predict(*model, task), before) > 1e-6);
  CHECK(loss(*model, task).item() == loss_before);
}

TEST_CASE("series models: errors of configuration") {
  const auto error_with = [](const std::string& model, const char* key, const ModelConfig::mapped_type& value) {
    ModelSpec spec = small_model(model);
    spec.config[key] = value;
    return error_of([&] { static_cast<void>(make_model(spec)); });
  };
  CHECK(error_with("autoformer", "moving_avg", std::int64_t{4}) ==
        "[autoformer] moving_avg 4 found, expected an odd number");
  CHECK(error_with("autoformer", "factor", 0.0) == "[autoformer] factor is 0, expected a number > 0, up to 1000");
  CHECK(error_with("autoformer", "activation", std::string("tanh")) ==
        "[autoformer] activation 'tanh' found, expected relu or gelu");
  CHECK(error_with("informer", "label_len", std::int64_t{-1}) ==
        "[informer] label_len is -1, expected an integer from 0 to 65536");
  CHECK(error_with("informer", "dropout", 1.0) == "[informer] dropout is 1, expected a number >= 0 and < 1");
  CHECK(error_with("informer", "n_heads", std::int64_t{4}) ==
        "[informer] d_model 6 found, expected a multiple of 4 heads");
  CHECK(error_with("informer", "cross", std::string("prob")) ==
        "[informer] cross 'prob' found, expected full or sparse");
  CHECK(error_with("informer", "merge_heads", std::string("mixed")) ==
        "[informer] merge_heads 'mixed' found, expected side-by-side or scrambled");
}
