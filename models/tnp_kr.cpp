#include "models/tnp_kr.h"

#include "models/token_transformer.h"

namespace npzoo {

std::unique_ptr<Model> make_tnp_kr_full(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "tnp-kr-full");
  TokenTransformerConfig c;
  c.dim_x = reader.size("dim_x");
  c.dim_y = reader.size("dim_y");
  c.transformer = {.width = reader.size("d_model"),
                   .hidden = reader.size("dim_feedforward"),
                   .heads = reader.size("nhead"),
                   .layers = reader.size("num_layers"),
                   .norm = NormPlacement::pre,
                   .layer_norm_eps = 1e-6,
                   .final_norm = true};
  c.embedder = {reader.size("embed_hidden"), c.transformer.width};
  c.head_hidden = c.transformer.hidden;
  c.std = {StdForm::Kind::half_log_variance, reader.get<double>("min_std")};
  reader.finish();
  Initializer init(Framework::flax, weights);
  return std::make_unique<TokenTransformer>(c, init);
}

}  // namespace npzoo
