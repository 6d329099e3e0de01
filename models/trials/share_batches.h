#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "npzoo/models/share_work.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

/// Shares the test batches of a trial among ranks, for trials that work on one batch at a time. `score(index)` returns
/// the result of a batch; `take(result)` is called on all ranks, in the order of the batches.
template <class Score, class Take>
void share_batches(const TrialOptions& options, const Score& score, const Take& take) {
  using Result = std::invoke_result_t<Score, std::int64_t>;
  share_rounds<Result>(
      options.job, options.batches, 1,
      [&](std::int64_t first, std::int64_t last) {
        std::vector<Result> all;
        for (std::int64_t index = first; index < last; ++index) all.push_back(score(index));
        return all;
      },
      [&](std::int64_t index, const Result& result) {
        take(result);
        if (options.progress) options.progress(static_cast<double>(index + 1));
      });
}

}  // namespace npzoo
