#include "npzoo/models/tnp/tetnp.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reduce/reduce.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::vector<ModelCase> te_forms() {
  std::vector<ModelCase> forms = small_models();
  std::erase_if(forms, [](const ModelCase& c) { return c.spec.name != "tetnp"; });
  return forms;
}

Task shifted(Task task, double by) {
  task.xc = affine(task.xc, 1, by);
  task.xt = affine(task.xt, 1, by);
  return task;
}

/// Linear layers with ReLU between them, of one vector.
std::vector<double> apply(const Mlp& network, std::vector<double> x) {
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const std::vector<double> weight = doubles(network.layers[l].weight.value),
                              bias = doubles(network.layers[l].bias.value);
    std::vector<double> y = bias;
    for (std::size_t o = 0; o < y.size(); ++o) {
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
      if (l + 1 < network.layers.size()) y[o] = std::max(y[o], 0.0);
    }
    x = std::move(y);
  }
  return x;
}

TeAttentionConfig small_attention(std::int64_t moves) {
  return {.dim_x = 2,
          .width = 6,
          .hidden = 5,
          .heads = 2,
          .head_width = 3,
          .kernel_layers = 2,
          .kernel_width = 7,
          .move_width = moves};
}

TeAttention made_attention(std::int64_t moves) {
  Initializer init(Framework::torch, {.seed = 3});
  TeAttention attention(small_attention(moves), init);
  for (const auto& [name, parameter] : named_parameters(attention))
    parameter->value = parameter->value.to(DType::float64);
  return attention;
}

PlacedTokens some_points(std::int64_t batch, std::int64_t n, std::uint64_t seed) {
  return {normal<double>({batch, n, 6}, seed), normal<double>({batch, n, 2}, seed + 1)};
}

}  // namespace

TEST_CASE("tetnp: a shift of all inputs changes no prediction, a reflection does") {
  for (const ModelCase& c : te_forms()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {});
    const Moments before = predict(*model, task);
    for (const double by : {3.7, -250.0}) CHECK(difference(predict(*model, shifted(task, by)), before) <= 1e-10);
    Task mirrored = task;
    mirrored.xc = affine(task.xc, -1, 0);
    mirrored.xt = affine(task.xt, -1, 0);
    CHECK(difference(predict(*model, mirrored), before) > 1e-6);
    Task moved = task;  // targets alone
    moved.xt = affine(task.xt, 1, 0.5);
    CHECK(difference(predict(*model, moved), before) > 1e-6);
  }
}

TEST_CASE("tetnp: attention is the formula, pair by pair") {
  for (const std::int64_t moves : {0, 1, 2}) {
    CAPTURE(moves);
    const TeAttention attention = made_attention(moves);
    const PlacedTokens queries = some_points(1, 4, 1), points = some_points(1, 5, 3);
    const PlacedKeys keys = attention.project(points, {});
    const PlacedTokens found = attention(queries, keys);
    const std::vector<double> q = doubles(attention.query(queries.tokens)), k = doubles(keys.keys),
                              v = doubles(keys.values), xq = doubles(queries.places), xk = doubles(points.places);
    std::vector<double> attended, places;
    for (std::size_t i = 0; i < 4; ++i) {
      std::vector<std::vector<double>> scores;
      for (std::size_t j = 0; j < 5; ++j) {
        std::vector<double> in{xq[2 * i] - xk[2 * j], xq[2 * i + 1] - xk[2 * j + 1]};
        for (std::size_t h = 0; h < 2; ++h) {
          double dot = 0;
          for (std::size_t d = 0; d < 3; ++d) dot += q[6 * i + 3 * h + d] * k[6 * j + 3 * h + d];
          in.push_back(dot / std::sqrt(3.0));
        }
        scores.push_back(apply(attention.kernel, in));
      }
      for (std::size_t h = 0; h < 2; ++h) {
        double total = 0;
        for (auto& pair : scores) total += pair[h] = std::exp(pair[h]);
        for (auto& pair : scores) pair[h] /= total;
      }
      for (std::size_t c = 0; c < 6; ++c) {
        double sum = 0;
        for (std::size_t j = 0; j < 5; ++j) sum += scores[j][c / 3] * v[6 * j + c];
        attended.push_back(sum);
      }
      for (std::size_t c = 0; c < 2; ++c) {
        double step = 0;
        for (std::size_t j = 0; j < 5 && moves > 0; ++j)
          step += (xq[2 * i + c] - xk[2 * j + c]) * apply(*attention.move, scores[j])[moves == 1 ? 0 : c] / 5;
        places.push_back(xq[2 * i + c] + step);
      }
    }
    const Tensor expected = attention.out(Tensor::from<double>({1, 4, 6}, attended).to(default_device()));
    CHECK(difference(found.tokens, expected) <= kRounding);
    CHECK(largest_difference(found.places, places) <= kRounding);
  }
}

TEST_CASE("tetnp: padded keys count for nothing, and no key moves nothing") {
  for (const std::int64_t moves : {0, 1, 2}) {
    const TeAttention attention = made_attention(moves);
    const PlacedTokens queries = some_points(2, 4, 1), points = some_points(2, 5, 3);
    const PlacedTokens found = attention(queries, attention.project(points, Tensor::from<std::int64_t>({2}, {3, 0})));
    const PlacedTokens first{row(queries.tokens, 0), row(queries.places, 0)};
    const PlacedTokens real{slice(row(points.tokens, 0), 1, 0, 3), slice(row(points.places, 0), 1, 0, 3)};
    const PlacedTokens alone = attention(first, attention.project(real, {}));
    CHECK(difference(row(found.tokens, 0), alone.tokens) <= kRounding);
    CHECK(difference(row(found.places, 0), alone.places) <= kRounding);
    CHECK(difference(row(found.places, 1), row(queries.places, 1)) == 0);
    for (std::int64_t i = 0; i < 4; ++i)  // the output's bias alone
      CHECK(largest_difference(slice(row(found.tokens, 1), 1, i, i + 1), doubles(attention.out.bias.value)) <=
            kRounding);
  }
}

TEST_CASE("tetnp: targets do not influence each other, with layers that move them as well") {
  for (const ModelCase& c : te_forms()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {2, 6, 5});
    const auto state = condition(*model, context_of(task));
    const Moments all = query(*model, *state, task.xt), some = query(*model, *state, slice(task.xt, 1, 1, 3));
    CHECK(difference(some, {slice(all.mean, 1, 1, 3), slice(all.std, 1, 1, 3)}) <= kRounding);
  }
}

TEST_CASE("tetnp: a context given twice says nothing new, unless layers move the points") {
  for (const ModelCase& c : te_forms()) {
    CAPTURE(c.label);
    const auto model = varied_model(c.spec);
    const Task task = random_task(*model, {});
    const Task twice{concat({task.xc, task.xc}, 1), concat({task.yc, task.yc}, 1), task.xt, task.yt, {}};
    const double change = difference(predict(*model, twice), predict(*model, task));
    CHECK((change <= kRounding) == !c.spec.config.contains("phi_out"));
  }
}

TEST_CASE("tetnp: queries in chunks give the same values and gradients, and need no memory for all pairs") {
  const TeAttention attention = made_attention(2);
  const auto attended = [&](const PlacedTokens& queries, const PlacedTokens& points) {
    const PlacedTokens found = attention(queries, attention.project(points, {}));
    return concat({found.tokens, found.places}, 2);
  };
  const std::vector<Tensor> inputs{normal<double>({2, 7, 6}, 1), normal<double>({2, 7, 2}, 2),
                                   normal<double>({2, 5, 6}, 3), normal<double>({2, 5, 2}, 4)};
  const auto with_chunks = [&](std::int64_t points) {
    const ChunkPoints chunks(points);
    return with_gradients(
        [&](const std::vector<Tensor>& in) {
          return sum(square(attended({in[0], in[1]}, {in[2], in[3]})));
        },
        inputs);
  };
  const auto whole = with_chunks(7), parts = with_chunks(3);
  for (std::size_t i = 0; i < whole.size(); ++i) CHECK(difference(parts[i], whole[i]) <= kRounding);

  const ThreadCount one(1);
  const ChunkPoints chunks(8);
  const PlacedTokens keys = some_points(1, 100, 7);
  for (const bool recorded : {false, true}) {
    CAPTURE(recorded);
    const auto peak = [&](std::int64_t count) {
      const PlacedTokens queries = some_points(1, count, 9);
      return peak_bytes([&] {
        Tape tape;
        std::optional<Recording> on;
        if (recorded) on.emplace(tape);
        Tensor tokens = queries.tokens.detach();
        if (recorded) tape.watch(tokens);
        static_cast<void>(attended({tokens, queries.places}, keys));
      });
    };
    // A query has 7 · 100 numbers in each hidden layer of the network of pairs.
    CHECK(peak(128) - peak(64) < 64 * 7 * 100 * 8 / 4);
  }
}

TEST_CASE("tetnp: options that do not go together are refused") {
  ModelSpec spec = small_model("tetnp");
  spec.config["dim_x"] = std::int64_t{3};
  spec.config["phi_out"] = std::int64_t{2};
  CHECK(error_of([&] { make_model(spec); }) == "[tetnp] phi_out 2 found, expected 0, 1 or the number of inputs, 3");
  const auto model = varied_model(small_model("tetnp"));
  ModelSpec deeper = small_model("tetnp");
  deeper.config["num_layers"] = std::int64_t{3};
  const auto other = varied_model(deeper);
  const Task task = random_task(*model, {2, 3, 2});
  CHECK(error_of([&] { query(*other, *condition(*model, context_of(task)), task.xt); }) ==
        "[tetnp] the state of the context has 2 layers, expected 3");
}
