#include "models/cnp.h"

#include "ops/concat/concat.h"
#include "ops/reduce/reduce.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

struct PooledContext final : HeldContext {
  PooledContext(Context observed, Tensor encoding) : HeldContext(std::move(observed)), encoded(std::move(encoding)) {}

  Tensor encoded;  // (B, encoders · hidden)
};

}  // namespace

PoolingEncoder::PoolingEncoder(std::int64_t in, std::int64_t hidden, std::int64_t pre_depth, std::int64_t post_depth,
                               Initializer& init)
    : pre(Mlp::of_depth(in, hidden, hidden, pre_depth, init)) {
  if (post_depth > 0) post = Mlp::of_depth(hidden, hidden, hidden, post_depth, init);
}

Tensor PoolingEncoder::operator()(const Context& context) const {
  const Tensor points = pre(concat({context.xc, context.yc}, -1));  // (B, Nc, hidden)
  const Tensor pooled = masked_mean(points, context.lengths);       // (B, hidden)
  return post ? (*post)(pooled) : pooled;
}

void PoolingEncoder::visit(ModuleVisitor& visitor) {
  visitor("pre", pre);
  if (post) visitor("post", *post);
}

Cnp::Cnp(const CnpConfig& config, Initializer& init)
    : encoders([&] {
        std::vector<PoolingEncoder> made;
        for (std::int64_t i = 0; i < config.encoders; ++i)
          made.emplace_back(config.dim_x + config.dim_y, config.hidden, config.pre_depth, config.post_depth, init);
        return made;
      }()),
      decoder(Mlp::of_depth(config.encoders * config.hidden + config.dim_x, config.hidden, 2 * config.dim_y,
                            config.decoder_depth, init)),
      config_(config) {}

std::unique_ptr<ContextState> Cnp::condition(const Context& context) const {
  const Context points = clear_padding(context);
  std::vector<Tensor> parts;
  for (const PoolingEncoder& encoder : encoders) parts.push_back(encoder(points));
  return std::make_unique<PooledContext>(context, concat(parts, -1));  // (B, encoders · hidden)
}

Prediction Cnp::query(const ContextState& state, const Tensor& xt) const {
  const auto* pooled = dynamic_cast<const PooledContext*>(&state);
  check(pooled != nullptr, "[cnp] the state comes from another kind of model");
  const std::int64_t width = pooled->encoded.dim(-1);
  const Tensor one = reshape(pooled->encoded, {xt.dim(0), 1, width});    // (B, 1, R)
  const Tensor each = broadcast_to(one, {xt.dim(0), xt.dim(1), width});  // (B, Nt, R)
  return gaussian_head(decoder(concat({each, xt}, -1)), config_.std);    // (B, Nt, Dy)
}

Tensor Cnp::loss(const Task& task) const {
  if (!config_.context_in_loss) return Model::loss(task);
  check(!task.lengths.defined(), "[cnp] a padded context cannot be scored in training");
  const auto state = condition({task.xc, task.yc, {}});
  return nll(query(*state, concat({task.xc, task.xt}, 1)), concat({task.yc, task.yt}, 1));
}

void Cnp::visit(ModuleVisitor& visitor) {
  visitor("encoders", encoders);
  visitor("decoder", decoder);
}

std::unique_ptr<Model> make_cnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "cnp");
  const auto architecture = reader.get<std::string>("architecture");
  const bool tnp = architecture == "tnp";
  check(tnp || architecture == "dl4bi", "[cnp] architecture '{}' found, expected tnp or dl4bi", architecture);
  CnpConfig c;
  c.dim_x = reader.size("dim_x");
  c.dim_y = reader.size("dim_y");
  c.hidden = reader.size("dim_hid");
  c.pre_depth = reader.size(tnp ? "enc_pre_depth" : "enc_depth");
  c.post_depth = tnp ? reader.size("enc_post_depth") : 0;
  c.decoder_depth = reader.size("dec_depth");
  if (!tnp) {
    c.encoders = 1;
    c.std.floor = reader.get<double>("min_std");
    c.context_in_loss = false;
  }
  reader.finish();
  Initializer init(tnp ? Framework::torch : Framework::flax, weights);
  return std::make_unique<Cnp>(c, init);
}

}  // namespace npzoo
