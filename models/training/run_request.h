#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/own_data.h"
#include "npzoo/models/training/checkpoint.h"

namespace npzoo {

/// A request for a training run. The protocol gives the values that are absent.
struct RunRequest {
  std::optional<OwnData> own{};        // to train on, by the recipe for such data (own_protocol)
  std::string protocol{};              // name or path; of own data, whose presets and training replace the recipe's
  std::vector<std::string> changes{};  // to the protocol, see with_changes
  std::string model{};                 // of the protocol's presets; empty: that of `init`, or one that suits own data
  std::string init{};                  // weights to begin with, name or path; empty: random ones
  std::optional<std::int64_t> steps{}, batch_size{}, validation_batches{};
  std::optional<double> lr{};
  std::optional<std::uint64_t> seed{};
};

struct DescribedRun {
  TrainingRun run;
  std::vector<std::string> skipped{};  // messages, one for each file of own data that was left out
};

/// Describes the run. On own tables without `model` and `init` it begins with the weights for tables, if there are some
/// for as many inputs. Throws Error for a protocol, model, weights or data that there are not or that do not fit.
DescribedRun describe_run(const RunRequest& request);

/// Reads the run of a checkpoint. Throws Error if the request has another length, batch size, learning rate or seed.
TrainingRun begun_run(const std::filesystem::path& checkpoint, const RunRequest& request);

/// Writes config.toml into the directory of a run, which `npzoo train --config` repeats, and beside it, if they are not
/// npzoo's own, the protocol and, at the beginning, the weights that it begins with (see RunDirectory).
void write_run_config(const TrainingRun& run, const std::filesystem::path& directory, std::int64_t steps_done);

}  // namespace npzoo
