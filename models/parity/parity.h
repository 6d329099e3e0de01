#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace npzoo {

class Record;

/// Largest deviation of one kind of numbers from the recorded ones.
struct ParityQuantity {
  std::string name;
  double max_error = 0;
  double tolerance = 0;
};

struct ParityReport {
  std::string file, model;
  std::vector<ParityQuantity> quantities;
  /// Tensors of the recording that nothing was compared with, in the order of their names.
  std::vector<std::string> not_compared;

  double max_error() const;
  bool passed() const;
};

/// Repeats a run that was recorded from the code of a model's authors. Loads their parameters under our names, and
/// compares predictions, log-likelihoods, the training loss, the gradient of every parameter and ten Adam updates with
/// theirs. For CMANP it also compares the state of every block after a part of the context, after an update with the
/// rest, and after all of it at once. Errors are relative to the largest recorded value of the quantity, at least 1;
/// for gradients, to the largest gradient. Files of float32 parameters hold predictions alone, which are compared in
/// float and in double.
///
/// A recording may come from a stranger. The type, shape and range of each tensor are checked before it is used, and
/// each tensor is compared or named in `not_compared`.
///
/// Throws Error for a file of another format, of a model that this build does not have, or with a tensor that has
/// another type, shape or range than expected.
ParityReport check_parity(const std::filesystem::path& path);
ParityReport check_parity(const Record& record);

}  // namespace npzoo
