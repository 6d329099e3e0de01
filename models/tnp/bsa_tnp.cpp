#include "npzoo/models/tnp/bsa_tnp.h"

#include <array>
#include <charconv>
#include <cmath>

#include "npzoo/models/blocks/chunks.h"
#include "npzoo/models/blocks/min_std.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

constexpr std::int64_t kFlagWidth = 4;

struct BsaTnpState : HeldContext {
  BsaTnpState(HeldContext held, Tensor inputs)
      : HeldContext(std::move(held)), xc(std::move(inputs)), mask(PrefixMask::lengths(context.lengths)) {}

  Tensor xc;  // (B, Nc, Dx) without padding
  PrefixMask mask;
  std::vector<KeysValues> encoded{};  // what each use of a block attends to
};

std::vector<std::int64_t> network_widths(std::int64_t in, const std::vector<std::int64_t>& hidden, std::int64_t out) {
  std::vector<std::int64_t> all{in};
  all.insert(all.end(), hidden.begin(), hidden.end());
  all.push_back(out);
  return all;
}

std::int64_t token_inputs(const BsaTnpConfig& c) {
  std::int64_t sum = kFlagWidth + c.dim_y;
  for (const auto& columns : c.embedded) sum += columns.second - columns.first;
  return sum;
}

}  // namespace

BsaTnp::BsaTnp(const BsaTnpConfig& config, Initializer& init)
    : flag{affine(init.standard_normal({2, kFlagWidth}), 0.5, 0)},  // variance 1 / width, as Flax embeds
      embedder(network_widths(token_inputs(config), config.embedder, config.block.width), init),
      token_norm(config.block.width, 1e-6),
      norm(config.block.width, 1e-6),
      head(network_widths(config.block.width, config.head, config.likelihood.outputs(config.dim_y)), init),
      config_(config) {
  for (std::int64_t i = 0; i < config.blocks; ++i) blocks.emplace_back(config.block, init);
}

Tensor BsaTnp::tokens(Stream stream, const Tensor& x, const Tensor& values) const {
  const auto row = static_cast<std::int64_t>(stream);
  const Tensor own = reshape(slice(flag.value, 0, row, row + 1), {1, 1, kFlagWidth});
  std::vector<Tensor> parts{broadcast_to(own, {x.dim(0), x.dim(1), kFlagWidth})};  // (B, N, 4)
  for (const auto& columns : config_.embedded) parts.push_back(slice(x, 2, columns.first, columns.second));
  parts.push_back(values);
  return token_norm(embedder.with(gelu_tanh, concat(parts, -1)));  // (B, N, E)
}

Tensor BsaTnp::target_tokens(const Tensor& x) const {
  return tokens(Stream::targets, x, Tensor::zeros(x.shape().with(-1, config_.dim_y), x.dtype(), x.device()));
}

std::unique_ptr<ContextState> BsaTnp::do_condition(const Context& context, Draws& draws, std::int64_t samples) const {
  const Context points = clear_padding(context);
  auto state = std::make_unique<BsaTnpState>(HeldContext(context, draws, samples), points.xc);
  const std::int64_t count = points.xc.dim(1), chunk = chunk_points(points.xc.device());
  const auto part = [](const Tensor& x, std::int64_t begin, std::int64_t end) { return points_between(x, begin, end); };
  Tensor h = join_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {  // (B, Nc, E)
    return tokens(Stream::context, part(points.xc, begin, end), part(points.yc, begin, end));
  });
  const std::size_t uses = blocks.size() * static_cast<std::size_t>(config_.reps);
  for (std::size_t i = 0; i < uses; ++i) {
    KeysValues keys = block_of(i).keys_values(h);
    keys.origin.layer = i;
    state->encoded.push_back(std::move(keys));
    if (i + 1 == uses) break;  // the output of the last one is not used
    h = join_chunks(count, chunk, [&](std::int64_t begin, std::int64_t end) {
      return block_of(i)(part(h, begin, end), part(points.xc, begin, end), state->encoded.back(), points.xc,
                         state->mask);
    });
  }
  return state;
}

std::unique_ptr<Prediction> BsaTnp::do_query(const ContextState& state, const Tensor& xt) const {
  const auto& context = state_as<BsaTnpState>(state, "bsa-tnp");
  const Tensor raw = in_chunks(xt, [&](const Tensor& x) {
    Tensor h = target_tokens(x);  // (B, n, E)
    for (std::size_t i = 0; i < context.encoded.size(); ++i)
      h = block_of(i)(h, x, context.encoded[i], context.xc, context.mask);
    return head.with(gelu_tanh, norm(h));  // (B, n, 2 Dy)
  });
  const StdForm form{StdForm::Kind::softplus, config_.min_std};
  return output_head(raw, form, config_.likelihood);  // (B, Nt, Dy)
}

Tensor BsaTnp::loss(const Task& task, Draws& draws) const {
  return mean_over_channels(Model::loss(task, draws), dim_y());
}

std::vector<BlockStates> BsaTnp::block_states(const Context& context, const Tensor& xt) const {
  const PrefixMask mask = PrefixMask::lengths(context.lengths);
  std::vector<BlockStates> states;
  BlockStates h{target_tokens(xt), tokens(Stream::context, context.xc, context.yc)};
  for (std::size_t i = 0; i < blocks.size() * static_cast<std::size_t>(config_.reps); ++i) {
    const BiasedBlock& block = block_of(i);
    const KeysValues keys = block.keys_values(h.context);
    h = {block(h.targets, xt, keys, context.xc, mask), block(h.context, context.xc, keys, context.xc, mask)};
    states.push_back(h);
  }
  return states;
}

void BsaTnp::visit(ModuleVisitor& visitor) {
  visitor("flag", flag);
  visitor("embedder", embedder);
  visitor("token_norm", token_norm);
  visitor("blocks", blocks);
  visitor("norm", norm);
  visitor("head", head);
}

namespace {

/// Reads "256 64": up to eight widths between blanks.
std::vector<std::int64_t> read_hidden_widths(ConfigReader& reader, const char* key, KeyLine line) {
  const std::string text = reader.get<std::string>(key, line);
  std::vector<std::int64_t> all;
  bool right = true;
  for (const char *at = text.data(), *end = at + text.size(); right && at != end;) {
    std::int64_t width = 0;
    const auto read = std::from_chars(at, end, width);
    right = read.ec == std::errc() && 1 <= width && width <= 65536 && all.size() < 8 &&
            (read.ptr == end || *read.ptr == ' ');
    at = read.ptr != end && *read.ptr == ' ' ? read.ptr + 1 : read.ptr;
    all.push_back(width);
  }
  reader.expect(right, "[bsa-tnp] {} is \"{}\", expected up to 8 widths from 1 to 65536 between blanks", key, text);
  return right ? all : std::vector<std::int64_t>{};
}

/// A group of the columns of inputs.
struct InputGroup {
  const char* name;
  std::int64_t begin, end;
};

/// Fixed effects x, places s and times t, in this order.
std::array<InputGroup, 3> read_groups(ConfigReader& reader, std::int64_t dim_x) {
  const std::int64_t x = reader.integer("width_x", "columns of inputs that are fixed effects", 0, 65536, 0),
                     t = reader.integer("width_t", "last columns of inputs, which are times", 0, 65536, 0),
                     s = reader.integer("width_s", "columns between them, which are places; default: the others", 0,
                                        65536, std::max<std::int64_t>(dim_x - x - t, 0));
  reader.expect(x + s + t == dim_x, "[bsa-tnp] width_x {}, width_s {} and width_t {} found, expected the sum {}", x, s,
                t, dim_x);
  return {InputGroup{"x", 0, x}, {"s", x, x + s}, {"t", x + s, x + s + t}};
}

void read_embedded(ConfigReader& reader, const std::array<InputGroup, 3>& groups, BsaTnpConfig& c) {
  const std::string text =
      reader.get<std::string>("embed", "groups whose inputs enter tokens, such as \"x t\"; default: none", "");
  std::string left = " " + text + " ";
  for (const InputGroup& group : groups) {
    const std::string word = fmt::format(" {} ", group.name);
    const auto at = left.find(word);
    if (at == std::string::npos) continue;
    left.erase(at + 1, 2);
    c.embedded.emplace_back(group.begin, group.end);
  }
  reader.expect(left.find_first_not_of(' ') == std::string::npos,
                "[bsa-tnp] embed is \"{}\", expected x, s and t at most, between blanks", text);
}

void read_bias(ConfigReader& reader, const InputGroup& group, std::int64_t basis, BsaTnpConfig& c) {
  const std::string key = fmt::format("bias_{}", group.name);
  const char* line = group.name[0] == 'x'   ? "bias of the distances of fixed effects"
                     : group.name[0] == 's' ? "bias of the distances of places; geodesic ones take longitude and "
                                              "latitude in degrees"
                                            : "bias of the distances of times";
  const std::string kind =
      reader.choice(key, line, {"none", "scalar", "rbf", "tisa", "geodesic", "geodesic-rbf"}, "none");
  const std::int64_t terms = reader.size(fmt::format("basis_{}", group.name), "its terms; default: basis", basis);
  if (kind == "none") return;
  const bool sphere = kind.starts_with("geodesic");
  const std::int64_t columns = group.end - group.begin;
  reader.expect(sphere ? columns == 2 : columns > 0, "[bsa-tnp] {} is {}, but the group has {} columns, expected {}",
                key, kind, columns, sphere ? "2" : "1 or more");
  c.block.biases.push_back({group.name, group.begin, group.end,
                            kind == "scalar"     ? BiasForm::scalar
                            : kind == "tisa"     ? BiasForm::tisa
                            : kind == "geodesic" ? BiasForm::exponential
                                                 : BiasForm::rbf,
                            sphere ? DistanceKind::great_circle : DistanceKind::euclidean, terms});
}

BsaTnpConfig read_bsa_config(ConfigReader& reader) {
  BsaTnpConfig c;
  c.dim_x = reader.size("dim_x", kGivenByData);
  c.dim_y = reader.size("dim_y", kGivenByData);
  c.block.width = reader.size("d_model", "width of tokens");
  c.block.attention_width = reader.size("attention_width", "width of queries, keys and values, of all heads together");
  c.block.hidden = reader.size("dim_feedforward", "width of the feed-forward networks");
  c.block.heads = reader.size("nhead", "attention heads");
  c.block.scan_chunk = reader.integer(
      "scan_chunk", "keys between two roundings of dl4bi's attention; 0: a softmax without them", 0, 1 << 30, 1024);
  c.blocks = reader.depth("num_layers", "blocks");
  c.reps = reader.depth("num_reps", "uses of each block, one after the other", 1);
  c.embedder =
      read_hidden_widths(reader, "embed_all", "hidden widths of the network that makes tokens, such as \"256 128\"");
  c.head = read_hidden_widths(reader, "head", "hidden widths of the network that predicts, such as \"256 64\"");
  const auto groups = read_groups(reader, c.dim_x);
  read_embedded(reader, groups, c);
  const std::int64_t basis = reader.size("basis", "terms of a bias, for each head", 5);
  for (const InputGroup& group : groups) read_bias(reader, group, basis, c);
  c.min_std = read_min_std(reader);
  c.likelihood = read_likelihood(reader);
  return c;
}

}  // namespace

std::unique_ptr<Model> make_bsa_tnp(const ModelConfig& config, const InitialWeights& weights) {
  ConfigReader reader(config, "bsa-tnp");
  const BsaTnpConfig c = read_bsa_config(reader);
  reader.finish();
  Initializer init(Framework::flax_orthogonal, weights);
  return std::make_unique<BsaTnp>(c, init);
}

namespace {

AuthorsPlace authors_bsa_tnp(const std::string& name) {
  const auto words = split_name(name);
  const std::string &part = words[0], &kind = words.back();
  if (part == "flag") return {"embed_obs.embedding"};
  if (part == "embedder") return flax_mlp("embed_all", Words(words).last(3));
  if (part == "head") return flax_mlp("head", Words(words).last(3));
  if (part == "token_norm") return {flax_name("LayerNorm_0", kind)};
  if (part == "norm") return {flax_name("LayerNorm_1", kind)};
  const std::string block = "KRBlock_" + words[1];
  if (words[2].starts_with("bias_")) return {fmt::format("{}.attn.attn.{}_bias_{}", block, words[2].substr(5), kind)};
  return flax_transformer_layer(block, Words(words).subspan(2));
}

ModelConfig authors_bsa_config(ModelConfig theirs) {
  rename(theirs, {{"qkv", "attention_width"}, {"reps", "num_reps"}, {"ks_chunk", "scan_chunk"}, {"head", "hidden"}});
  theirs.erase("qs_chunk");  // cuts the work alone
  theirs = dl4bi_transformer(std::move(theirs));
  rename(theirs, {{"hidden", "head"}});
  return theirs;
}

/// The figures of dl4bi's validation step, over real targets and channels.
void add_validation_figures(const Moments& moments, const Task& task, NamedTensors& all) {
  const auto host = [](const Tensor& x) { return x.to(Device::cpu).to(DType::float64); };
  const Tensor mean = host(moments.mean), std = host(moments.std), y = host(task.yt),
               weights = host(task.target_weights);
  const std::int64_t channels = y.dim(2);
  double count = 0, squares = 0, absolute = 0, covered = 0;
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const double weight = weights.data<double>()[i / channels], error = y.data<double>()[i] - mean.data<double>()[i];
    count += weight;
    squares += weight * error * error;
    absolute += weight * std::abs(error);
    covered += weight * (std::abs(error) <= 1.959963984540054 * std.data<double>()[i]);
  }
  all["eval.rmse"] = Tensor::full({}, std::sqrt(squares / count), DType::float64);
  all["eval.mae"] = Tensor::full({}, absolute / count, DType::float64);
  // JAX takes the mean of truth values in float32.
  all["eval.coverage"] = Tensor::full({}, static_cast<float>(covered) / static_cast<float>(count), DType::float64);
}

NamedTensors recorded_bsa_tnp(const Model& model, const Task& task, const Prediction& prediction,
                              const RecordedTensors& /*recorded*/) {
  NamedTensors all;
  const Moments found = moments(prediction);
  all["train.mean"] = found.mean;  // the model draws nothing
  all["train.std"] = found.std;
  add_validation_figures(found, task, all);
  const auto& own = dynamic_cast<const BsaTnp&>(model);
  const auto states = own.block_states({task.xc, task.yc, task.lengths}, task.xt);
  const std::size_t reps = states.size() / own.blocks.size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string name = fmt::format("train.layer.KRBlock_{}.{}.", i / reps, i % reps);
    all[name + "0"] = states[i].targets;
    all[name + "1"] = states[i].context;
  }
  return all;
}

constexpr AuthorsCode kBsaAuthors[] = {{.recorded_as = "bsa-tnp",
                                        .place = authors_bsa_tnp,
                                        .config = authors_bsa_config,
                                        .adamw = {.name = "adamw", .lr = 1e-3, .weight_decay = 1e-4},
                                        .others = recorded_bsa_tnp}};

constexpr PublishedSize kBsaSizes[] = {
    {"tnp-kr/gp1d-rbf", 475'770},
    {"tnp-kr/gp2d-rbf", 475'770},
    {"tnp-kr/gp2d-rbf", 476'778, R"({"width_t": 1, "embed": "s t", "bias_t": "rbf", "dim_x": 3})"},
};

constexpr const char* kSmallBsas[] = {
    R"({"d_model": 8, "attention_width": 12, "dim_feedforward": 10, "nhead": 2, "num_layers": 2, "embed_all": "10", "head": "9", "bias_s": "rbf", "basis": 2, "min_std": 0.0})",
    R"({"d_model": 8, "attention_width": 6, "dim_feedforward": 10, "nhead": 2, "num_layers": 1, "num_reps": 2, "embed_all": "10 9", "head": "9", "embed": "s", "bias_s": "tisa", "basis": 2, "min_std": 0.05})",
    R"({"d_model": 8, "attention_width": 8, "dim_feedforward": 10, "nhead": 2, "num_layers": 2, "embed_all": "10", "head": "9 8", "scan_chunk": 0, "width_t": 1, "embed": "s t", "bias_t": "scalar", "min_std": 0.05})",
    R"({"d_model": 8, "attention_width": 12, "dim_feedforward": 10, "nhead": 2, "num_layers": 1, "embed_all": "10", "head": "9", "bias_s": "rbf", "basis": 2, "min_std": 0.0, "likelihood": "categorical", "classes": 3})",
};

}  // namespace

ModelInfo bsa_tnp_info() {
  return {
      .name = "bsa-tnp",
      .title = "Biased scan attention transformer neural process",
      .paper =
          "Jenson et al., Scalable spatiotemporal inference with biased scan attention transformer neural "
          "processes, AISTATS 2026",
      .make = make_bsa_tnp,
      .small_forms = kSmallBsas,
      .sizes = kBsaSizes,
      .authors = kBsaAuthors,
      .input_gradients = false,           // distances take none
      .traits = {.counts_points = true},  // the more points, the less the constant in dl4bi's sum of weights weighs
      .likelihoods = true,
  };
}

}  // namespace npzoo
