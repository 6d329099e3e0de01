#include "npzoo/models/tnp/tetnp_authors.h"

#include <fmt/core.h>

#include "npzoo/models/parity/recorded_tensors.h"
#include "npzoo/models/tnp/tetnp.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/reduce/reduce.h"

namespace npzoo {

AuthorsPlace authors_tetnp(const std::string& name) {
  const auto words = split_name(name);
  const std::string encoder = "encoder.transformer_encoder.";
  if (words[0] == "embedder") return authors_mlp("encoder.y_encoder.net", Words(words).subspan(1));
  if (words[0] == "predictor") return authors_mlp("decoder.z_decoder.net", Words(words).subspan(1));
  if (words[0] == "latent_tokens") return {encoder + "latent_tokens"};
  if (words[0] == "latent_places") return {encoder + "latent_inputs"};
  const char* stack = words[0] == "context_layers"     ? "mhsa"
                      : words[0] == "target_layers"    ? "mhca"
                      : words[0] == "reading_layers"   ? "mhca_ctoq"
                      : words[0] == "returning_layers" ? "mhca_qtoc"
                                                       : "mhca_qtot";
  const std::string layer = fmt::format("{}{}_layers.{}", encoder, stack, words[1]);
  if (words[2] == "attention" && words[3] == "kernel")
    return authors_mlp(layer + ".attn.kernel.net", Words(words).subspan(4));
  if (words[2] == "attention" && words[3] == "move")
    return authors_mlp(layer + ".attn.phi.net", Words(words).subspan(4));
  return mlg_transformer_layer(layer, Words(words).subspan(2));
}

namespace {

/// The shift of inputs that a recording used is in its predictions alone, and none of them depends on it: any will do.
constexpr double kShiftOfInputs = 2.5;

void put_prediction(NamedTensors& all, const std::string& start, const TeTnp& model, const Context& context,
                    const Tensor& xt) {
  Draws none = Draws::recorded({});
  const Moments found = moments(*model.query(*model.condition(context, none, 1), xt));
  all[start + ".mean"] = found.mean;
  all[start + ".std"] = found.std;
}

void put_stream(NamedTensors& all, const std::vector<PlacedTokens>& layers, const char* stream, bool moves) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = fmt::format("train.layer.{}.{}", i, stream);
    all[name] = layers[i].tokens;
    if (moves) all[name + "_location"] = layers[i].places;
  }
}

}  // namespace

NamedTensors recorded_tetnp(const Model& model, const Task& task, const Prediction& /*prediction*/,
                            const RecordedTensors& /*recorded*/) {
  const auto& tetnp = dynamic_cast<const TeTnp&>(model);
  NamedTensors all;
  put_prediction(all, "train", tetnp, {task.xc, task.yc}, task.xt);
  const auto shifted = [](const Tensor& x) { return affine(x, 1, kShiftOfInputs); };
  put_prediction(all, "eval.shifted", tetnp, {shifted(task.xc), task.yc}, shifted(task.xt));
  const std::int64_t points = task.xc.dim(1);
  Tensor order = Tensor::empty({task.xc.dim(0), points}, DType::int64, Device::cpu);
  for (std::int64_t i = 0; i < order.numel(); ++i) order.data<std::int64_t>()[i] = points - 1 - i % points;
  put_prediction(all, "eval.permuted", tetnp, {gather(task.xc, order), gather(task.yc, order)}, task.xt);
  TeTnp::Trace trace;
  const auto read = tetnp.encode({task.xc, task.yc}, &trace);
  tetnp.encode_targets(read, task.xt, &trace);
  const bool moves = tetnp.config().layer.move_width > 0;
  put_stream(all, trace.context, "context", moves);
  put_stream(all, trace.latents, "latent", moves);
  put_stream(all, trace.targets, "target", moves);
  return all;
}

}  // namespace npzoo
