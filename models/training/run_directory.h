#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "npzoo/engine/io/file.h"

namespace npzoo {

/// The directory of one training run, which has it to itself as long as this lives:
///   checkpoint.safetensors  the state of the run
///   metrics.jsonl           losses and validations
///   events.out.tfevents.npzoo  the same for TensorBoard, if requested
///   config.toml             its flags, where the program trains; protocol.toml, a protocol of the user's own;
///                           initial.safetensors, the weights that it began with
///   train.log, evaluation.json  where `npzoo reproduce` and `npzoo eval` leave theirs
class RunDirectory {
 public:
  /// Makes it where it is not there. Throws Error if that fails, where another process trains in it, and where it
  /// holds files that no run wrote: neither are they overwritten, nor does a run begin among them.
  explicit RunDirectory(const std::filesystem::path& path);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;
  /// Removes again what was made and is still empty.
  ~RunDirectory();

  static std::filesystem::path checkpoint_in(const std::filesystem::path& path) {
    return path / "checkpoint.safetensors";
  }
  std::filesystem::path checkpoint() const { return checkpoint_in(path_); }
  static std::filesystem::path metrics_in(const std::filesystem::path& path) { return path / "metrics.jsonl"; }
  std::filesystem::path metrics() const { return metrics_in(path_); }
  std::filesystem::path events() const { return path_ / "events.out.tfevents.npzoo"; }

 private:
  void make();
  void check_own() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // parents first
  Descriptor lock_;
};

/// How a config.toml of a run begins.
inline constexpr std::string_view kRunConfigHeader = "# Repeats this run: npzoo train --config config.toml --out DIR\n";

/// Whether a file is a config.toml as a run writes it: that line, and nothing but options of training.
bool is_run_config(const std::filesystem::path& path);

}  // namespace npzoo
