#include "models/parity/authors.h"

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
