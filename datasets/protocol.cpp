#include "datasets/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <set>
#include <sstream>
#include <utility>

#include "datasets/protocol_files.h"
#include "engine/error.h"
#include "engine/io/file.h"
#include "engine/io/toml.h"

namespace npzoo {

namespace {

/// Points of one task: their covariance then stays below 128 MiB, whatever a file asks for.
constexpr std::int64_t kMaxPoints = 4096;
constexpr std::int64_t kMaxCount = 1'000'000'000;

struct Rule {
  bool (*holds)(double);
  const char* expected;
};
constexpr Rule kFinite{[](double x) { return std::isfinite(x); }, "a finite number"};
constexpr Rule kPositive{[](double x) { return x > 0 && std::isfinite(x); }, "a number > 0"};
constexpr Rule kNonNegative{[](double x) { return x >= 0 && std::isfinite(x); }, "a number >= 0"};
constexpr Rule kAtLeastOne{[](double x) { return x >= 1 && std::isfinite(x); }, "a number >= 1"};
constexpr Rule kBelowOne{[](double x) { return x >= 0 && x < 1; }, "a number >= 0 and < 1"};

std::string describe(const toml::node& node) {
  std::ostringstream text;
  if (node.is_value())
    node.visit([&text](const auto& value) { text << value; });
  else
    text << "a TOML " << node.type();
  return text.str();
}

/// One table of the file. Remembers which keys were read, so that `finish` can reject the others.
class Reader {
 public:
  Reader(const toml::table& table, std::string where, std::string path)
      : table_(table), where_(std::move(where)), path_(std::move(path)) {}

  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::table& content() const { return table_; }

  const toml::node& node(std::string_view key, std::string_view expected) {
    const toml::node* found = table_.get(key);
    check(found != nullptr, "[protocol] {}: {} is missing, expected {}", where_, name(key), expected);
    used_.emplace(key);
    return *found;
  }

  [[noreturn]] void reject(std::string_view key, const std::string& found, std::string_view expected) const {
    fail("[protocol] {}: {} is {}, expected {}", where_, name(key), found, expected);
  }

  std::string text(std::string_view key) {
    const toml::node& found = node(key, "a string");
    if (!found.is_string()) reject(key, describe(found), "a string");
    return found.as_string()->get();
  }

  bool boolean(std::string_view key) {
    const toml::node& found = node(key, "true or false");
    if (!found.is_boolean()) reject(key, describe(found), "true or false");
    return found.as_boolean()->get();
  }

  std::string choice(std::string_view key, std::initializer_list<std::string_view> options) {
    const std::string expected = fmt::format("one of \"{}\"", fmt::join(options, "\", \""));
    const toml::node& found = node(key, expected);
    const std::string value = found.value_or(std::string());
    if (std::ranges::find(options, value) == options.end()) reject(key, describe(found), expected);
    return value;
  }

  std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high = kMaxCount) {
    const std::string expected = fmt::format("an integer from {} to {}", low, high);
    return integer_at(key, node(key, expected), low, high, expected);
  }

  double number(std::string_view key, const Rule& rule) { return number_at(key, node(key, rule.expected), rule); }

  std::pair<double, double> two_numbers(std::string_view key, const Rule& rule) {
    const toml::array& found = two(key);
    return {number_at(key, found[0], rule), number_at(key, found[1], rule)};
  }

  /// [low, high) with low < high, both within the bounds given.
  IntegerRange range(std::string_view key, std::int64_t min_low, std::int64_t max_high) {
    const std::string expected = fmt::format("integers {} <= low < high <= {}", min_low, max_high);
    const toml::array& found = two(key);
    const IntegerRange range{integer_at(key, found[0], min_low, max_high, expected),
                             integer_at(key, found[1], min_low, max_high, expected)};
    if (range.low >= range.high) reject(key, fmt::format("[{}, {}]", range.low, range.high), expected);
    return range;
  }

  Reader table(std::string_view key) { return table_at(key, node(key, "a table")); }

  /// Every table of an array of tables, at least one.
  std::vector<Reader> tables(std::string_view key) {
    const toml::node& found = node(key, "an array of tables");
    if (!found.is_array() || found.as_array()->empty()) reject(key, describe(found), "an array of tables");
    std::vector<Reader> result;
    for (const toml::node& element : *found.as_array())
      result.push_back(table_at(fmt::format("{}[{}]", key, result.size()), element));
    return result;
  }

  void finish() const {
    for (const auto& [key, value] : table_)
      check(used_.contains(key.str()), "[protocol] {}: {} is an unknown key, expected one of: {}", where_,
            name(key.str()), fmt::join(used_, ", "));
  }

 private:
  std::string name(std::string_view key) const {
    return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  }

  std::int64_t integer_at(std::string_view key, const toml::node& found, std::int64_t low, std::int64_t high,
                          std::string_view expected) const {
    const auto value = found.value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) reject(key, describe(found), expected);
    return *value;
  }

  double number_at(std::string_view key, const toml::node& found, const Rule& rule) const {
    const auto value = found.is_number() ? found.value<double>() : std::nullopt;
    if (!value || !rule.holds(*value)) reject(key, describe(found), rule.expected);
    return *value;
  }

  const toml::array& two(std::string_view key) {
    const toml::node& found = node(key, "an array of two numbers");
    if (!found.is_array() || found.as_array()->size() != 2) reject(key, describe(found), "an array of two numbers");
    return *found.as_array();
  }

  Reader table_at(std::string_view key, const toml::node& found) const {
    if (!found.is_table()) reject(key, describe(found), "a table");
    return {*found.as_table(), where_, name(key)};
  }

  const toml::table& table_;
  std::string where_, path_;
  std::set<std::string, std::less<>> used_;
};

Prior read_prior(Reader& kernel, std::string_view key) {
  constexpr const char* kExpected = "a number > 0, {uniform = [low, high]} or {beta = [a, b]}";
  if (!kernel.node(key, kExpected).is_table()) return {Prior::Kind::constant, kernel.number(key, kPositive), 0};
  Reader prior = kernel.table(key);
  const bool uniform = prior.has("uniform");
  const auto [a, b] = uniform ? prior.two_numbers("uniform", kPositive) : prior.two_numbers("beta", kAtLeastOne);
  if (uniform && a >= b) prior.reject("uniform", fmt::format("[{}, {}]", a, b), "low < high");
  prior.finish();
  return {uniform ? Prior::Kind::uniform : Prior::Kind::beta, a, b};
}

std::vector<KernelPrior> read_kernels(Reader& owner) {
  std::vector<KernelPrior> kernels;
  for (Reader& reader : owner.tables("kernels")) {
    KernelPrior& kernel = kernels.emplace_back();
    const std::string kind = reader.choice("kind", {"rbf", "matern32", "matern52", "periodic"});
    for (KernelKind candidate : {KernelKind::matern32, KernelKind::matern52, KernelKind::periodic})
      if (kind == to_string(candidate)) kernel.kind = candidate;
    kernel.lengthscale = read_prior(reader, "lengthscale");
    kernel.scale = read_prior(reader, "scale");
    if (kernel.kind == KernelKind::periodic) kernel.period = read_prior(reader, "period");
    reader.finish();
  }
  return kernels;
}

GpDistribution read_data(Reader data) {
  GpDistribution d;
  data.choice("kind", {"gp"});
  d.kernels = read_kernels(data);
  d.dims = data.integer("dims", 1, 16);
  std::tie(d.low, d.high) = data.two_numbers("domain", kFinite);
  if (d.low >= d.high) data.reject("domain", fmt::format("[{}, {}]", d.low, d.high), "low < high");
  d.points = data.integer("points", 2, kMaxPoints);
  d.shared = data.boolean("shared");
  if (data.choice("targets", {"disjoint", "all"}) == "all") {
    d.targets = GpDistribution::Targets::all;
    d.grid = data.integer("grid", 0, kMaxPoints);
    const double total = static_cast<double>(d.points) + std::pow(static_cast<double>(d.grid), d.dims);
    if (total > kMaxPoints)
      data.reject("grid", fmt::format("{} per axis", d.grid), fmt::format("at most {} points", kMaxPoints));
  } else {
    d.min_targets = data.integer("min_targets", 1, d.points - 1);
  }
  const bool all = d.targets == GpDistribution::Targets::all;
  d.context = data.range("context", 0, all ? d.points + 1 : d.points - d.min_targets);
  d.ragged = data.choice("context_per", {"batch", "row"}) == "row";
  d.context_noise = data.number("context_noise", kNonNegative);
  d.target_noise = data.number("target_noise", kNonNegative);
  d.jitter = data.number("jitter", kNonNegative);
  data.finish();
  return d;
}

OptimiserConfig read_optimiser(Reader reader) {
  OptimiserConfig o;
  o.name = reader.choice("name", {"adam", "adamw", "yogi"});
  o.lr = reader.number("lr", kPositive);
  o.beta1 = reader.number("beta1", kBelowOne);
  o.beta2 = reader.number("beta2", kBelowOne);
  o.epsilon = reader.number("epsilon", kPositive);
  o.weight_decay = reader.number("weight_decay", kNonNegative);
  reader.finish();
  return o;
}

ScheduleConfig read_schedule(Reader reader, std::int64_t steps) {
  ScheduleConfig s;
  s.name = reader.choice("name", {"constant", "cosine", "one-cycle"});
  if (s.name == "cosine") s.warmup_steps = reader.integer("warmup_steps", 0, steps);
  if (s.name == "one-cycle") {
    s.warmup = reader.number("warmup", kBelowOne);
    s.divisor = reader.number("divisor", kAtLeastOne);
    s.final_divisor = reader.number("final_divisor", kAtLeastOne);
  }
  reader.finish();
  return s;
}

TrainingConfig read_training(Reader reader) {
  TrainingConfig t;
  t.steps = reader.integer("steps", 1);
  t.batch_size = reader.integer("batch_size", 1);
  t.optimiser = read_optimiser(reader.table("optimiser"));
  t.schedule = read_schedule(reader.table("schedule"), t.steps);
  t.clip_norm = reader.number("clip_norm", kNonNegative);
  t.keep_best = reader.choice("keep", {"best", "last"}) == "best";
  reader.finish();
  return t;
}

ValidationConfig read_validation(Reader reader, bool needed) {
  ValidationConfig v;
  v.every = reader.integer("every", needed ? 1 : 0);
  v.batches = reader.integer("batches", 1);
  v.seed = static_cast<std::uint64_t>(reader.integer("seed", 0));
  reader.finish();
  return v;
}

OracleValues read_oracle(Reader reader) {
  OracleValues values;
  const auto read = [&reader](std::string_view key, std::optional<double>& value, const Rule& rule = kFinite) {
    if (reader.has(key)) value = reader.number(key, rule);
  };
  read("known_marginal", values.known_marginal);
  read("known_joint", values.known_joint);
  read("bayes_diagonal", values.bayes_diagonal);
  read("bayes_mixture", values.bayes_mixture);
  read("bayes_joint", values.bayes_joint);
  read("standard_error", values.standard_error, kNonNegative);
  reader.finish();
  return values;
}

std::map<std::string, Published> read_published(Reader reader) {
  std::map<std::string, Published> rows;
  for (const auto& [model, node] : reader.content()) {
    Published& row = rows[std::string(model.str())];
    if (!node.is_array()) {
      row.value = reader.number(model.str(), kFinite);
      continue;
    }
    const auto [value, error] = reader.two_numbers(model.str(), kFinite);
    if (error < 0) reader.reject(model.str(), fmt::format("[{}, {}]", value, error), "an error >= 0");
    row = {value, error};
  }
  return rows;
}

std::map<std::string, Density> read_densities(Reader reader, const std::vector<TestConfig>& tests) {
  std::map<std::string, Density> densities;
  for (const auto& [model, node] : reader.content()) {
    const std::string name(model.str());
    const std::string density = reader.choice(name, {"marginal", "mixture", "joint"});
    if (std::ranges::none_of(tests, [&](const TestConfig& test) { return test.published.contains(name); }))
      reader.reject(name, "that of a model without a published figure", "one that has a published figure");
    densities[name] = density == "joint" ? Density::joint : density == "mixture" ? Density::mixture : Density::marginal;
  }
  return densities;
}

EvaluationConfig read_evaluation(Reader reader, const GpDistribution& data) {
  EvaluationConfig e;
  e.batches = reader.integer("batches", 1);
  e.batch_size = reader.integer("batch_size", 1);
  e.seed = static_cast<std::uint64_t>(reader.integer("seed", 0));
  e.metric = reader.choice("metric", {"log-likelihood", "nll"}) == "nll" ? Metric::nll : Metric::log_likelihood;
  for (Reader& test : reader.tables("tests")) {
    TestConfig& config = e.tests.emplace_back();
    config.name = test.text("name");
    if (std::ranges::count(e.tests, config.name, &TestConfig::name) > 1)
      test.reject("name", fmt::format("'{}' again", config.name), "a name of its own");
    config.data = data;
    config.data.kernels = read_kernels(test);
    if (test.has("oracle")) config.oracle = read_oracle(test.table("oracle"));
    if (test.has("published")) config.published = read_published(test.table("published"));
    test.finish();
  }
  if (reader.has("densities")) e.densities = read_densities(reader.table("densities"), e.tests);
  reader.finish();
  return e;
}

std::map<std::string, ModelConfig> read_models(Reader reader) {
  std::map<std::string, ModelConfig> models;
  for (const auto& [name, unused] : reader.content()) {
    Reader preset = reader.table(name.str());
    ModelConfig& model = models[std::string(name.str())];
    for (const auto& [key, node] : preset.content()) {
      auto& value = model[std::string(key.str())];
      if (node.is_boolean())
        value = node.as_boolean()->get();
      else if (node.is_integer())
        value = node.as_integer()->get();
      else if (node.is_floating_point())
        value = preset.number(key.str(), kFinite);
      else if (node.is_string())
        value = node.as_string()->get();
      else
        preset.reject(key.str(), describe(node), "true, false, a number or a string");
    }
  }
  return models;
}

}  // namespace

Protocol parse_protocol(std::string_view text, const std::string& where) {
  const toml::table root = parse_toml(text, "[protocol] " + where);
  Reader reader(root, where, "");
  Protocol protocol;
  protocol.name = reader.text("name");
  protocol.description = reader.text("description");
  protocol.source = reader.text("source");
  protocol.data = read_data(reader.table("data"));
  protocol.training = read_training(reader.table("training"));
  protocol.validation = read_validation(reader.table("validation"), protocol.training.keep_best);
  protocol.evaluation = read_evaluation(reader.table("evaluation"), protocol.data);
  protocol.models = read_models(reader.table("models"));
  protocol.text = text;
  reader.finish();
  return protocol;
}

Protocol load_protocol(const std::string& name_or_path) {
  for (const ProtocolFile& file : protocol_files())
    if (file.name == name_or_path) return parse_protocol(file.text, name_or_path);
  check(name_or_path.ends_with(".toml"), "[protocol] {} is unknown, expected a path ending in .toml or one of: {}",
        name_or_path, fmt::join(protocol_names(), ", "));
  return parse_protocol(read_text(name_or_path, kMaxTomlBytes), name_or_path);
}

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const ProtocolFile& file : protocol_files()) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

const ModelConfig& model_config(const Protocol& protocol, const std::string& model) {
  const auto preset = protocol.models.find(model);
  if (preset != protocol.models.end()) return preset->second;
  std::vector<std::string> names;
  for (const auto& [name, config] : protocol.models) names.push_back(name);
  fail("[protocol] {} has no preset for the model {}, expected one of: {}", protocol.name, model,
       fmt::join(names, ", "));
}

}  // namespace npzoo
