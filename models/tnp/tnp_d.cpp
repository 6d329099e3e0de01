#include "models/tnp/tnp_d.h"

#include "models/tnp/token_transformer.h"

namespace npzoo {

std::unique_ptr<Model> make_tnp_d(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-d");
  const auto architecture = reader.get<std::string>("architecture");
  const bool tnp = architecture == "tnp";
  check(tnp || architecture == "dl4bi", "[tnp-d] architecture '{}' found, expected tnp or dl4bi", architecture);
  TokenTransformerConfig c;
  c.dim_x = reader.size("dim_x");
  c.dim_y = reader.size("dim_y");
  c.transformer.width = reader.size("d_model");
  c.transformer.hidden = reader.size("dim_feedforward");
  c.transformer.heads = reader.size("nhead");
  c.transformer.layers = reader.size("num_layers");
  c.embedder.assign(static_cast<std::size_t>(reader.size("emb_depth")), c.transformer.width);
  c.head_hidden = c.transformer.hidden;
  const auto dropout = reader.get<double>("dropout", 0.0);
  check(dropout == 0, "[tnp-d] dropout {} found, expected 0: no published run uses another", dropout);
  if (tnp) {
    c.transformer.equal_layers = true;
    if (reader.get<bool>("bound_std", false)) c.std = {StdForm::Kind::softplus, 0.05};
  } else {
    c.transformer.layer_norm_eps = 1e-6;
    c.std.floor = reader.get<double>("min_std");
    c.std.kind = c.std.floor > 0 ? StdForm::Kind::softplus : StdForm::Kind::exp;
  }
  reader.finish();
  Initializer init(tnp ? Framework::torch : Framework::flax, weights);
  return std::make_unique<TokenTransformer>(c, init);
}

}  // namespace npzoo
