#include "models/parity/names.h"

#include <fmt/core.h>

#include <span>
#include <vector>

namespace npzoo {

namespace {

using Words = std::span<const std::string>;

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

/// Place of a layer in the authors' nn.Sequential, where activations count too.
std::string in_sequence(const std::string& layer) { return std::to_string(2 * std::stoi(layer)); }

/// `words` are layers.L.weight.
AuthorsPlace authors_mlp(const std::string& name, Words words) {
  return {fmt::format("{}.{}.{}", name, in_sequence(words[1]), words[2])};
}

AuthorsPlace authors_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.E.pre.layers.L.weight or decoder.layers.L.weight
  if (words[0] == "encoders")
    return {fmt::format("enc{}.net_{}.{}.{}", std::stoi(words[1]) + 1, words[2], in_sequence(words[4]), words[5])};
  if (words[2] == "0") return {"dec.fc." + words[3]};
  return {fmt::format("dec.mlp.{}.{}", 2 * std::stoi(words[2]) - 1, words[3])};
}

AuthorsPlace authors_tnp_d(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_mlp(words[0], Words(words).subspan(1));
  const std::string layer = fmt::format("encoder.layers.{}.", words[2]), &part = words[3], &kind = words.back();
  if (part == "expand") return {layer + "linear1." + kind};
  if (part == "contract") return {layer + "linear2." + kind};
  if (part != "attention") return {layer + part + "." + kind};
  if (words[4] == "out") return {layer + "self_attn.out_proj." + kind};
  return {layer + "self_attn.in_proj_" + kind, words[4] == "query" ? 0 : words[4] == "key" ? 1 : 2, 3};
}

/// What the authors call the two halves of a PerceiverLayer: `words` are the names within ours.
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

/// A LatentLayer, `words` beginning with cross or self; the authors' names for its parts begin with `start`.
AuthorsPlace authors_latent_layer(const std::string& start, Words words) {
  const bool cross = words[0] == "cross";
  return authors_perceiver_layer(start + (cross ? "cross_attn" : "latent_self_attn"),
                                 start + (cross ? "cross_ff" : "latent_ff"), words.subspan(1));
}

/// Everything but the encoder of EQTNP, LBANP and CMANP.
AuthorsPlace authors_perceiver_model(Words words) {
  if (words[0] != "decoder")
    return words[0] == "latents" ? AuthorsPlace{"latents"} : authors_mlp(words[0], words.subspan(1));
  if (words[1] == "embedder") return authors_mlp("query_embedder", words.subspan(2));
  if (words[1] == "predictor") return authors_mlp("predictor", words.subspan(2));
  if (words[1] == "norm") return {"norm." + words[2]};
  const std::string layer = fmt::format("decoder.layers.{}.", words[2]);
  return authors_perceiver_layer(layer + "cross_attn", layer + "cross_ff", words.subspan(3));
}

AuthorsPlace authors_eqtnp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  const std::string layer = fmt::format("encoder.layers.{}.", words[1]);
  return authors_perceiver_layer(layer + "dataset_self_attn", layer + "ff", Words(words).subspan(2));
}

AuthorsPlace authors_lbanp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  return authors_latent_layer(fmt::format("encoder.layers.{}.", words[1]), Words(words).subspan(2));
}

AuthorsPlace authors_cmanp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  const std::string block = fmt::format("encoder.layers.{}.", words[1]);
  if (words[2] == "latents") return {block + "latents"};
  return authors_latent_layer(words[2] == "compress" ? block + "layer_" : block, Words(words).subspan(3));
}

struct AuthorsModel {
  const char* name;
  AuthorsNames names;
};

constexpr AuthorsModel kAuthors[] = {{"cnp", authors_cnp},
                                     {"tnp-d", authors_tnp_d},
                                     {"eqtnp", authors_eqtnp},
                                     {"lbanp", authors_lbanp},
                                     {"cmanp", authors_cmanp}};

}  // namespace

AuthorsNames authors_names(const std::string& model) {
  for (const AuthorsModel& authors : kAuthors)
    if (model == authors.name) return authors.names;
  return nullptr;
}

}  // namespace npzoo
