#include "npzoo/models/taylor/authors.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "npzoo/datasets/task.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/predictions/autoregressive.h"
#include "npzoo/models/taylor/taylorformer.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gaussian_log_density/gaussian_log_density.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr double kAdded = 1e-3;  // to deviations, which recordings do not have in them
constexpr RecordedAdam kKerasAdam{.name = "keras-adam", .lr = 3e-4, .epsilon = 1e-7};

/// A layer of theirs, `words` being the names within ours.
AuthorsPlace keras_layer(const std::string& layer, Words words) {
  const std::string &part = words[0], &kind = words.back();
  const std::string scale = kind == "weight" ? ".gamma" : ".beta";
  if (part == "norm1") return {layer + ".ffn.layernorm.0" + scale};
  if (part == "norm2") return {layer + ".ffn.layernorm.1" + scale};
  if (part == "residual") return flax_dense(layer + ".ffn.dense_a", kind);
  if (part == "expand") return flax_dense(layer + ".ffn.dense_b", kind);
  if (part == "contract") return flax_dense(layer + ".ffn.dense_c", kind);
  const std::string& which = words[1];
  const char* theirs = which == "query" ? "W_q" : which == "key" ? "W_k" : which == "value" ? "W_v" : "W_o";
  return flax_dense(layer + ".mha." + theirs, kind);
}

AuthorsPlace place_of_taylorformer(const std::string& name) {
  const auto words = split_name(name);
  const std::string& kind = words.back();
  if (words[0] == "features") {
    const char* theirs = kind == "gain"   ? "gamma"
                         : kind == "bias" ? "beta"
                         : kind == "mean" ? "moving_mean"
                                          : "moving_variance";
    return {fmt::format("_DE.batch_norm_layer.{}", theirs)};
  }
  if (words[0] == "join") return flax_dense("_taylorformer.linear_layer", kind);
  if (words[0] == "mean") return flax_dense("_taylorformer.dense_last", kind);
  if (words[0] == "deviation") return flax_dense("_taylorformer.dense_sigma", kind);
  const std::string stream = words[0] == "x_stream" ? "_taylorformer.mha_x" : "_taylorformer.mha_xy";
  const int layer = std::stoi(words[2]);
  return keras_layer(layer == 0 ? stream + "_a" : fmt::format("{}_b.{}", stream, layer - 1), Words(words).subspan(3));
}

AuthorsPlace place_of_taylorformer_tnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "embedder") return flax_dense("_tnp.embed.embed." + words[2], words[3]);
  if (words[0] == "predictor") return flax_dense(words[2] == "0" ? "_tnp.dense" : "_tnp.linear", words[3]);
  return keras_layer("_tnp.mha_xy." + words[2], Words(words).subspan(3));
}

ModelConfig dimensions_of_task(ModelConfig ours, const Task& task) {
  ours["dim_x"] = task.xc.dim(2);
  ours["dim_y"] = task.yc.dim(2);
  return ours;
}

/// Returns the scores that both recordings have of each target given those before.
NamedTensors scores_of(const Moments& moments, const Tensor& y) {
  const Tensor each = affine(gaussian_log_density(y, moments.mean, moments.std), -1, 0);
  const Tensor std = affine(moments.std, 1, -kAdded), squares = square(sub(y, moments.mean));
  // The density of a target is that of its channels together.
  std::vector<Tensor> channels;
  for (std::int64_t c = 0; c < y.dim(2); ++c) {
    const auto one = [c](const Tensor& x) { return slice(x, 2, c, c + 1); };
    channels.push_back(reshape(affine(gaussian_log_density(one(y), one(moments.mean), one(moments.std)), -1, 0),
                               {y.dim(0), y.dim(1), 1}));
  }
  return {{"mean", moments.mean},    {"std", std},
          {"log_sigma", log(std)},   {"pointwise.nll", concat(channels, 2)},
          {"sum_nll", sum(each)},    {"loss", affine(mean(each), 1 / static_cast<double>(y.dim(2)), 0)},
          {"sum_mse", sum(squares)}, {"mse", mean(squares)}};
}

/// Features of points by their neighbours, as the model's keys hold them: channels in this order.
NamedTensors features_of(const TaylorInputs& inputs, std::int64_t dim_x, std::int64_t dim_y) {
  NamedTensors features;
  std::int64_t at = dim_y;  // after the value itself
  const auto next = [&](const char* name, std::int64_t channels) {
    features[name] = slice(inputs.key, 2, at, at + channels);
    at += channels;
  };
  next("y_diff", dim_x * dim_y);
  next("d", 2 * dim_x * dim_y);
  next("y_n", dim_x * dim_y);
  ++at;  // the flag
  next("x_emb", inputs.key.dim(2) - at - 2 * dim_x * dim_x);
  next("x_diff", dim_x * dim_x);
  next("x_n", dim_x * dim_x);
  return features;
}

/// Points that the features y_n (B, N, k·Dy) and x_n (B, N, k·Dx) of each point come from, found by their values among
/// those that may be its neighbours: (B, n, k), or (B, n) for one neighbour, of the points `first` to `end`. Noise is
/// added to x_n, so x decides only if values are equal.
Tensor neighbours(const Task& task, const NamedTensors& features, std::int64_t first, std::int64_t end) {
  const auto here = [](const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); };
  const Tensor x = here(concat({task.xc, task.xt}, 1)), y = here(concat({task.yc, task.yt}, 1)),
               y_near = here(features.at("y_n")), x_near = here(features.at("x_n"));
  const std::int64_t batch = x.dim(0), all = x.dim(1), dim_x = x.dim(2), dim_y = y.dim(2), context = task.xc.dim(1);
  const auto distance = [](const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j, std::int64_t width) {
    double sum = 0;
    for (std::int64_t c = 0; c < width; ++c)
      sum += std::abs(a.data<double>()[i * width + c] - b.data<double>()[j * width + c]);
    return sum;
  };
  Tensor found = Tensor::zeros({batch, end - first, dim_x}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t i = first; i < end; ++i)
      for (std::int64_t k = 0; k < dim_x; ++k) {
        std::pair best(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
        for (std::int64_t j = 0; j < std::max(i, context); ++j) {
          if (j == i) continue;
          const std::int64_t own = (b * all + i) * dim_x + k;
          const std::pair here_is(distance(y_near, own, y, b * all + j, dim_y),
                                  distance(x_near, own, x, b * all + j, dim_x));
          if (!(here_is < best)) continue;
          best = here_is;
          found.data<std::int64_t>()[(b * (end - first) + i - first) * dim_x + k] = j;
        }
      }
  return dim_x == 1 ? found.view({batch, end - first}) : found;
}

NamedTensors outputs_of_taylorformer(const Model& model, const Task& task, Draws& draws, bool training,
                                     const ModelConfig&) {
  const NoGrad off;
  const auto& taylorformer = dynamic_cast<const Taylorformer&>(model);
  TaylorInputs inputs{};
  const Moments moments =
      training ? taylorformer.in_training(task, draws, &inputs) : taylorformer.teacher_forced(task, draws, &inputs);
  NamedTensors outputs = scores_of(moments, task.yt);
  outputs["taylor.query_xy"] = inputs.query;
  outputs["taylor.key_xy"] = inputs.key;
  const NamedTensors features = features_of(inputs, task.xc.dim(2), task.yc.dim(2));
  for (const auto& [name, feature] : features) outputs["taylor." + name] = feature;
  const std::int64_t context = task.xc.dim(1), all = inputs.key.dim(1);
  outputs["taylor.neighbour.context"] = neighbours(task, features, 0, context);
  outputs["taylor.neighbour.target"] = neighbours(task, features, context, all);
  return outputs;
}

NamedTensors outputs_of_taylorformer_tnp(const Model& model, const Task& task, Draws& draws, bool, const ModelConfig&) {
  const NoGrad off;
  const auto state = model.condition({task.xc, task.yc}, draws, 1);
  const auto prediction = model.query(*state, task.xt);
  const Marginals given = dynamic_cast<const Autoregressive&>(*prediction).given_those_before(task.yt);
  return scores_of({reshape(given.mean, task.yt.shape()), reshape(given.std, task.yt.shape())}, task.yt);
}

}  // namespace

std::span<const AuthorsCode> taylorformer_authors() {
  static constexpr AuthorsCode kCodes[] = {{.recorded_as = "taylorformer",
                                            .place = place_of_taylorformer,
                                            .of_task = dimensions_of_task,
                                            .adam = kKerasAdam,
                                            .outputs = outputs_of_taylorformer}};
  return kCodes;
}

std::span<const AuthorsCode> taylorformer_tnp_authors() {
  static constexpr AuthorsCode kCodes[] = {{.recorded_as = "taylorformer-tnp",
                                            .place = place_of_taylorformer_tnp,
                                            .of_task = dimensions_of_task,
                                            .adam = kKerasAdam,
                                            .outputs = outputs_of_taylorformer_tnp}};
  return kCodes;
}

}  // namespace npzoo
