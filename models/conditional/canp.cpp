#include "npzoo/models/conditional/canp.h"

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/conditional/authors.h"
#include "npzoo/models/registry.h"

namespace npzoo {

ContextEncoder canp_encoder(const CanpConfig& config, const char* model, Initializer& init) {
  const AttendingConfig& c = config.attending;
  AttendingEncoder attending = attending_encoder(config.lineage, c, model, init);
  if (config.lineage != Lineage::tnp) return {std::move(attending), {}};
  return {std::move(attending), attending_pool(config.lineage,
                                               {.in = c.dim_x + c.dim_y,
                                                .hidden = c.hidden,
                                                .out = c.hidden,
                                                .pre_depth = config.pre_depth,
                                                .post_depth = config.post_depth},
                                               model, init)};
}

Canp::Canp(const CanpConfig& config, Initializer& init)
    : encoder(canp_encoder(config, "canp", init)),
      decoder(Mlp::of_depth((encoder.pooling ? 2 : 1) * config.attending.hidden + config.attending.dim_x,
                            config.attending.hidden, config.likelihood.outputs(config.attending.dim_y),
                            config.decoder_depth, init)),
      config_(config) {}

std::unique_ptr<ContextState> Canp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  return std::make_unique<AttendedContext>(HeldContext(context, draws, samples),
                                           encoder.encode(clear_padding(context)));
}

std::unique_ptr<Prediction> Canp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<AttendedContext>(state, "canp");
  const Tensor raw = in_chunks(xt, [&](const Tensor& x) {
    std::vector<Tensor> parts = encoder.read(context.encoded, x);  // (B, n, E), (B, 1, E)
    parts.push_back(x);
    return of_parts(decoder, parts);  // (B, n, 2 Dy)
  });
  return output_head(raw, config_.std, config_.likelihood);  // (B, Nt, Dy)
}

Tensor Canp::loss(const Task& task, Draws& draws) const {
  if (config_.lineage != Lineage::tnp) return mean_over_channels(Model::loss(task, draws), dim_y());
  const ScoredPoints scored = context_and_targets(task);
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  return nll(*query(*state, scored.x), scored.y, scored.weights);
}

void Canp::visit(ModuleVisitor& visitor) {
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

CanpConfig read_canp_config(ConfigReader& reader) {
  CanpConfig c;
  c.lineage = read_lineage(reader);
  AttendingConfig& a = c.attending;
  a.dim_x = reader.size("dim_x", kGivenByData);
  a.dim_y = reader.size("dim_y", kGivenByData);
  a.hidden = reader.size("dim_hid", "width of hidden layers");
  c.decoder_depth = reader.depth("dec_depth", "linear layers of the decoder");
  if (c.lineage == Lineage::tnp) {
    a.value_depth = reader.depth("enc_v_depth", "linear layers of the encoder of values");
    a.input_depth = reader.depth("enc_qk_depth", "linear layers of the encoder of queries and keys");
    c.pre_depth = reader.depth("enc_pre_depth", "linear layers before the mean over points");
    c.post_depth = reader.depth("enc_post_depth", "linear layers after the mean over points");
  } else {
    a.value_depth = reader.depth("enc_depth", "linear layers of the encoder");
    a.heads = reader.size("nhead", "attention heads");
    c.std.floor = read_min_std(reader);
  }
  return c;
}

namespace {

std::unique_ptr<Model> make_canp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "canp");
  CanpConfig c = read_canp_config(reader);
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(framework_of(c.lineage), weights);
  return std::make_unique<Canp>(c, init);
}

AuthorsPlace authors_canp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] == "decoder") return tnp_decoder(Words(words).subspan(1));
  const Words within = Words(words).subspan(2);
  return words[1] == "attending" ? tnp_attending("enc1", within) : tnp_pooling("enc2", within, true);
}

AuthorsPlace dl4bi_canp(const std::string& name) {
  const auto words = split_name(name);
  return words[0] == "decoder" ? flax_mlp("dec", Words(words).subspan(1)) : dl4bi_attending(Words(words).subspan(2));
}

constexpr AuthorsCode kCanpAuthors[] = {
    {.recorded_as = "canp", .place = authors_canp, .config = tnp_architecture},
    {.recorded_as = "dl4bi-canp", .place = dl4bi_canp, .config = dl4bi_conditional},
};

constexpr PublishedSize kCanpSizes[] = {
    {"tnp/gp-rbf", 331'906},           {"tnp/emnist", 414'978},
    {"tnp/celeba32", 465'542},         {"tnp/wheel", 334'474},
    {"tnp-kr/gp1d-rbf", 248'706},      {"tnp-kr/gp1d-matern", 248'706},
    {"tnp-kr/gp1d-periodic", 248'706},
};

constexpr const char* kSmallCanps[] = {
    R"({"architecture": "tnp", "dim_hid": 8, "dec_depth": 2, "enc_v_depth": 4, "enc_qk_depth": 2, "enc_pre_depth": 4, "enc_post_depth": 2})",
    R"({"architecture": "dl4bi", "dim_hid": 8, "dec_depth": 2, "enc_depth": 2, "nhead": 2, "min_std": 0.0})",
    R"({"architecture": "dl4bi", "dim_hid": 8, "dec_depth": 2, "enc_depth": 2, "nhead": 2, "min_std": 0.0, "likelihood": "bernoulli"})",
};

}  // namespace

ModelInfo canp_info() {
  return {
      .name = "canp",
      .title = "Conditional attentive neural process",
      .paper = "Lee et al., Bootstrapping neural processes, NeurIPS 2020",
      .make = make_canp,
      .small_forms = kSmallCanps,
      .sizes = kCanpSizes,
      .authors = kCanpAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
