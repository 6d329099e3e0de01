#include "models/conditional/cnp.h"

#include "models/blocks/chunks.h"
#include "models/parity/authors.h"
#include "models/predictions/independent.h"
#include "models/registry.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// How many of the points [begin, end) of each batch element are real. Of all points they are the lengths themselves,
/// which a captured step reads anew each time.
Tensor counts_between(const Context& context, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == context.xc.dim(1) && context.lengths.defined()) return context.lengths;
  Tensor counts = Tensor::full({context.xc.dim(0)}, static_cast<double>(end), DType::int64);
  if (context.lengths.defined()) counts = context.lengths.clone();
  for (std::int64_t& count : counts.values<std::int64_t>())
    count = std::clamp<std::int64_t>(count - begin, 0, end - begin);
  return counts;
}

/// Adds `counts` to `sums`; returns their shares in the new sums, (B, 1), of the dtype and on the device of `like`, or
/// nothing for the first counts: theirs are all there is.
Tensor add_counts(const Tensor& counts, std::vector<double>& sums, const Tensor& like) {
  const auto given = counts.values<std::int64_t>();
  if (sums.empty()) {
    sums.assign(given.begin(), given.end());
    return {};
  }
  Tensor shares = Tensor::zeros({counts.numel(), 1}, DType::float64, Device::cpu);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const auto count = static_cast<double>(given[b]);
    sums[b] += count;
    if (count > 0) shares.values<double>()[b] = count / sums[b];
  }
  return shares.to(like.dtype()).to(like.device());
}

}  // namespace

PoolingEncoder::PoolingEncoder(std::int64_t in, std::int64_t hidden, std::int64_t pre_depth, std::int64_t post_depth,
                               Initializer& init)
    : pre(Mlp::of_depth(in, hidden, hidden, pre_depth, init)) {
  if (post_depth > 0) post = Mlp::of_depth(hidden, hidden, hidden, post_depth, init);
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

std::unique_ptr<PooledContext> Cnp::absorb(PooledContext state, const Context& more) const {
  const auto batch = static_cast<std::size_t>(more.xc.dim(0));
  check(state.counts.empty() || state.counts.size() == batch, "[cnp] {} batch elements found, the state has {}", batch,
        state.counts.size());
  const Context points = clear_padding(more);
  for_chunks(more.xc.dim(1), chunk_points(more.xc.device()), [&](std::int64_t begin, std::int64_t end) {
    const Tensor counts = counts_between(more, begin, end);
    const Tensor x = points_between(points.xc, begin, end), y = points_between(points.yc, begin, end);
    const Tensor shares = add_counts(counts, state.counts, x), tokens = concat({x, y}, -1);  // (B, 1), (B, n, D)
    for (std::size_t i = 0; i < encoders.size(); ++i) {
      const Tensor mean = encoders[i].pool(tokens, more.lengths.defined() ? counts : Tensor());  // (B, hidden)
      if (state.means.size() == i)
        state.means.push_back(mean);
      else
        state.means[i] = add(state.means[i], mul(shares, sub(mean, state.means[i])));
    }
  });
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < encoders.size(); ++i) parts.push_back(encoders[i].finish(state.means[i]));
  state.encoded = concat(parts, -1);  // (B, encoders · hidden)
  return std::make_unique<PooledContext>(std::move(state));
}

std::unique_ptr<ContextState> Cnp::condition(const Context& context, Draws& /*draws*/, std::int64_t /*samples*/) const {
  return absorb({}, context);
}

std::unique_ptr<ContextState> Cnp::update(const ContextState& state, const Context& more) const {
  return absorb(state_as<PooledContext>(state, "cnp"), more);
}

std::unique_ptr<Prediction> Cnp::query(const ContextState& state, const Tensor& xt) const {
  const auto& pooled = state_as<PooledContext>(state, "cnp");
  const std::int64_t width = pooled.encoded.dim(-1);
  const Tensor one = reshape(pooled.encoded, {xt.dim(0), 1, width});  // (B, 1, R)
  const Tensor raw = in_chunks(xt, [&](const Tensor& x) {
    const Tensor each = broadcast_to(one, {x.dim(0), x.dim(1), width});  // (B, n, R)
    return decoder(concat({each, x}, -1));                               // (B, n, 2 Dy)
  });
  return std::make_unique<Independent>(gaussian_head(raw, config_.std));  // (B, Nt, Dy)
}

Tensor Cnp::loss(const Task& task, Draws& draws) const {
  if (!config_.context_in_loss) return mean_over_channels(Model::loss(task, draws), config_.dim_y);
  const bool weighted = task.context_weights.defined() && task.target_weights.defined();
  check(!task.lengths.defined() || weighted, "[cnp] a padded context cannot be scored in training without weights");
  const auto state = condition({task.xc, task.yc, task.lengths}, draws, 1);
  const Tensor weights = weighted ? concat({task.context_weights, task.target_weights}, 1) : Tensor();
  return nll(*query(*state, concat({task.xc, task.xt}, 1)), concat({task.yc, task.yt}, 1), weights);
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

namespace {

AuthorsPlace authors_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.E.pre.layers.L.weight or decoder.layers.L.weight
  if (words[0] == "encoders")
    return {fmt::format("enc{}.net_{}.{}.{}", std::stoi(words[1]) + 1, words[2], in_sequence(words[4]), words[5])};
  if (words[2] == "0") return {"dec.fc." + words[3]};
  return {fmt::format("dec.mlp.{}.{}", 2 * std::stoi(words[2]) - 1, words[3])};
}

AuthorsPlace dl4bi_cnp(const std::string& name) {
  const auto words = split_name(name);  // encoders.0.pre.layers.L.weight or decoder.layers.L.weight
  return flax_mlp(words[0] == "encoders" ? "enc_det" : "dec", Words(words).last(3));
}

ModelConfig dl4bi_cnp_config(ModelConfig theirs) {
  return dl4bi_architecture(std::move(theirs), {{"d", "dim_hid"}, {"enc", "enc_depth"}, {"dec", "dec_depth"}});
}

constexpr AuthorsCode kCnpAuthors[] = {
    {.recorded_as = "cnp", .place = authors_cnp, .config = tnp_architecture},
    {.recorded_as = "dl4bi-cnp", .place = dl4bi_cnp, .config = dl4bi_cnp_config},
};

constexpr PublishedSize kCnpSizes[] = {
    {"tnp/gp-rbf", 215'682},
    {"tnp-kr/gp1d-rbf", 149'378},
    {"tnp-kr/gp1d-matern", 149'378},
    {"tnp-kr/gp1d-periodic", 149'378},
};

constexpr const char* kSmallCnps[] = {
    R"({"architecture": "tnp", "dim_hid": 6, "dec_depth": 2, "enc_pre_depth": 2, "enc_post_depth": 2})",
    R"({"architecture": "dl4bi", "dim_hid": 6, "dec_depth": 2, "enc_depth": 3, "min_std": 0.0})",
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
  };
}

}  // namespace npzoo
