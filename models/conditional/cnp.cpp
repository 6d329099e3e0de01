#include "npzoo/models/conditional/cnp.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

std::vector<PoolingEncoder> cnp_encoders(const CnpConfig& config, Initializer& init) {
  std::vector<PoolingEncoder> made;
  for (std::int64_t i = 0; i < config.encoders; ++i)
    made.emplace_back(config.dim_x + config.dim_y, config.hidden, config.pre_depth, config.post_depth, init);
  return made;
}

Cnp::Cnp(const CnpConfig& config, Initializer& init)
    : encoders(cnp_encoders(config, init)),
      decoder(Mlp::of_depth(config.encoders * config.hidden + config.dim_x, config.hidden,
                            config.likelihood.outputs(config.dim_y), config.decoder_depth, init)),
      config_(config) {}

std::unique_ptr<PooledContext> Cnp::after(PooledPoints points, const Context& more) const {
  std::vector<const PoolingEncoder*> all;
  for (const PoolingEncoder& encoder : encoders) all.push_back(&encoder);
  auto state = std::make_unique<PooledContext>();
  state->points = std::move(points);
  absorb(state->points, all, more, "cnp");
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < encoders.size(); ++i) parts.push_back(encoders[i].finish(state->points.means[i]));
  state->encoded = concat(parts, -1);  // (B, encoders · hidden)
  return state;
}

std::unique_ptr<ContextState> Cnp::do_condition(const Context& context, Draws& /*draws*/,
                                                std::int64_t /*samples*/) const {
  return after({}, context);
}

std::unique_ptr<ContextState> Cnp::do_update(const ContextState& state, const Context& more) const {
  return after(state_as<PooledContext>(state, "cnp").points, more);
}

std::unique_ptr<Prediction> Cnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& pooled = state_as<PooledContext>(state, "cnp");
  const std::int64_t width = pooled.encoded.dim(-1);
  const Tensor one = reshape(pooled.encoded, {xt.dim(0), 1, width});  // (B, 1, R)
  const Tensor raw = in_chunks(xt, [&](const Tensor& x) {
    const Tensor each = broadcast_to(one, {x.dim(0), x.dim(1), width});  // (B, n, R)
    return decoder(concat({each, x}, -1));                               // (B, n, 2 Dy)
  });
  return output_head(raw, config_.std, config_.likelihood);  // (B, Nt, Dy)
}

Tensor Cnp::loss(const Task& task, Draws& draws) const {
  if (config_.lineage != Lineage::tnp) return mean_over_channels(Model::loss(task, draws), config_.dim_y);
  const ScoredPoints scored = context_and_targets(task);
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  return nll(*query(*state, scored.x), scored.y, scored.weights);
}

void Cnp::visit(ModuleVisitor& visitor) {
  visitor("encoders", encoders);
  visitor("decoder", decoder);
}

CnpConfig read_cnp_config(ConfigReader& reader) {
  CnpConfig c;
  c.lineage = read_lineage(reader);
  const bool tnp = c.lineage == Lineage::tnp;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.hidden = reader.size("dim_hid", "width of hidden layers");
  c.pre_depth = tnp ? reader.depth("enc_pre_depth", "linear layers before the mean over points")
                    : reader.depth("enc_depth", "linear layers of the encoder");
  c.post_depth = tnp ? reader.depth("enc_post_depth", "linear layers after the mean over points") : 0;
  c.decoder_depth = reader.depth("dec_depth", "linear layers of the decoder");
  if (!tnp) {
    c.encoders = 1;
    c.std.floor = read_min_std(reader);
  }
  return c;
}

namespace {

std::unique_ptr<Model> make_cnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "cnp");
  CnpConfig c = read_cnp_config(reader);
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(framework_of(c.lineage), weights);
  return std::make_unique<Cnp>(c, init);
}

AuthorsPlace authors_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.E.pre.layers.L.weight or decoder.layers.L.weight
  if (words[0] == "decoder") return tnp_decoder(Words(words).subspan(1));
  return tnp_pooling(words[1] == "0" ? "enc1" : "enc2", Words(words).subspan(2));
}

AuthorsPlace dl4bi_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.0.pre.layers.L.weight or decoder.layers.L.weight
  return flax_mlp(words[0] == "encoders" ? "enc_det" : "dec", Words(words).last(3));
}

constexpr AuthorsCode kCnpAuthors[] = {
    {.recorded_as = "cnp", .place = authors_cnp, .config = tnp_architecture},
    {.recorded_as = "dl4bi-cnp", .place = dl4bi_cnp, .config = dl4bi_conditional},
};

constexpr PublishedSize kCnpSizes[] = {
    {"tnp/gp-rbf", 215'682},           {"tnp/emnist", 298'626},
    {"tnp/celeba32", 349'190},         {"tnp/wheel", 218'122},
    {"tnp-kr/gp1d-rbf", 149'378},      {"tnp-kr/gp1d-matern", 149'378},
    {"tnp-kr/gp1d-periodic", 149'378},
};

constexpr const char* kSmallCnps[] = {
    R"({"architecture": "tnp", "dim_hid": 6, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dec_depth": 2, "enc_depth": 3, "min_std": 0.0})",
    R"({"architecture": "tnp", "dim_hid": 6, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2, "likelihood": "poisson"})",
};

}  // namespace

ModelInfo cnp_info() {
  return {
      .name = "cnp",
      .title = "Conditional neural process",
      .paper = "Garnelo et al., Conditional neural processes, ICML 2018",
      .make = make_cnp,
      .small_forms = kSmallCnps,
      .sizes = kCnpSizes,
      .authors = kCnpAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
