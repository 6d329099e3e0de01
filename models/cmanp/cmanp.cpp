#include "npzoo/models/cmanp/cmanp.h"

#include "npzoo/models/blocks/drop_values.h"
#include "npzoo/models/blocks/equal_layers.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/parity/recorded_forms.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/matmul/matmul.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// x (L, E) for every element of a batch: (B, L, E).
Tensor for_batch(const Tensor& x, std::int64_t batch) { return broadcast_to(x, {batch, x.dim(0), x.dim(1)}); }

}  // namespace

ConstantMemoryBlock::ConstantMemoryBlock(const PerceiverConfig& config, std::int64_t own_latents, Initializer& init)
    : latents{init.standard_normal({own_latents, config.width})}, compress(config, init), read(config, init) {}

Tensor ConstantMemoryBlock::queries(std::int64_t batch) const {
  const PerceiverLayer& cross = compress.cross;
  return for_batch(cross.attention.query(cross.norm1(latents.value)), batch);  // (B, Lb, E)
}

AttentionState ConstantMemoryBlock::gather(const AttentionState& state, const Tensor& queries, const Tensor& points,
                                           const PrefixMask& mask) const {
  const KeysValues context = compress.cross.keys_values(points);  // (B, n, E) each
  const AttentionOptions options = compress.cross.attention.options();
  if (!state.mean.defined()) return incremental_cross_attention(queries, context.keys, context.values, mask, options);
  return absorb(state, queries, context.keys, context.values, mask, options);
}

Latents ConstantMemoryBlock::operator()(const AttentionState& state, const Tensor& entering) const {
  const PerceiverLayer& cross = compress.cross;
  const Tensor kept = cross.residual(latents.value, cross.norm1(latents.value));              // (Lb, E)
  const Latents own = compress.after_gathering(for_batch(kept, entering.dim(0)), state);      // (B, Lb, E)
  Latents leaving = read(entering, own.states);                                               // (B, L, E)
  leaving.reading = own.reading.defined() ? matmul(leaving.reading, own.reading) : Tensor();  // (B, L, Nc)
  return leaving;
}

void ConstantMemoryBlock::visit(ModuleVisitor& visitor) {
  visitor("latents", latents);
  visitor("compress", compress);
  visitor("read", read);
}

Cmanp::Cmanp(const CmanpConfig& config, Initializer& init)
    : embedder(perceiver_embedder(config, init)),
      latents{init.standard_normal({config.latents, config.layer.width})},
      encoder([&] {
        std::vector<ConstantMemoryBlock> blocks;
        for (std::int64_t i = 0; i < config.layers; ++i)
          blocks.emplace_back(config.layer, config.latents_per_block, init);
        make_equal(blocks);
        return blocks;
      }()),
      decoder(config, init),
      config_(config) {}

std::vector<AttentionState> Cmanp::absorb(std::vector<AttentionState> gathered, const Context& context) const {
  check(gathered.size() == encoder.size(), "[cmanp] the state of the context has {} blocks, expected {}",
        gathered.size(), encoder.size());
  const Context points = clear_padding(context);
  const PrefixMask mask = PrefixMask::lengths(context.lengths);
  std::vector<Tensor> queries;
  for (const ConstantMemoryBlock& block : encoder) queries.push_back(block.queries(points.xc.dim(0)));  // (B, Lb, E)
  const auto absorb_chunk = [&](std::int64_t begin, std::int64_t end) {
    const Tensor x = points_between(points.xc, begin, end), y = points_between(points.yc, begin, end);
    const Tensor tokens = embedder(concat({x, y}, -1));  // (B, n, E)
    for (std::size_t i = 0; i < encoder.size(); ++i)
      gathered[i] = encoder[i].gather(gathered[i], queries[i], tokens, mask.after(begin));
  };
  for_chunks(points.xc.dim(1), config_.chunk > 0 ? config_.chunk : chunk_points(points.xc.device()), absorb_chunk);
  return gathered;
}

std::unique_ptr<CmanpState> Cmanp::encode(std::vector<AttentionState> gathered) const {
  auto state = std::make_unique<CmanpState>();
  Tensor h = for_batch(latents.value, gathered.front().mean.dim(0));  // (B, L, E)
  for (std::size_t i = 0; i < encoder.size(); ++i) {
    const Latents leaving = encoder[i](gathered[i], h);      // (B, L, E)
    state->read.push_back(decoder.keys_values(i, leaving));  // (B, L, E) each
    h = leaving.states;
    state->latents.push_back(h);
  }
  state->gathered = std::move(gathered);
  return state;
}

std::unique_ptr<ContextState> Cmanp::do_condition(const Context& context, Draws& /*draws*/,
                                                  std::int64_t /*samples*/) const {
  return encode(absorb(std::vector<AttentionState>(encoder.size()), context));
}

std::unique_ptr<ContextState> Cmanp::do_update(const ContextState& state, const Context& more) const {
  const auto& before = state_as<CmanpState>(state, "cmanp");
  return encode(absorb(before.gathered, more));
}

std::unique_ptr<Prediction> Cmanp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& encoded = state_as<CmanpState>(state, "cmanp");
  return decoder(xt, encoded.read, PrefixMask::all());  // (B, Nt, Dy)
}

Tensor Cmanp::encode_targets(const ContextState& state, const Tensor& xt) const {
  return decoder.encode(xt, state_as<CmanpState>(state, "cmanp").read, PrefixMask::all());
}

Tensor Cmanp::loss(const Task& task, Draws& draws) const {
  return Model::loss(drop_values(task, config_.drop_y, draws), draws);
}

void Cmanp::visit(ModuleVisitor& visitor) {
  visitor("embedder", embedder);
  visitor("latents", latents);
  visitor("encoder", encoder);
  visitor("decoder", decoder);
}

CmanpConfig read_cmanp_config(ConfigReader& reader, const std::string& model) {
  CmanpConfig c{read_perceiver_config(reader, model)};
  c.latents = reader.size("num_latents", "latent vectors");
  c.latents_per_block = reader.size("num_latents_per_layer", "latent vectors of a block");
  if (reader.has("CMAB_block_size"))
    c.chunk = reader.size("CMAB_block_size", "context points that are read at a time; all if missing");
  return c;
}

std::unique_ptr<Model> make_cmanp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "cmanp");
  CmanpConfig c = read_cmanp_config(reader, "cmanp");
  c.likelihood = read_likelihood(reader);
  reader.finish();
  Initializer init(Framework::torch, weights);
  return std::make_unique<Cmanp>(c, init);
}

AuthorsPlace authors_cmanp(const std::string& name) {
  const auto words = split_name(name);
  if (words[0] != "encoder") return authors_perceiver_model(words);
  const std::string block = fmt::format("encoder.layers.{}.", words[1]);
  if (words[2] == "latents") return {block + "latents"};
  return authors_latent_layer(words[2] == "compress" ? block + "layer_" : block, Words(words).subspan(3));
}

std::map<std::string, Tensor> authors_cmanp_state(const ContextState& state) {
  const auto& cmanp = state_as<CmanpState>(state, "cmanp");
  std::map<std::string, Tensor> theirs;
  for (std::size_t i = 0; i < cmanp.gathered.size(); ++i) {
    const std::string block = std::to_string(i);
    const AttentionState& gathered = cmanp.gathered[i];
    const Shape& heads = gathered.log_sum_exp.shape();  // (B, H, L)
    theirs[block + ".constant"] =
        gathered.log_sum_exp.detach().to(Device::cpu).view({heads[0] * heads[1], heads[2], 1});
    const Tensor mean = split_into_heads(gathered.mean, heads[1]);  // (B, H, L, D)
    theirs[block + ".embedding"] = mean.view({heads[0] * heads[1], heads[2], mean.dim(3)});
    theirs[block + ".latents"] = cmanp.latents[i].detach().to(Device::cpu);
  }
  return theirs;
}

namespace {

constexpr AuthorsCode kCmanpAuthors[] = {
    {.recorded_as = "cmanp", .place = authors_cmanp, .state = authors_cmanp_state}};

constexpr PublishedSize kCmanpSizes[] = {
    {"tnp/gp-rbf", 1'341'634},
    {"tnp/emnist", 1'341'762},
    {"tnp/celeba32", 1'342'406},
};

constexpr const char* kSmallCmanps[] = {
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "num_latents_per_layer": 4, "emb_depth": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "num_latents_per_layer": 4, "emb_depth": 2, "residual": "input", "bound_std": true, "CMAB_block_size": 2})",
    R"({"d_model": 8, "dim_feedforward": 12, "nhead": 2, "num_layers": 2, "num_latents": 3, "num_latents_per_layer": 4, "emb_depth": 2, "likelihood": "zero-inflated-log-normal"})",
};

}  // namespace

ModelInfo cmanp_info() {
  return {
      .name = "cmanp",
      .title = "Constant memory attentive neural process",
      .paper = "Feng et al., Memory efficient neural processes via constant memory attention block, ICML 2024",
      .make = make_cmanp,
      .small_forms = kSmallCmanps,
      .sizes = kCmanpSizes,
      .authors = kCmanpAuthors,
      .likelihoods = true,
  };
}

}  // namespace npzoo
