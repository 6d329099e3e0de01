#include "npzoo/models/parity/record.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "npzoo/engine/io/json.h"
#include "npzoo/models/config_json.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

namespace {

constexpr std::int64_t kAny = RecordedTensors::kAny, kAnyOrNone = RecordedTensors::kAnyOrNone;

const std::string& recorded_fact(const std::map<std::string, std::string>& metadata, const char* key,
                                 const std::string& path) {
  const auto found = metadata.find(key);
  check(found != metadata.end(), "[parity] {}: there is no '{}' in the metadata; expected a recorded run", path, key);
  return found->second;
}

/// Numbers and truth values of a run; its lists are in tensors as well.
ModelConfig run_from_json(const std::string& text, const std::string& where) {
  nlohmann::json object = parse_json(text, where + ": the run");
  check(object.is_object(), "{}: the run is not a JSON object", where);
  for (auto entry = object.begin(); entry != object.end();)
    entry = entry->is_array() ? object.erase(entry) : std::next(entry);
  return model_config_from_json(object.dump(), where);
}

std::set<std::string> names_from_json(const std::string& text, const std::string& where) {
  const nlohmann::json list = parse_json(text, where + ": no_gradient");
  const auto is_name = [](const nlohmann::json& entry) { return entry.is_string(); };
  check(list.is_array() && std::ranges::all_of(list, is_name), "{}: no_gradient is not a list of names", where);
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

/// x, read as (A, B, C), with its last two axes exchanged: (A, C, B). In double.
Tensor exchanged(const Tensor& x, std::int64_t a, std::int64_t b, std::int64_t c, const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::float64, Device::cpu);
  for (std::int64_t i = 0; i < a; ++i)
    for (std::int64_t j = 0; j < b; ++j)
      for (std::int64_t k = 0; k < c; ++k)
        out.data<double>()[(i * c + k) * b + j] = x.data<double>()[(i * b + j) * c + k];
  return out;
}

bool is_transposed(const AuthorsPlace& place, const Shape& ours) {
  return place.name.ends_with(".kernel") && ours.rank() == 2;
}

bool is_convolution(const AuthorsPlace& place, const Shape& ours) {
  return (place.layout == AuthorsLayout::convolution || place.layout == AuthorsLayout::transposed_convolution) &&
         ours.rank() >= 3;
}

/// Shape of their tensor, by that of all our parameters in it.
Shape their_shape(const AuthorsPlace& place, const Shape& ours) {
  if (is_transposed(place, ours)) return {ours[1], ours[0]};
  if (place.layout == AuthorsLayout::pointwise && ours.rank() == 2) return {ours[0], ours[1], 1};
  if (place.layout == AuthorsLayout::complex_modes) return {ours[1], ours[2], ours[0] / 2, 2};
  if (!is_convolution(place, ours)) return ours;
  const bool in_first = place.layout == AuthorsLayout::transposed_convolution;
  std::vector<std::int64_t> extents{in_first ? ours[-2] : ours[-1], in_first ? ours[-1] : ours[-2]};
  extents.insert(extents.end(), ours.begin(), ours.begin() + ours.rank() - 2);
  return Shape(extents);
}

/// A tensor of theirs, in double, with its axes in our order.
Tensor in_our_order(const AuthorsPlace& place, const Tensor& x, const Shape& ours) {
  if (is_transposed(place, ours)) return exchanged(x, 1, x.dim(0), x.dim(1), ours);
  if (place.layout == AuthorsLayout::complex_modes) {
    const std::int64_t channels = ours[1] * ours[2], modes = ours[0] / 2;
    const Tensor parts_first = exchanged(x, channels, modes, 2, {channels, 2, modes});
    return exchanged(parts_first, 1, channels, 2 * modes, ours);
  }
  if (!is_convolution(place, ours)) return x.view(ours);
  const std::int64_t first = x.dim(0), second = x.dim(1), taps = x.numel() / std::max<std::int64_t>(1, first * second);
  // (first, second, taps) → (taps, first, second), or that with the channels exchanged.
  const Tensor taps_first = exchanged(x, 1, first * second, taps, {taps, first, second});
  const bool flipped = place.layout == AuthorsLayout::convolution;
  return flipped ? exchanged(taps_first, taps, first, second, ours) : taps_first.view(ours);
}

}  // namespace

Record::Record(const std::filesystem::path& path) : Record(load_safetensors(path), path.string()) {}

Record::Record(TensorFile file, std::string name)
    : path_(std::move(name)),
      metadata_(std::move(file.metadata)),
      elements_(file.elements()),
      tensors_(path_, std::move(file.tensors)) {
  const std::string& model = recorded_fact(metadata_, "model", path_);
  for (const ModelInfo& info : models())
    if (const auto code = std::ranges::find(info.authors, model, &AuthorsCode::recorded_as);
        code != info.authors.end()) {
      authors_ = &*code;
      spec_.name = info.name;
    }
  check(authors_ != nullptr, "[parity] {}: recorded from model '{}', which this build does not have", path_, model);
  read_config();
  task_ = recorded_task();
  if (authors_->of_task != nullptr)
    spec_.config =
        authors_->of_task(std::move(spec_.config), {task_.xc.to(DType::float64), task_.yc.to(DType::float64),
                                                    task_.xt.to(DType::float64), task_.yt.to(DType::float64)});
  if (metadata_.contains("no_gradient")) no_gradient_ = names_from_json(metadata_.at("no_gradient"), tensors_.where());
}

void Record::read_config() {
  const std::string& where = tensors_.where();
  spec_.config = config_from_json(recorded_fact(metadata_, "config", path_), authors_->list, where);
  run_ = run_from_json(recorded_fact(metadata_, "run", path_), where);
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
}

Task Record::recorded_task() const {
  if (authors_->task != nullptr) return authors_->task(tensors_, spec_.config);
  const Tensor& xc = tensors_.numbers("xc", {kAny, kAnyOrNone, kAny});
  const std::int64_t batch = xc.dim(0), points = xc.dim(1);
  const Tensor& yc = tensors_.numbers("yc", {batch, points, kAny});
  const Tensor& xt = tensors_.numbers("xt", {batch, kAny, xc.dim(2)});
  const Tensor& yt = tensors_.numbers("yt", {batch, xt.dim(1), yc.dim(2)});
  for (const auto& [name, x] : {std::pair("yc", &yc), std::pair("xt", &xt), std::pair("yt", &yt)})
    check(x->dtype() == xc.dtype(), "{}: '{}' is {}, expected {} as 'xc'", tensors_.where(), name,
          to_string(x->dtype()), to_string(xc.dtype()));
  Task task{xc, yc, xt, yt};
  if (!has("valid.context")) return task;
  task.lengths = tensors_.integers("valid.context", {batch}, 0, points);
  task.target_lengths = tensors_.integers("valid.target", {batch}, 0, xt.dim(1));
  task.context_weights = real_points(task.lengths, points, xc.dtype());
  task.target_weights = real_points(task.target_lengths, xt.dim(1), xc.dtype());
  double all = 0;
  for (const std::int64_t count : task.target_lengths.values<std::int64_t>()) all += static_cast<double>(count);
  check(all > 0, "{}: 'valid.target' holds zeros alone, expected targets", tensors_.where());
  task.target_totals = Tensor::full({batch}, all / static_cast<double>(batch), xc.dtype());
  return task;
}

Task Record::task(DType dtype) const {
  const auto converted = [dtype](const Tensor& x) { return x.defined() ? x.to(dtype) : x; };
  Task task{converted(task_.xc), converted(task_.yc), converted(task_.xt), converted(task_.yt)};
  task.lengths = task_.lengths;
  task.target_lengths = task_.target_lengths;
  task.target_weights = converted(task_.target_weights);
  task.context_weights = converted(task_.context_weights);
  task.target_totals = converted(task_.target_totals);
  return task.to(default_device());
}

const Tensor& Record::drawn_tensor(const std::string& name) const {
  const Tensor& x = tensors_.all().at(name);
  if (x.dtype() == DType::int64) {
    for (const std::int64_t value : x.values<std::int64_t>())
      check(value >= 0, "{}: '{}' holds {}, expected 0 or more", tensors_.where(), name, value);
    return x;
  }
  tensors_.check_finite(name);
  return x;
}

/// Numbers that were drawn once for all tasks (K, N), for each task (K, B, N).
Tensor Record::for_each_task(const std::string& name) const {
  const Tensor& drawn = drawn_tensor(name);
  check(drawn.rank() == 2, "{}: '{}' has shape {}, expected two axes", tensors_.where(), name, drawn.shape());
  const std::int64_t batch = task_.xc.dim(0);
  const std::size_t row = drawn.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(drawn.dim(0), 1));
  Tensor out = Tensor::empty({drawn.dim(0), batch, drawn.dim(1)}, drawn.dtype(), Device::cpu);
  for (std::size_t i = 0; i < static_cast<std::size_t>(drawn.dim(0) * batch); ++i)
    std::ranges::copy(drawn.raw().subspan(i / static_cast<std::size_t>(batch) * row, row),
                      out.raw().subspan(i * row).begin());
  return out;
}

/// Indices of samples (B·K, N), row b·K + k, as (K, B, N).
Tensor Record::samples_first(const std::string& name) const {
  const Tensor& rows = drawn_tensor(name);
  const std::int64_t batch = task_.xc.dim(0), count = rows.dim(0) / batch, n = rows.dim(1);
  check(rows.dim(0) == count * batch, "{}: '{}' has {} rows, expected a multiple of {}", tensors_.where(), name,
        rows.dim(0), batch);
  Tensor out = Tensor::empty({count, batch, n}, DType::int64, Device::cpu);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t k = 0; k < count; ++k)
      std::copy_n(rows.data<std::int64_t>() + (b * count + k) * n, n, out.data<std::int64_t>() + (k * batch + b) * n);
  return out;
}

/// Numbers of the rows of all samples (K · B, N, D), or of all targets (B · N, D): (K, B, N, D).
Tensor Record::by_rows(const std::string& name) const {
  const Tensor& drawn = drawn_tensor(name);
  const std::int64_t batch = task_.xc.dim(0), rows = drawn.rank() > 0 ? drawn.dim(0) : 0;
  check((drawn.rank() == 2 || drawn.rank() == 3) && rows % batch == 0,
        "{}: '{}' has shape {}, expected rows of {} tasks", tensors_.where(), name, drawn.shape(), batch);
  if (drawn.rank() == 2) return drawn.view({1, batch, rows / batch, drawn.dim(1)});
  return drawn.view({rows / batch, batch, drawn.dim(1), drawn.dim(2)});
}

Draws Record::draws(const std::string& start) const {
  std::vector<Tensor> in_order;
  for (std::string name = start + "0"; has(name); name = start + std::to_string(in_order.size())) {
    const Tensor& drawn = drawn_tensor(name);
    const bool rows_of_samples = has("valid.context") && drawn.dtype() == DType::int64 && drawn.rank() == 2;
    const bool order_of_targets = start == "eval.random." && in_order.empty() && has("eval.permutation");
    const bool shared = authors_->draws_for_all_tasks && drawn.rank() == 2;
    in_order.push_back(authors_->draws_by_rows      ? by_rows(name)
                       : shared || order_of_targets ? for_each_task(name)
                       : rows_of_samples            ? samples_first(name)
                                                    : drawn);
  }
  return Draws::recorded(std::move(in_order));
}

void Record::drawn(const std::string& start, std::int64_t calls) const {
  for (std::int64_t i = 0; i < calls && has(start + std::to_string(i)); ++i) tensors_.use(start + std::to_string(i));
}

std::optional<std::int64_t> Record::run_count(const std::string& name) const {
  const auto found = run_.find(name);
  if (found == run_.end()) return {};
  const auto* count = std::get_if<std::int64_t>(&found->second);
  check(count != nullptr && 1 <= *count && *count <= elements_,
        "[parity] {}: '{}' in the run must be a number from 1 to {}, the numbers in the file", path_, name, elements_);
  return *count;
}

std::int64_t Record::evaluation_samples() const {
  if (const auto count = run_count("eval_samples")) return *count;
  // Those of dl4bi draw as many as in training.
  const auto trained = spec_.config.find("train_samples");
  if (trained == spec_.config.end()) return 1;
  const auto* count = std::get_if<std::int64_t>(&trained->second);
  check(count != nullptr && 1 <= *count && *count <= elements_,
        "[parity] {}: the number of samples in training must be 1 to {}, the numbers in the file", path_, elements_);
  return *count;
}

bool Record::has_final(const std::string& kind) const {
  const auto kept = run_.find("keep_final");
  return kind == "yogi" || kept == run_.end() || kept->second != ModelConfig::mapped_type(false);
}

std::int64_t Record::first_points() const {
  if (!run_.contains("first")) return 0;
  check(authors_->state != nullptr, "[parity] {}: states recorded of model '{}', expected none", path_, spec_.name);
  const auto* count = std::get_if<std::int64_t>(&run_.at("first"));
  check(count != nullptr && 0 < *count && *count <= task_.xc.dim(1),
        "[parity] {}: 'first' in the run must be a number of context points, 1 to {}", path_, task_.xc.dim(1));
  return *count;
}

std::vector<double> Record::shift(std::int64_t dims) const {
  const nlohmann::json run = parse_json(metadata_.at("run"), tensors_.where() + ": the run");
  const auto found = run.find("shift");
  const auto is_number = [](const nlohmann::json& x) { return x.is_number() && std::isfinite(x.get<double>()); };
  check(found != run.end() && found->is_array() && static_cast<std::int64_t>(found->size()) == dims &&
            std::ranges::all_of(*found, is_number),
        "[parity] {}: 'shift' in the run must be {} numbers", path_, dims);
  return found->get<std::vector<double>>();
}

Tensor Record::of_parameter(const std::string& kind, const NamedParameter& ours) const {
  const AuthorsPlace place = authors_->place(ours.name);
  const Shape& shape = ours.parameter->value.shape();
  if (kind == "grad" && no_gradient_.contains(place.name)) return Tensor::zeros(shape, DType::float64, Device::cpu);
  const Shape all = shape.with(0, place.parts * shape[0]), expected = their_shape(place, all);
  const std::string name = kind + "." + place.name;
  const Tensor& theirs = tensors_.at(name);
  const bool scalar = theirs.rank() == 0 && expected == Shape{1};
  check(theirs.dtype() == dtype() && (scalar || theirs.shape() == expected), "{}: '{}' is {} {}, expected {} {}",
        tensors_.where(), name, to_string(theirs.dtype()), theirs.shape(), to_string(dtype()), expected);
  if (kind == "param" || kind == "buffer") tensors_.check_finite(name);
  const Tensor in_order = in_our_order(place, theirs.to(DType::float64), all);
  return slice(in_order, 0, place.part * shape[0], (place.part + 1) * shape[0]);
}

std::vector<std::string> Record::other_parameters(std::span<const NamedParameter> ours) const {
  const std::string kind = "param.";
  std::vector<std::string> others;
  for (const auto& entry : tensors_.all()) {
    const std::string& name = entry.first;
    const auto is_it = [&](const NamedParameter& p) { return kind + authors_->place(p.name).name == name; };
    if (name.starts_with(kind) && std::ranges::none_of(ours, is_it)) others.push_back(name.substr(kind.size()));
  }
  return others;
}

}  // namespace npzoo
