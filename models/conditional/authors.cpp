#include "npzoo/models/conditional/authors.h"

#include <fmt/core.h>

namespace npzoo {

namespace {

/// Parameters of a NormalisedAttention: query.weight and the like.
AuthorsPlace tnp_attention(const std::string& name, Words words) {
  const std::string &part = words[0], &kind = words[1];
  if (part.starts_with("norm")) return {fmt::format("{}.ln{}.{}", name, part.back(), kind)};
  const char* theirs = part == "query" ? "q" : part == "key" ? "k" : part == "value" ? "v" : "out";
  return {fmt::format("{}.fc_{}.{}", name, theirs, kind)};
}

}  // namespace

AuthorsPlace tnp_pooling(const std::string& name, Words words, bool attending) {
  if (words[0] == "self_attention") return tnp_attention(name + ".net_pre.2", words.subspan(2));
  const char* pre = attending ? ".net_pre.0" : ".net_pre";
  return authors_mlp(name + (words[0] == "pre" ? pre : ".net_post"), words.subspan(1));
}

AuthorsPlace tnp_attending(const std::string& name, Words words) {
  if (words[0] == "self_attention") return tnp_attention(name + ".self_attn", words.subspan(2));
  if (words[0] == "cross_attention") return tnp_attention(name + ".attn", words.subspan(1));
  return authors_mlp(name + (words[0] == "embedder" ? ".net_qk" : ".net_v"), words.subspan(1));
}

AuthorsPlace tnp_decoder(Words words) {
  if (words[1] == "0") return {"dec.fc." + words[2]};
  return {fmt::format("dec.mlp.{}.{}", 2 * std::stoi(words[1]) - 1, words[2])};
}

AuthorsPlace tnp_bootstrap(Words words) {
  return words[0] == "context" ? AuthorsPlace{"dec.fc_ctx." + words[1]} : tnp_decoder(words.subspan(1));
}

AuthorsPlace dl4bi_bootstrap(Words words) {
  if (words[0] == "context") return flax_dense("dec_boot.Dense_0", words[1]);
  const int layer = std::stoi(words[2]);
  return flax_dense(layer == 0 ? "dec_hid.Dense_0" : fmt::format("dec_dist.Dense_{}", layer - 1), words[3]);
}

ModelConfig tnp_bootstrap_config(ModelConfig theirs) {
  theirs.emplace("train_samples", std::int64_t{1});  // recorded without an axis of samples
  return tnp_architecture(std::move(theirs));
}

ModelConfig dl4bi_bootstrap_config(ModelConfig theirs) {
  rename(theirs, {{"K", "train_samples"}});
  ModelConfig ours = dl4bi_conditional(std::move(theirs));
  // The first layer is not among those that they count.
  if (auto* layers = std::get_if<std::int64_t>(&ours["dec_depth"])) ++*layers;
  return ours;
}

AuthorsPlace dl4bi_attending(Words words) {
  if (words[0] == "self_attention") return flax_attention("self_attn_det", words.subspan(2));
  if (words[0] == "cross_attention") return flax_attention("cross_attn", words.subspan(1));
  return flax_mlp(words[0] == "embedder" ? "embed_s" : "enc_det", words.subspan(1));
}

AuthorsPlace dl4bi_latent(Words words) {
  if (words[0] == "self_attention") return flax_attention("self_attn_lat", words.subspan(2));
  return flax_mlp(words[0] == "pre" ? "enc_lat" : "z_dist", words.subspan(1));
}

ModelConfig dl4bi_conditional(ModelConfig theirs) {
  return dl4bi_architecture(std::move(theirs), {{"d", "dim_hid"},
                                                {"dz", "dim_lat"},
                                                {"enc", "enc_depth"},
                                                {"lat", "lat_depth"},
                                                {"dec", "dec_depth"},
                                                {"heads", "nhead"}});
}

}  // namespace npzoo
