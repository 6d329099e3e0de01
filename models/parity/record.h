#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/draws.h"
#include "engine/io/safetensors.h"
#include "engine/module.h"
#include "models/model.h"
#include "models/parity/authors.h"

namespace npzoo {

/// A run that was recorded from the code of a model's authors, and what of ours it is to be held against. What is not
/// as expected throws Error that names the file.
class Record {
 public:
  explicit Record(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  const ModelSpec& spec() const { return spec_; }
  const AuthorsCode& authors() const { return *authors_; }
  bool has(const std::string& name) const { return file_.tensors.contains(name); }
  /// Its model cannot have more.
  std::int64_t elements() const { return file_.elements(); }
  const Tensor& at(const std::string& name) const;
  /// Of what was recorded, float64 or float32.
  DType dtype() const;

  /// With the lengths of context and targets where they are ragged, and then every point counting alike.
  Task task(DType dtype) const;

  /// What was drawn in the evaluation, in training, or in its update `step`, from 1.
  Draws evaluation_draws() const { return draws("eval.random."); }
  Draws training_draws() const { return draws("random."); }
  Draws training_draws(std::int64_t step) const { return draws("random.step" + std::to_string(step) + "."); }
  /// Functions that were drawn of each task in the evaluation.
  std::int64_t evaluation_samples() const;

  /// Whether the parameters after the last update of `kind`, "adam" or "yogi", were kept.
  bool has_final(const std::string& kind) const;

  /// Context points of the first of two parts, of a run that was continued; 0 where there is none.
  std::int64_t first_points() const;

  /// What the authors recorded for one of our parameters: `kind` is param, grad, adam.final or buffer. Zeros for the
  /// gradient of one that their objective does not depend on.
  Tensor of_parameter(const std::string& kind, const NamedParameter& ours) const;
  /// Their names for parameters that none of `ours` is.
  std::vector<std::string> other_parameters(std::span<const NamedParameter> ours) const;

 private:
  Tensor in_double(const std::string& name) const;
  Draws draws(const std::string& start) const;
  std::optional<std::int64_t> run_count(const std::string& name) const;

  std::string path_;
  TensorFile file_;
  ModelSpec spec_;
  ModelConfig run_;  // sizes of the run, and what was recorded of it
  std::set<std::string> no_gradient_;
  const AuthorsCode* authors_ = nullptr;
};

}  // namespace npzoo
