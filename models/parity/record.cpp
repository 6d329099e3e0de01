#include "models/parity/record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/io/json.h"
#include "models/config_json.h"
#include "models/registry.h"
#include "ops/concat/concat.h"

namespace npzoo {

namespace {

const std::string& recorded_fact(const TensorFile& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  check(found != file.metadata.end(), "[parity] {}: there is no '{}' in the metadata; expected a recorded run", path,
        key);
  return found->second;
}

/// Numbers and truth values of a run; its lists are in tensors as well.
ModelConfig run_from_json(const std::string& text, const std::string& where) {
  nlohmann::json object = parse_json(text, where + ": the run");
  check(object.is_object(), "{}: the run is no JSON object", where);
  for (auto entry = object.begin(); entry != object.end();)
    entry = entry->is_array() ? object.erase(entry) : std::next(entry);
  return model_config_from_json(object.dump(), where);
}

std::set<std::string> names_from_json(const std::string& text, const std::string& where) {
  const nlohmann::json list = parse_json(text, where + ": no_gradient");
  const auto is_name = [](const nlohmann::json& entry) { return entry.is_string(); };
  check(list.is_array() && std::ranges::all_of(list, is_name), "{}: no_gradient is no list of names", where);
  return list.get<std::set<std::string>>();
}

/// Constructor parameters; the one that may be a list becomes a string.
ModelConfig config_from_json(const std::string& text, const char* list, const std::string& where) {
  if (list == nullptr) return model_config_from_json(text, where);
  nlohmann::json object = parse_json(text, where + ": the model's config");
  if (object.is_object() && object.contains(list) && object[list].is_array()) {
    std::string words;
    for (const auto& each : object[list]) words += (words.empty() ? "" : " ") + each.dump();
    object[list] = words;
  }
  return model_config_from_json(object.dump(), where);
}

/// The last two of the three axes (A, B, C) that x is read as exchanged: (A, C, B).
Tensor exchanged(const Tensor& x, std::int64_t a, std::int64_t b, std::int64_t c, const Shape& shape) {
  check(x.dtype() == DType::float64, "[parity] {} kernel found, expected float64", to_string(x.dtype()));
  Tensor out = Tensor::empty(shape, x.dtype(), Device::cpu);
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t j = 0; j < b; ++j)
      for (std::int64_t k = 0; k < c; ++k)
        out.data<double>()[(i * c + k) * b + j] = x.data<double>()[(i * b + j) * c + k];
  return out;
}

/// A tensor of theirs with its axes in our order.
Tensor in_our_order(const AuthorsPlace& place, const Tensor& x) {
  if (x.rank() == 0) return x.view({1});
  if (place.name.ends_with(".kernel") && x.rank() == 2)
    return exchanged(x, 1, x.dim(0), x.dim(1), {x.dim(1), x.dim(0)});
  if (place.layout == AuthorsLayout::same || x.rank() < 3) return x;
  if (place.layout == AuthorsLayout::pointwise) return x.view({x.dim(0), x.dim(1)});
  const std::int64_t first = x.dim(0), second = x.dim(1), taps = x.numel() / std::max<std::int64_t>(1, first * second);
  // (first, second, taps) → (taps, first, second), or that with the channels exchanged.
  const Tensor taps_first = exchanged(x, 1, first * second, taps, {taps, first, second});
  const bool flipped = place.layout == AuthorsLayout::convolution;
  const std::int64_t in = flipped ? second : first, out = flipped ? first : second;
  const Tensor ours = flipped ? exchanged(taps_first, taps, first, second, {taps, second, first}) : taps_first;
  return ours.view(x.rank() == 3 ? Shape{x.dim(2), in, out} : Shape{x.dim(2), x.dim(3), in, out});
}

/// Indices of samples (B·K, N), row b·K + k, as (K, B, N).
Tensor samples_first(const Tensor& rows, std::int64_t batch) {
  const std::int64_t count = rows.dim(0) / batch, n = rows.dim(1);
  Tensor out = Tensor::empty({count, batch, n}, DType::int64);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t k = 0; k < count; ++k)
      std::copy_n(rows.data<std::int64_t>() + (b * count + k) * n, n, out.data<std::int64_t>() + (k * batch + b) * n);
  return out;
}

/// Numbers that were drawn once for all tasks (K, N), for each task (K, B, N).
Tensor for_each_task(const Tensor& drawn, std::int64_t batch) {
  const std::size_t row = drawn.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(drawn.dim(0), 1));
  Tensor out = Tensor::empty({drawn.dim(0), batch, drawn.dim(1)}, drawn.dtype());
  for (std::size_t i = 0; i < static_cast<std::size_t>(drawn.dim(0) * batch); ++i)
    std::ranges::copy(drawn.raw().subspan(i / static_cast<std::size_t>(batch) * row, row),
                      out.raw().subspan(i * row).begin());
  return out;
}

}  // namespace

Record::Record(const std::filesystem::path& path) : path_(path.string()), file_(load_safetensors(path)) {
  const std::string model = recorded_fact(file_, "model", path_);
  const std::string where = "[parity] " + path_;
  for (const ModelInfo& info : models())
    if (const auto code = std::ranges::find(info.authors, model, &AuthorsCode::recorded_as);
        code != info.authors.end()) {
      authors_ = &*code;
      spec_.name = info.name;
    }
  check(authors_ != nullptr, "[parity] {}: recorded from model '{}', which this build does not have", path_, model);
  spec_.config = config_from_json(recorded_fact(file_, "config", path_), authors_->list, where);
  run_ = run_from_json(recorded_fact(file_, "run", path_), where);
  const auto from_run = [&](const char* name, const char* key) {
    if (const auto value = run_.find(name); value != run_.end()) spec_.config.emplace(key, value->second);
  };
  if (has("valid.context")) {  // whose authors' code finds dimensions out by itself
    from_run("dx", "dim_x");
    from_run("dy", "dim_y");
  }
  from_run("train_samples", "train_samples");
  if (authors_->of_run != nullptr) from_run(authors_->of_run, authors_->of_run);
  if (authors_->config != nullptr) spec_.config = authors_->config(std::move(spec_.config));
  if (authors_->of_task != nullptr)
    spec_.config = authors_->of_task(std::move(spec_.config),
                                     {in_double("xc"), in_double("yc"), in_double("xt"), in_double("yt")});
  if (file_.metadata.contains("no_gradient")) no_gradient_ = names_from_json(file_.metadata.at("no_gradient"), where);
}

const Tensor& Record::at(const std::string& name) const {
  const auto found = file_.tensors.find(name);
  check(found != file_.tensors.end(), "[parity] {}: there is no tensor '{}'", path_, name);
  return found->second;
}

Tensor Record::in_double(const std::string& name) const {
  const Tensor& points = at(name);
  check(points.rank() == 3, "[parity] {}: '{}' has shape {}, expected (B, N, D)", path_, name, points.shape());
  return points.to(DType::float64);
}

DType Record::dtype() const { return authors_->task != nullptr ? DType::float64 : at("xc").dtype(); }

Task Record::task(DType dtype) const {
  if (authors_->task != nullptr) return authors_->task(file_.tensors, "[parity] " + path_).to(default_device());
  Task task{at("xc").to(dtype), at("yc").to(dtype), at("xt").to(dtype), at("yt").to(dtype)};
  if (has("valid.context")) {
    const Tensor targets = at("valid.target").to(DType::int64);
    task.lengths = at("valid.context").to(DType::int64);
    task.target_lengths = targets;
    task.context_weights = real_points(task.lengths, task.xc.dim(1), dtype);
    task.target_weights = real_points(targets, task.xt.dim(1), dtype);
    double all = 0;
    for (const std::int64_t count : targets.values<std::int64_t>()) all += static_cast<double>(count);
    task.target_totals = Tensor::full(targets.shape(), all / static_cast<double>(targets.dim(0)), dtype);
  }
  return task.to(default_device());
}

Draws Record::draws(const std::string& start) const {
  std::vector<Tensor> in_order;
  while (has(start + std::to_string(in_order.size()))) {
    const Tensor& drawn = at(start + std::to_string(in_order.size()));
    const bool rows_of_samples = has("valid.context") && drawn.dtype() == DType::int64 && drawn.rank() == 2;
    const bool order_of_targets = start == "eval.random." && in_order.empty() && has("eval.permutation");
    const bool shared = authors_->draws_for_all_tasks && drawn.rank() == 2;
    in_order.push_back(shared             ? for_each_task(drawn, task(DType::float64).xc.dim(0))
                       : rows_of_samples  ? samples_first(drawn, at("xc").dim(0))
                       : order_of_targets ? for_each_task(drawn, at("xc").dim(0))
                                          : drawn);
  }
  return Draws::recorded(std::move(in_order));
}

std::optional<std::int64_t> Record::run_count(const std::string& name) const {
  const auto found = run_.find(name);
  if (found == run_.end()) return {};
  const auto* count = std::get_if<std::int64_t>(&found->second);
  check(count != nullptr && *count >= 1, "[parity] {}: '{}' in the run must be a number from 1 on", path_, name);
  return *count;
}

std::int64_t Record::evaluation_samples() const {
  // Those of dl4bi draw as many as in training.
  const auto trained = spec_.config.find("train_samples");
  if (const auto count = run_count("eval_samples")) return *count;
  return trained == spec_.config.end() ? 1 : std::get<std::int64_t>(trained->second);
}

bool Record::has_final(const std::string& kind) const {
  const auto kept = run_.find("keep_final");
  return kind == "yogi" ? has("yogi.losses") : kept == run_.end() || kept->second != ModelConfig::mapped_type(false);
}

std::int64_t Record::first_points() const {
  if (!run_.contains("first")) return 0;
  check(authors_->state != nullptr, "[parity] {}: states recorded of model '{}', expected none", path_, spec_.name);
  const auto* count = std::get_if<std::int64_t>(&run_.at("first"));
  check(count != nullptr && 0 < *count && *count <= at("xc").dim(1),
        "[parity] {}: 'first' in the run must be a number of context points, 1 to {}", path_, at("xc").dim(1));
  return *count;
}

Tensor Record::of_parameter(const std::string& kind, const NamedParameter& ours) const {
  const AuthorsPlace place = authors_->place(ours.name);
  const Shape& shape = ours.parameter->value.shape();
  if (kind == "grad" && no_gradient_.contains(place.name)) return Tensor::zeros(shape, DType::float64);
  const Tensor theirs = in_our_order(place, at(kind + "." + place.name));
  check(theirs.rank() == shape.rank() && theirs.dim(0) == place.parts * shape[0] &&
            theirs.shape().with(0, 1) == shape.with(0, 1),
        "[parity] {}: '{}.{}' has shape {}, expected {} of {}", path_, kind, place.name, theirs.shape(), place.parts,
        shape);
  return slice(theirs, 0, place.part * shape[0], (place.part + 1) * shape[0]);
}

std::vector<std::string> Record::other_parameters(std::span<const NamedParameter> ours) const {
  const std::string kind = "param.";
  std::vector<std::string> others;
  for (const auto& entry : file_.tensors) {
    const std::string& name = entry.first;
    const auto is_it = [&](const NamedParameter& p) { return kind + authors_->place(p.name).name == name; };
    if (name.starts_with(kind) && std::ranges::none_of(ours, is_it)) others.push_back(name.substr(kind.size()));
  }
  return others;
}

}  // namespace npzoo
