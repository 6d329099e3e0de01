#include "npzoo/models/parity/authors.h"

#include <fmt/core.h>

namespace npzoo {

std::vector<std::string> split_name(const std::string& name) {
  std::vector<std::string> words(1);
  for (char c : name) {
    if (c == '.')
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

std::string in_sequence(const std::string& layer) { return std::to_string(2 * std::stoi(layer)); }

ModelConfig tnp_architecture(ModelConfig theirs) {
  theirs["architecture"] = std::string("tnp");
  return theirs;
}

void rename(ModelConfig& config, const std::vector<std::pair<std::string, std::string>>& names) {
  for (const auto& [from, to] : names)
    if (auto entry = config.extract(from)) {
      entry.key() = to;
      config.insert(std::move(entry));
    }
}

ModelConfig dl4bi_architecture(ModelConfig theirs, const std::vector<std::pair<std::string, std::string>>& names) {
  rename(theirs, names);
  theirs["architecture"] = std::string("dl4bi");
  theirs.emplace("min_std", 0.0);
  theirs.erase("gain");
  // They count the layers before the last one.
  if (const auto depth = theirs.find("dec_depth"); depth != theirs.end())
    if (auto* layers = std::get_if<std::int64_t>(&depth->second)) ++*layers;
  return theirs;
}

ModelConfig dl4bi_transformer(ModelConfig theirs) {
  rename(theirs, {{"d", "d_model"},
                  {"ffn", "dim_feedforward"},
                  {"heads", "nhead"},
                  {"blocks", "num_layers"},
                  {"head", "head_hidden"}});
  theirs.emplace("min_std", 0.0);
  return theirs;
}

std::string flax_name(const std::string& module, const std::string& ours) {
  return module + "." + (ours == "weight" ? "scale" : ours);
}

AuthorsPlace flax_dense(const std::string& module, const std::string& kind) {
  return {module + "." + (kind == "weight" ? "kernel" : kind)};
}

AuthorsPlace flax_mlp(const std::string& name, Words words) {
  return flax_dense(fmt::format("{}.Dense_{}", name, words[1]), words[2]);
}

AuthorsPlace flax_attention(const std::string& name, Words words) {
  const std::string& part = words[0];
  const char* theirs = part == "query" ? "qs" : part == "key" ? "ks" : part == "value" ? "vs" : "out";
  return flax_dense(fmt::format("{}.proj_{}.Dense_0", name, theirs), words[1]);
}

AuthorsPlace flax_transformer_layer(const std::string& name, Words words) {
  const std::string &part = words[0], &kind = words.back();
  if (part == "attention") return flax_attention(name + ".attn", words.subspan(1));
  if (part == "norm1") return {flax_name(name + ".norm", kind)};
  if (part == "norm2") return {flax_name(name + ".LayerNorm_0", kind)};
  return flax_dense(name + (part == "expand" ? ".ffn.Dense_0" : ".ffn.Dense_1"), kind);
}

AuthorsPlace torch_transformer_layer(const std::string& name, Words words) {
  const std::string &part = words[0], &kind = words.back();
  if (part == "expand") return {name + ".linear1." + kind};
  if (part == "contract") return {name + ".linear2." + kind};
  if (part != "attention") return {name + "." + part + "." + kind};
  if (words[1] == "out") return {name + ".self_attn.out_proj." + kind};
  return {name + ".self_attn.in_proj_" + kind, words[1] == "query" ? 0 : words[1] == "key" ? 1 : 2, 3};
}

AuthorsPlace mlg_transformer_layer(const std::string& name, Words words) {
  const std::string &part = words[0], &kind = words.back();
  if (part == "expand") return {name + ".ff_block.0." + kind};
  if (part == "contract") return {name + ".ff_block.3." + kind};
  if (part != "attention") return {name + "." + part + "." + kind};
  if (words[1] == "out") return {name + ".attn.to_out.0." + kind};
  return {name + ".attn.to_" + words[1].substr(0, 1) + "." + kind};
}

AuthorsPlace authors_joint_head(Words words) {
  if (words[0] == "layers") return torch_transformer_layer("std_encoder.layers." + words[1], words.subspan(2));
  const char* network = words[0] == "mean" ? "mean_net" : words[0] == "diagonal" ? "diag_net" : "projector";
  return authors_mlp(network, words.subspan(1));
}

AuthorsPlace authors_mlp(const std::string& name, Words words) {
  return {fmt::format("{}.{}.{}", name, in_sequence(words[1]), words[2])};
}

AuthorsPlace authors_perceiver_layer(const std::string& attention, const std::string& network, Words words) {
  const std::string &part = words[0], &kind = words.back();
  if (part == "norm1") return {attention + ".norm." + kind};
  if (part == "norm_context") return {attention + ".norm_context." + kind};
  if (part == "norm2") return {network + ".norm." + kind};
  if (part == "expand") return {network + ".fn.net.0." + kind};
  if (part == "contract") return {network + ".fn.net.2." + kind};
  if (words[1] == "query") return {attention + ".fn.to_q." + kind};
  if (words[1] == "out") return {attention + ".fn.to_out." + kind};
  return {attention + ".fn.to_kv." + kind, words[1] == "key" ? 0 : 1, 2};
}

AuthorsPlace authors_latent_layer(const std::string& start, Words words) {
  const bool cross = words[0] == "cross";
  return authors_perceiver_layer(start + (cross ? "cross_attn" : "latent_self_attn"),
                                 start + (cross ? "cross_ff" : "latent_ff"), words.subspan(1));
}

AuthorsPlace authors_perceiver_model(Words words) {
  if (words[0] != "decoder")
    return words[0] == "latents" ? AuthorsPlace{"latents"} : authors_mlp(words[0], words.subspan(1));
  if (words[1] == "embedder") return authors_mlp("query_embedder", words.subspan(2));
  if (words[1] == "predictor") return authors_mlp("predictor", words.subspan(2));
  if (words[1] == "norm") return {"norm." + words[2]};
  const std::string layer = fmt::format("decoder.layers.{}.", words[2]);
  return authors_perceiver_layer(layer + "cross_attn", layer + "cross_ff", words.subspan(3));
}

}  // namespace npzoo
