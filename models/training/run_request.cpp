#include "npzoo/models/training/run_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "npzoo/datasets/own_protocol.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/pretrained.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/training/trainer.h"

namespace npzoo {

namespace {

/// Default models for a user's own data of a form that no weights are for.
constexpr const char *kOwnDataModel = "tnp-d", *kOwnEventsModel = "thp-plus";

/// Weights that any table may begin with; none if there are none for so many inputs.
std::string weights_for_tables(std::int64_t inputs) {
  const std::string protocol = fmt::format(":npzoo/any-{}d", inputs);
  for (const NamedWeights& weights : named_weights())
    if (weights.name.ends_with(protocol)) return weights.name;
  return {};
}

void change_length(const RunRequest& request, TrainingRun& run) {
  TrainingConfig& training = run.protocol.training;
  ValidationConfig& validation = run.protocol.validation;
  if (request.steps) set_steps(run.protocol, *request.steps);
  validation.batches = request.validation_batches.value_or(validation.batches);
  training.batch_size = request.batch_size.value_or(training.batch_size);
  training.optimiser.lr = request.lr.value_or(training.optimiser.lr);
  run.seed = request.seed.value_or(run.seed);
}

bool is_compiled_in(const Protocol& protocol) {
  return std::ranges::count(protocol_names(), protocol.name) == 1 && load_protocol(protocol.name).text == protocol.text;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

DescribedRun described(const RunRequest& request) {
  DescribedRun result;
  TrainingRun& run = result.run;
  if (request.own) {
    OwnProtocol own = own_protocol(*request.own, request.protocol, request.changes);
    run.protocol = std::move(own.protocol);
    result.skipped = std::move(own.skipped);
  } else {
    run.protocol = with_changes(load_protocol(request.protocol), request.changes);
  }
  std::string model = request.model, init = request.init;
  const bool on_table = request.own && !std::holds_alternative<OwnPictures>(request.own->data);
  if (on_table && model.empty() && init.empty() && run.protocol.data->dim_y() == 1)
    init = weights_for_tables(run.protocol.data->dim_x());
  if (model.empty() && init.empty()) model = run.protocol.data->as_events() ? kOwnEventsModel : kOwnDataModel;
  if (!model.empty()) run.spec = model_spec(run.protocol, model);
  if (!init.empty()) begin_with(run, init);
  change_length(request, run);
  return result;
}

}  // namespace

DescribedRun describe_run(const RunRequest& request) {
  return with_errors([&] { return described(request); });
}

TrainingRun begun_run(const std::filesystem::path& checkpoint, const RunRequest& request) {
  const TrainingRun begun = load_checkpoint(checkpoint).run;
  TrainingRun asked = begun;
  change_length(request, asked);
  check_same_run(asked, begun, checkpoint.string());
  return begun;
}

void write_run_config(const TrainingRun& run, const std::filesystem::path& directory, std::int64_t steps_done) {
  const bool own_protocol = !is_compiled_in(run.protocol);
  const std::filesystem::path folder = absolute_path(directory), copy = folder / "protocol.toml",
                              initial = folder / "initial.safetensors";
  const TrainingConfig& training = run.protocol.training;
  std::string what = fmt::format("protocol = {}\n", toml_string(own_protocol ? copy.string() : run.protocol.name));
  if (!run.init || is_preset(run)) what += fmt::format("model = \"{}\"\n", run.spec.name);
  if (run.init) what += fmt::format("init = {}\n", toml_string(initial.string()));
  // By this file the directory is known for a run's, so it is the first.
  write_text(directory / "config.toml",
             fmt::format("{}[train]\n{}steps = {}\nbatch = {}\nlr = {}\nseed = {}\nvalidation-batches = {}\n",
                         kRunConfigHeader, what, training.steps, training.batch_size, training.optimiser.lr, run.seed,
                         run.protocol.validation.batches));
  if (own_protocol) write_text(copy, run.protocol.text);
  if (run.init && steps_done == 0)
    write_text(initial, read_text(find_weights(run.init->source), std::numeric_limits<std::size_t>::max()));
}

}  // namespace npzoo
