#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace npzoo {

/// Largest deviation of one kind of numbers from the recorded ones.
struct ParityQuantity {
  std::string name;
  double max_error = 0;
  double tolerance = 0;
};

struct ParityReport {
  std::string file, model;
  std::vector<ParityQuantity> quantities;

  double max_error() const;
  bool passed() const;
};

/// Repeats a run that was recorded from the code of a model's authors: loads their parameters under our names, and
/// compares predictions, log-likelihoods, the training loss, the gradient of every parameter and ten Adam updates with
/// what they got; for CMANP also the state of every block after a part of the context, after an update with the rest,
/// and after all of it at once. Errors are relative to the largest recorded value of the quantity, at least 1;
/// gradients to the largest gradient. Files of float32 parameters hold predictions alone, which are compared in float
/// and in double.
///
/// Throws Error for a file of another format, or of a model that this build does not have.
ParityReport check_parity(const std::filesystem::path& path);

}  // namespace npzoo
