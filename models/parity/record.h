#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/task.h"
#include "npzoo/engine/draws.h"
#include "npzoo/engine/io/safetensors.h"
#include "npzoo/engine/module.h"
#include "npzoo/models/model.h"
#include "npzoo/models/parity/authors.h"
#include "npzoo/models/parity/recorded_tensors.h"

namespace npzoo {

/// A run that was recorded from the code of a model's authors, and the model of ours that repeats it. Throws Error that
/// names the file if the recording is not as expected.
class Record {
 public:
  explicit Record(const std::filesystem::path& path);
  /// `name` is what messages call the recording.
  Record(TensorFile file, std::string name);

  const std::string& path() const { return path_; }
  const ModelSpec& spec() const { return spec_; }
  const AuthorsCode& authors() const { return *authors_; }
  const RecordedTensors& tensors() const { return tensors_; }
  bool has(const std::string& name) const { return tensors_.has(name); }
  /// Numbers in all tensors together. The recorded model cannot have more parameters, samples or grid nodes.
  std::int64_t elements() const { return elements_; }
  /// Type of the recorded numbers, float64 or float32.
  DType dtype() const { return task_.yt.dtype(); }

  /// Ragged contexts and targets have lengths, and then all points have the same weight.
  Task task(DType dtype) const;

  /// Recorded random numbers of the evaluation, of training, or of its update `step`, from 1. `drawn` states how many
  /// of the tensors were used.
  Draws draws(const std::string& start) const;
  void drawn(const std::string& start, std::int64_t calls) const;
  /// Functions sampled for each task in the evaluation.
  std::int64_t evaluation_samples() const;

  /// True if the parameters after the last update of `kind`, "adam" or "yogi", were kept.
  bool has_final(const std::string& kind) const;

  /// Context points of the first of two parts, if a run was continued; else 0.
  std::int64_t first_points() const;

  /// Numbers, words and truth values of the run.
  const ModelConfig& run() const { return run_; }
  /// What was added to all inputs before a second evaluation, one number for each of `dims` columns.
  std::vector<double> shift(std::int64_t dims) const;

  /// Returns the authors' recording for one of our parameters. `kind` is param, grad, adam.final or buffer. Zeros for
  /// the gradient of a parameter that their objective does not depend on.
  Tensor of_parameter(const std::string& kind, const NamedParameter& ours) const;
  /// Their names for parameters that none of `ours` is.
  std::vector<std::string> other_parameters(std::span<const NamedParameter> ours) const;

 private:
  Task recorded_task() const;
  void read_config();
  std::optional<std::int64_t> run_count(const std::string& name) const;
  const Tensor& drawn_tensor(const std::string& name) const;
  Tensor for_each_task(const std::string& name) const;
  Tensor samples_first(const std::string& name) const;
  Tensor by_rows(const std::string& name) const;

  std::string path_;
  std::map<std::string, std::string> metadata_;
  std::int64_t elements_ = 0;
  RecordedTensors tensors_;
  ModelSpec spec_;
  ModelConfig run_;  // sizes of the run, and what was recorded of it
  std::set<std::string> no_gradient_;
  const AuthorsCode* authors_ = nullptr;
  Task task_;  // as recorded, on the CPU
};

}  // namespace npzoo
