#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "npzoo/engine/parallel.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/rank_share.h"
#include "npzoo/engine/ranks/result_bytes.h"
#include "npzoo/models/numerical_events.h"

namespace npzoo {

/// Returns the results of items 0 … count − 1 on all ranks of a job; `work(first, last)` computes those of [first,
/// last). Each item is computed on one rank, so the results must not depend on the rank. Numerical events of other
/// ranks are counted here as well. Null: this process computes all. All ranks call it, from their main threads. Throws
/// as Job::meet if another rank fails.
template <class Result, class Work>
std::vector<Result> share_work(Job* job, std::int64_t count, const Work& work) {
  if (job == nullptr || job->size() == 1) return work(std::int64_t{0}, count);
  const RankShare own = RankShare::of_rank(count, job->rank(), job->size());
  ResultWriter writer;
  std::exception_ptr failure;
  try {
    const NumericalEventScope events;
    const std::vector<Result> results = own.count() > 0 ? work(own.first, own.last) : std::vector<Result>();
    writer(events.count(), results);
  } catch (...) {
    failure = std::current_exception();
  }
  const std::vector<std::vector<std::byte>> bytes = job->collect(writer.bytes(), failure);
  std::vector<Result> all;
  for (std::size_t rank = 0; rank < bytes.size(); ++rank) {
    NumericalEvents events;
    std::vector<Result> results;
    ResultReader reader(bytes[rank]);
    reader(events, results);
    if (static_cast<int>(rank) != job->rank()) count_events(events);
    std::ranges::move(results, std::back_inserter(all));
  }
  return all;
}

/// Returns the number of items that a process works on together: some for each thread, so that no thread waits long for
/// the last.
inline std::int64_t items_together() { return std::max<std::int64_t>(16, 4 * thread_pool().threads()); }

/// Shares items 0 … count − 1 in rounds, and calls take(index, result) in their order on all ranks. A round has
/// `together` items for each rank, or more if another rank asks for more.
template <class Result, class Work, class Take>
void share_rounds(Job* job, std::int64_t count, std::int64_t together, const Work& work, const Take& take) {
  const std::int64_t round = job == nullptr ? together : job->largest(together) * job->size();
  for (std::int64_t first = 0; first < count; first += round) {
    std::vector<Result> results =
        share_work<Result>(job, std::min(round, count - first),
                           [&](std::int64_t begin, std::int64_t end) { return work(first + begin, first + end); });
    for (std::int64_t i = 0; i < std::ssize(results); ++i)
      take(first + i, std::move(results[static_cast<std::size_t>(i)]));
  }
}

}  // namespace npzoo
