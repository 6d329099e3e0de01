#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "npzoo/engine/io/file.h"
#include "npzoo/models/training/checkpoint.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/reproduce/process_queue.h"

namespace npzoo::tools {

/// Options of all runs of one table.
struct TableRunOptions {
  std::string protocol;                         // as --protocol takes it
  std::optional<std::int64_t> steps;            // given instead of the protocol's
  std::int64_t batches = 0;                     // of the evaluation
  CommonOptions common;                         // of the children
  std::string machine{};                        // in words
  std::function<void(std::string_view)> say{};  // one line of what happens
  /// Called with a run that has ended well, while no other process can begin it.
  std::function<void(const class TableRun&)> keep{};
};

/// One model with one seed: trained in a directory and evaluated there, by children of this program. The directory is
/// what `npzoo train --out` makes, with train.log and evaluation.json besides. What it holds already is gone on with.
/// While a run is under way train.log is locked, by its children as well, so that no two processes do the same work.
class TableRun {
 public:
  /// The options must outlive the run.
  TableRun(TrainingRun run, std::filesystem::path directory, const TableRunOptions& options);

  /// "tnp-d, seed 0"
  const std::string& name() const { return name_; }
  const TrainingRun& run() const { return run_; }

  /// Reads what the directory holds. A checkpoint of another run, or a damaged one, fails this run.
  void look();
  bool done() const { return failed() || evaluation_.has_value(); }
  bool failed() const { return !error_.empty(); }
  /// Why it failed, in one line.
  const std::string& error() const { return error_; }
  /// Takes over an error that another rank met.
  void fail_as(const std::string& error) { error_ = error; }

  /// Returns true if another process works in the directory.
  bool elsewhere() const;

  /// The commands that are still needed, one after the other (see ProcessQueue::Chain). None if another process has
  /// the directory: ask again later, what it has done by then need not be done.
  std::optional<ProcessCommand> next(const std::optional<ProcessEnd>& before);

  /// Removes what an evaluation that was stopped has left, and lets others have the directory. Not while a command
  /// runs.
  void release();

  /// Updates made so far, as the log of metrics tells.
  std::int64_t steps_done() const;
  /// Returns its present state, such as "tnp-d 0: 24%"; empty for nothing.
  std::string status() const;

  /// Returns the entry of a store (see results_store.h). Only if it is done and has not failed.
  JsonValue result() const;

 private:
  enum class Stage : std::uint8_t { waiting, elsewhere, training, evaluation, over };

  bool trained() const { return step_ == run_.protocol.training.steps; }
  bool occupy();
  void check_protocol() const;
  void read();
  void read_checkpoint();
  ProcessCommand train_command() const;
  ProcessCommand evaluate_command() const;
  JsonValue subject() const;
  void keep_evaluation();
  void read_evaluation();
  std::optional<ProcessCommand> advance(const std::optional<ProcessEnd>& before);
  std::optional<ProcessCommand> begin();
  ProcessCommand evaluate();
  std::filesystem::path file(const char* name) const { return directory_ / name; }

  TrainingRun run_;
  std::filesystem::path directory_;
  const TableRunOptions& options_;
  std::string name_;
  Stage stage_ = Stage::waiting;
  std::int64_t step_ = 0;                // of the checkpoint
  double seconds_ = 0;                   // that it took
  std::string commit_;                   // that trained it
  std::optional<JsonValue> evaluation_;  // of this checkpoint
  std::optional<Descriptor> lock_;
  std::string error_;
};

}  // namespace npzoo::tools
