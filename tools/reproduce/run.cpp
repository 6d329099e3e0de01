#include "tools/reproduce/run.h"

#include <fmt/format.h>

#include <fstream>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/json.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/training/trainer.h"
#include "tools/cli/commit.h"
#include "tools/cli/json_tree.h"
#include "tools/cli/messages.h"
#include "tools/cli/own_program.h"

namespace npzoo::tools {

namespace {

using nlohmann::json;

constexpr char kCheckpoint[] = "checkpoint.safetensors";
constexpr char kLog[] = "train.log";
constexpr char kEvaluation[] = "evaluation.json";
constexpr char kEvaluationOutput[] = ".evaluation.json.tmp";

/// The last lines of a file, the last one first; the first of them may be cut.
std::vector<std::string> last_lines(const std::filesystem::path& path) {
  constexpr std::streamoff kBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  file.seekg(std::max<std::streamoff>(0, size - kBytes));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) lines.insert(lines.begin(), line);
  return lines;
}

std::string reason_of(const ProcessEnd& end, const std::filesystem::path& log) {
  if (!end.problem.empty()) return end.problem;
  constexpr std::string_view kError = "npzoo: error: ";
  const std::vector<std::string> lines = last_lines(log);
  if (!lines.empty() && lines[0].starts_with(kError)) return lines[0].substr(kError.size());
  return fmt::format("[reproduce] its program ended with status {}; {} may tell more", end.status, log.string());
}

/// The children run this very program, even where its file has been replaced meanwhile.
ProcessCommand command(std::vector<std::string> arguments, const TableRunOptions& options,
                       const std::filesystem::path& log) {
  const CommonOptions& common = options.common;
  const OwnProgram& program = own_program();
  arguments.insert(arguments.begin(), program.words.begin(), program.words.end());
  for (const std::string& argument :
       {std::string("--protocol"), options.protocol, std::string("--device"), common.device, std::string("--precision"),
        common.precision, std::string("--threads"), std::to_string(common.threads)})
    arguments.push_back(argument);
  if (const std::string data = data_folder().string(); !data.empty())
    arguments.insert(arguments.end(), {"--data", data});
  return {.program = program.file, .arguments = std::move(arguments), .log = log};
}

}  // namespace

TableRun::TableRun(TrainingRun run, std::filesystem::path directory, const TableRunOptions& options)
    : run_(std::move(run)),
      directory_(std::move(directory)),
      options_(options),
      name_(fmt::format("{}, seed {}", run_.spec.name, run_.seed)) {}

void TableRun::look() {
  try {
    read();
  } catch (const Error& error) {
    error_ = one_line(error.what());
  }
}

void TableRun::read() {
  read_checkpoint();
  if (trained()) read_evaluation();
}

void TableRun::read_checkpoint() {
  if (!std::filesystem::exists(file(kCheckpoint))) return;
  const Checkpoint found = load_checkpoint(file(kCheckpoint));
  check_same_run(run_, found.run, file(kCheckpoint).string());
  step_ = found.step;
  seconds_ = found.seconds;
  commit_ = found.commit;
}

ProcessCommand TableRun::train_command() const {
  std::vector<std::string> arguments{"train",   "--resume",     "--out",  directory_.string(),
                                     "--model", run_.spec.name, "--seed", fmt::format("{}", run_.seed)};
  if (options_.steps) arguments.insert(arguments.end(), {"--steps", std::to_string(*options_.steps)});
  ProcessCommand train = command(std::move(arguments), options_, file(kLog));
  train.held = lock_->get();
  return train;
}

ProcessCommand TableRun::evaluate_command() const {
  ProcessCommand evaluate = command(
      {"eval", "--checkpoint", file(kCheckpoint).string(), "--batches", std::to_string(options_.batches), "--json"},
      options_, file(kLog));
  evaluate.output = file(kEvaluationOutput);
  evaluate.held = lock_->get();
  return evaluate;
}

/// Returns the settings of an evaluation: it is repeated if they change.
JsonValue TableRun::subject() const {
  return JsonValue::object(
      {{"step", step_}, {"seconds", seconds_}, {"batches", options_.batches}, {"protocol_text", run_.protocol.text}});
}

/// Makes evaluation.json of what `npzoo eval` printed.
void TableRun::keep_evaluation() {
  const JsonValue evaluation =
      JsonValue::object({{"commit", kCommit},
                         {"machine", options_.machine},
                         {"command", fmt::format("{}", fmt::join(evaluate_command().arguments, " "))},
                         {"subject", subject()},
                         {"results", json_value(parse_json(read_text(file(kEvaluationOutput)),
                                                           "[reproduce] " + file(kEvaluationOutput).string()))}});
  AtomicFile kept(file(kEvaluation));
  kept.write(evaluation.dump(1) + "\n");
  std::filesystem::remove(file(kEvaluationOutput));  // first: it is not read if there is an evaluation
  kept.commit();
  evaluation_ = evaluation;
}

void TableRun::read_evaluation() {
  if (!std::filesystem::exists(file(kEvaluation))) return;
  json found = parse_json_or_discard(read_text(file(kEvaluation)));
  const bool usable = found.is_object() && found.value("subject", json()) == subject().tree().value &&
                      found.value("results", json()).is_array() && found.value("commit", json()).is_string() &&
                      found.value("machine", json()).is_string();
  if (usable) evaluation_ = json_value(std::move(found));
}

std::optional<ProcessCommand> TableRun::next(const std::optional<ProcessEnd>& before) {
  std::optional<ProcessCommand> command;
  try {
    command = advance(before);
  } catch (const std::exception& error) {
    error_ = one_line(error.what());
  }
  if (command || (stage_ == Stage::elsewhere && !failed())) return command;
  stage_ = Stage::over;
  options_.say(failed() ? fmt::format("{}: failed: {}", name_, error_) : fmt::format("{}: done", name_));
  try {
    if (!failed()) options_.keep(*this);
  } catch (const std::exception& error) {  // the end of the command tries once more
    options_.say(fmt::format("{}: not kept yet: {}", name_, one_line(error.what())));
  }
  release();
  return {};
}

/// False if another process is at work in the directory. A training begun by hand has not locked the log.
bool TableRun::occupy() {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  check(!error, "[reproduce] {} cannot be created: {}", directory_.string(), error.message());
  lock_ = lock_file(file(kLog));
  if (lock_ && !lock_directory(directory_)) lock_.reset();
  return lock_.has_value();
}

bool TableRun::elsewhere() const {
  if (lock_ || !std::filesystem::is_directory(directory_)) return false;
  if (!lock_directory(directory_)) return true;
  return std::filesystem::exists(file(kLog)) && !lock_file(file(kLog));
}

/// The children read it again, and days may have passed.
void TableRun::check_protocol() const {
  check(load_protocol(options_.protocol).text == run_.protocol.text,
        "[reproduce] {} has changed since this run began; repeat the command to use the new one", options_.protocol);
}

std::optional<ProcessCommand> TableRun::advance(const std::optional<ProcessEnd>& before) {
  if (before && before->status != 0) fail("{}", reason_of(*before, file(kLog)));
  check_protocol();
  if (stage_ == Stage::waiting || stage_ == Stage::elsewhere) return begin();
  if (stage_ == Stage::training) read_checkpoint();
  if (stage_ == Stage::evaluation) {
    keep_evaluation();
    return {};
  }
  return evaluate();
}

std::optional<ProcessCommand> TableRun::begin() {
  const Stage before = std::exchange(stage_, Stage::elsewhere);
  if (!occupy()) {
    if (before == Stage::waiting) options_.say(fmt::format("{}: another process runs it", name_));
    return {};
  }
  stage_ = Stage::waiting;
  read();  // what others have done meanwhile
  if (done()) return {};
  if (trained()) return evaluate();
  stage_ = Stage::training;
  options_.say(fmt::format("{}: trains from step {} to {}", name_, step_, run_.protocol.training.steps));
  return train_command();
}

ProcessCommand TableRun::evaluate() {
  stage_ = Stage::evaluation;
  options_.say(fmt::format("{}: evaluates", name_));
  return evaluate_command();
}

void TableRun::release() {
  if (!lock_) return;  // what is there is another's
  std::error_code ignored;
  std::filesystem::remove(file(kEvaluationOutput), ignored);
  lock_.reset();
}

std::int64_t TableRun::steps_done() const {
  if (stage_ != Stage::training && stage_ != Stage::elsewhere) return step_;
  for (const std::string& line : last_lines(RunDirectory::metrics_in(directory_))) {
    const json entry = parse_json_or_discard(line);
    if (entry.is_object() && entry.contains("step") && entry["step"].is_number_integer()) return entry["step"];
  }
  return step_;
}

std::string TableRun::status() const {
  const std::string name = fmt::format("{} {}", run_.spec.name, run_.seed);
  if (stage_ == Stage::training || stage_ == Stage::elsewhere)
    return fmt::format("{}: {}%", name, 100 * steps_done() / run_.protocol.training.steps);
  return stage_ == Stage::evaluation ? fmt::format("{}: evaluation", name) : "";
}

JsonValue TableRun::result() const {
  const TrainingConfig& training = run_.protocol.training;
  const json& evaluation = evaluation_->tree().value;
  json results = evaluation.at("results");
  for (json& result : results) result["version"] = protocol_version(run_.protocol, result.at("test"), run_.spec.name);
  return JsonValue::object({{"model", run_.spec.name},
                            {"seed", run_.seed},
                            {"steps", training.steps},
                            {"batch_size", training.batch_size},
                            {"lr", training.optimiser.lr},
                            {"parameters", count_elements(named_parameters(*make_model(run_.spec, {.drawn = false})))},
                            {"seconds", seconds_},
                            {"training_commit", commit_},
                            {"commit", json_value(evaluation.at("commit"))},
                            {"machine", json_value(evaluation.at("machine"))},
                            {"results", json_value(std::move(results))}});
}

}  // namespace npzoo::tools
