#include "npzoo/models/forecast/authors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "npzoo/datasets/task.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/forecast/informer.h"
#include "npzoo/models/forecast/series_model.h"
#include "npzoo/models/parity/recorded_tensors.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reduce/reduce.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr RecordedAdam kForecastAdam{.lr = 1e-4};

std::string projection_of(const std::string& ours) { return (ours == "out" ? "out" : ours) + "_projection"; }

/// Within a layer of theirs; `words` are the names within ours.
AuthorsPlace in_layer(const std::string& layer, Words words) {
  const std::string &part = words[0], &kind = words.back();
  if (part == "trend") return {layer + ".projection.weight", 0, 1, AuthorsLayout::convolution};
  if (part == "network")
    return {fmt::format("{}.{}.{}", layer, words[1] == "expand" ? "conv1" : "conv2", kind), 0, 1,
            AuthorsLayout::pointwise};
  if (part.starts_with("norm")) return {fmt::format("{}.{}.{}", layer, part, kind)};
  const char* attention = part == "attention" ? "attention" : part == "self" ? "self_attention" : "cross_attention";
  return {fmt::format("{}.{}.{}.{}", layer, attention, projection_of(words[1]), kind)};
}

/// `norm`: what they have between a layer normalisation and its parameters.
AuthorsPlace place_in_forecaster(const std::string& name, const std::string& norm) {
  const auto words = split_name(name);
  const std::string &part = words[0], &kind = words.back();
  if (part == "encoder_embedding" || part == "decoder_embedding") {
    const std::string start = part == "encoder_embedding" ? "enc_embedding." : "dec_embedding.";
    if (words[1] == "time") return {start + "temporal_embedding.embed.weight"};
    return {start + "value_embedding.tokenConv.weight", 0, 1, AuthorsLayout::convolution};
  }
  if (part == "encoder_norm") return {"encoder.norm." + norm + kind};
  if (part == "decoder_norm") return {"decoder.norm." + norm + kind};
  if (part == "head") return {"decoder.projection." + kind};
  if (part == "distilling") {
    const std::string start = "encoder.conv_layers." + words[1];
    if (words[2] == "convolution") return {start + ".downConv." + kind, 0, 1, AuthorsLayout::convolution};
    const std::pair<const char*, const char*> names[] = {
        {"gain", "weight"}, {"bias", "bias"}, {"mean", "running_mean"}, {"variance", "running_var"}};
    const auto found = std::ranges::find(names, words[2], [](const auto& pair) { return std::string(pair.first); });
    return {start + ".norm." + found->second};
  }
  const std::string layer = (part == "encoder" ? "encoder.attn_layers." : "decoder.layers.") + words[1];
  return in_layer(layer, Words(words).subspan(2));
}

AuthorsPlace place_in_autoformer(const std::string& name) { return place_in_forecaster(name, "layernorm."); }
AuthorsPlace place_in_informer(const std::string& name) { return place_in_forecaster(name, ""); }

/// Features of times: theirs have as many as the frequency lets differ.
std::int64_t marks_of(const ModelConfig& theirs) {
  const std::pair<const char*, std::int64_t> counts[] = {{"d", 3}, {"h", 4}, {"t", 5}};
  const auto freq = theirs.find("freq");
  for (const auto& [name, count] : counts)
    if (freq != theirs.end() && freq->second == ModelConfig::mapped_type(std::string(name))) return count;
  fail("[parity] the recording's freq must be one of d, h and t");
}

ModelConfig series_config(ModelConfig theirs) {
  theirs["dim_x"] = 1 + marks_of(theirs);
  rename(theirs, {{"enc_in", "dim_y"}});
  for (const char* key : {"c_out", "dec_in", "freq", "pred_len", "seq_len"}) theirs.erase(key);
  theirs["gaussian"] = false;
  return theirs;
}

ModelConfig autoformer_config(ModelConfig theirs) {
  theirs.erase("n_heads");  // a mean over channels does not know of them
  return series_config(std::move(theirs));
}

ModelConfig informer_config(ModelConfig theirs) {
  theirs["merge_heads"] = std::string("scrambled");
  if (theirs["cross"] == ModelConfig::mapped_type(std::string("prob"))) theirs["cross"] = std::string("sparse");
  return series_config(std::move(theirs));
}

/// Their times are features alone; our first input is not looked at.
Task series_of_record(const RecordedTensors& recorded, const ModelConfig& /*ours*/) {
  constexpr std::int64_t kAny = RecordedTensors::kAny;
  const auto double_of = [](const Tensor& x) { return x.detach().to(DType::float64); };
  const Tensor history = double_of(recorded.numbers("x_enc", {kAny, kAny, kAny}));
  const std::int64_t batch = history.dim(0), steps = history.dim(1), values = history.dim(2);
  const Tensor marks = double_of(recorded.numbers("x_mark_enc", {batch, steps, kAny}));
  const Tensor asked = double_of(recorded.numbers("batch_y", {batch, kAny, values}));
  const std::int64_t all = asked.dim(1);
  const Tensor asked_marks = double_of(recorded.numbers("x_mark_dec", {batch, all, marks.dim(2)}));
  const Tensor given = double_of(recorded.numbers("x_dec", {batch, all, values}));
  const std::int64_t known = all - recorded.floats("eval.prediction", {batch, kAny, values}).dim(1);
  check(0 <= known && known <= steps, "{}: 'batch_y' has {} more steps than 'eval.prediction', expected 0 to {}",
        recorded.where(), known, steps);
  const Tensor shown = concat({slice(history, 1, steps - known, steps),
                               Tensor::zeros(asked.shape().with(1, all - known), DType::float64, Device::cpu)},
                              1);
  check(std::ranges::equal(given.values<double>(), shown.values<double>()),
        "{}: 'x_dec' has other values, expected the last {} steps of 'x_enc' and then zeros", recorded.where(), known);
  const auto with_places = [](const Tensor& features) {
    const Tensor places = Tensor::zeros(features.shape().with(2, 1), DType::float64, Device::cpu);
    return concat({places, features}, 2);
  };
  return {with_places(marks), history, with_places(slice(asked_marks, 1, known, all)), slice(asked, 1, known, all)};
}

struct TracedForecast {
  SeriesTrace trace;
  NamedTensors outputs;
};

TracedForecast traced(const Model& model, const Task& task, Draws& draws, bool training) {
  const NoGrad off;
  TracedForecast found;
  const auto& series = dynamic_cast<const SeriesModel&>(model);
  found.outputs["prediction"] = series.forecast(task, {draws, training, 0, &found.trace}).mean;
  found.outputs["encoder"] = found.trace.encoded;
  found.outputs["loss"] = mean(square(sub(found.outputs["prediction"], task.yt)));
  return found;
}

/// Delays of one auto-correlation, from the greatest correlation on, and the weights that the model gives them.
struct Delays {
  Tensor delays;   // (B, k) int64, or (k) if the batch shares them
  Tensor weights;  // (B, k)
};

/// correlation and weights (B, L), the weights 0 at delays that were not chosen. In training a batch shares its delays.
Delays delays_of(const Tensor& correlation, const Tensor& weights, bool training) {
  const auto here = [](const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); };
  const std::int64_t batch = correlation.dim(0), length = correlation.dim(1);
  const Tensor by = here(training ? broadcast_to(reshape(mean(correlation, 0), {1, length}), {batch, length})
                                  : correlation),
               chosen = here(weights);
  const auto all = chosen.values<double>();
  const std::int64_t count =
      length - std::ranges::count(all.first(static_cast<std::size_t>(length)), 0.0);  // the same in every row
  Delays found{Tensor::empty({batch, count}, DType::int64, Device::cpu),
               Tensor::empty({batch, count}, DType::float64, Device::cpu)};
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(length));
    std::iota(order.begin(), order.end(), 0);
    const auto rank = [&](std::int64_t i) {
      const double weight = chosen.data<double>()[b * length + i], value = by.data<double>()[b * length + i];
      return std::pair(weight == 0, std::isnan(value) ? 0 : -value);
    };
    std::ranges::stable_sort(order, {}, rank);
    for (std::int64_t k = 0; k < count; ++k) {
      found.delays.data<std::int64_t>()[b * count + k] = order[static_cast<std::size_t>(k)];
      found.weights.data<double>()[b * count + k] =
          chosen.data<double>()[b * length + order[static_cast<std::size_t>(k)]];
    }
  }
  if (training)
    found.delays =
        Tensor::from<std::int64_t>({count}, found.delays.values<std::int64_t>().first(static_cast<std::size_t>(count)));
  return found;
}

NamedTensors outputs_of_autoformer(const Model& model, const Task& task, Draws& draws, bool training,
                                   const ModelConfig&) {
  TracedForecast found = traced(model, task, draws, training);
  found.outputs["decoder.seasonal"] = found.trace.decoded;
  found.outputs["decoder.trend"] = found.trace.trend;
  for (std::size_t i = 0; i < found.trace.correlations.size(); ++i) {
    const Delays delays = delays_of(found.trace.correlations[i], found.trace.weights[i], training);
    found.outputs[fmt::format("correlation.{}", i)] = found.trace.correlations[i];
    found.outputs[fmt::format("delays.{}", i)] = delays.delays;
    found.outputs[fmt::format("weights.{}", i)] = delays.weights;
  }
  return found.outputs;
}

/// Ascending, (B, H, u).
Tensor numbers_of_chosen(const Tensor& chosen) {
  const Tensor marks = chosen.detach().to(Device::cpu).to(DType::float64);
  const std::int64_t rows = marks.dim(0) * marks.dim(1), length = marks.dim(2);
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < rows * length; ++i)
    if (marks.data<double>()[i] == 1) numbers.push_back(i % length);
  return Tensor::from<std::int64_t>({marks.dim(0), marks.dim(1), std::ssize(numbers) / rows}, numbers);
}

NamedTensors outputs_of_informer(const Model& model, const Task& task, Draws& draws, bool training,
                                 const ModelConfig&) {
  TracedForecast found = traced(model, task, draws, training);
  found.outputs["decoder.output"] = found.trace.decoded;
  for (std::size_t i = 0; i < found.trace.chosen.size(); ++i)
    found.outputs[fmt::format("selected.{}", i)] = numbers_of_chosen(found.trace.chosen[i]);
  return found.outputs;
}

}  // namespace

std::span<const AuthorsCode> autoformer_authors() {
  static constexpr AuthorsCode kCodes[] = {{.recorded_as = "autoformer",
                                            .place = place_in_autoformer,
                                            .config = autoformer_config,
                                            .adam = kForecastAdam,
                                            .task = series_of_record,
                                            .outputs = outputs_of_autoformer}};
  return kCodes;
}

std::span<const AuthorsCode> informer_authors() {
  static constexpr AuthorsCode kCodes[] = {{.recorded_as = "informer",
                                            .place = place_in_informer,
                                            .config = informer_config,
                                            .of_run = "cross",
                                            .adam = kForecastAdam,
                                            .task = series_of_record,
                                            .outputs = outputs_of_informer,
                                            .draws_for_all_tasks = true}};
  return kCodes;
}

}  // namespace npzoo
