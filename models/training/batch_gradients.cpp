#include "npzoo/models/training/batch_gradients.h"

#include <algorithm>

#include "npzoo/engine/parallel.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

namespace {

/// Unless a number is `wanted`: a power of two, so that usual numbers of cores share the work evenly, several for small
/// batches, and in large ones few enough points in each for a core's cache. A CUDA device gets all the work at once.
std::int64_t parts_of(const Model& model, const Task& task, std::int64_t wanted) {
  if (model.whole_batches()) return 1;
  constexpr std::int64_t kFewest = 4, kMostPoints = 640;
  const std::int64_t batch = task.xc.dim(0), points = batch * (task.xc.dim(1) + task.xt.dim(1));
  if (wanted != 0) return std::clamp<std::int64_t>(batch, 1, wanted);
  if (task.xc.device() == Device::cuda) return 1;
  std::int64_t parts = kFewest;
  while (parts * kMostPoints < points) parts *= 2;
  return std::clamp<std::int64_t>(batch, 1, parts);
}

Task tasks_between(const Task& task, std::int64_t begin, std::int64_t end) {
  const auto rows = [begin, end](const Tensor& x) { return x.defined() ? slice(x, 0, begin, end) : Tensor(); };
  const auto counts = [begin, end](const Tensor& lengths) {
    return lengths.defined()
               ? Tensor::from<std::int64_t>({end - begin}, lengths.values<std::int64_t>().subspan(begin, end - begin))
               : Tensor();
  };
  return {rows(task.xc),
          rows(task.yc),
          rows(task.xt),
          rows(task.yt),
          counts(task.lengths),
          counts(task.target_lengths),
          rows(task.target_weights),
          rows(task.context_weights),
          rows(task.target_totals),
          task.batch_statistics};
}

}  // namespace

void BatchGradients::begin(std::int64_t parts) {
  while (std::ssize(parts_) < parts) parts_.push_back(std::make_unique<Part>());
  Tape& first = parts_.front()->tape;
  first.clear();
  for (const NamedParameter& p : parameters_) first.watch(p.parameter->value);
  for (std::int64_t i = 1; i < parts; ++i) parts_[i]->tape.follow(first);
  if (job_ != nullptr) sum_.follow(first);
  grads_.assign(parts, nullptr);
}

void BatchGradients::share(std::int64_t parts, const std::exception_ptr& failure) {
  job_->meet(failure);
  std::vector<PartExchange::Part> all;
  for (std::int64_t i = 0; i < parts; ++i) all.push_back({&parts_[i]->tape, grads_[i], parts_[i]->loss});
  grads_ = (*exchange_)(all, sum_);
  for (std::int64_t i = 0; i < parts; ++i) parts_[i]->loss = all[i].loss;
}

double BatchGradients::compute(const Model& model, const Task& given, const Draws& draws,
                               const std::function<void()>& beside, Profile* profile) {
  const Task task = model.prepared(given, draws);
  const std::int64_t batch = task.xc.dim(0), parts = parts_of(model, task, wanted_);
  begin(parts);
  const auto compute_part = [&](std::int64_t i) {
    const std::int64_t first = batch * i / parts, last = batch * (i + 1) / parts;
    const double share = static_cast<double>(last - first) / static_cast<double>(batch);
    Part& part = *parts_[i];
    part.tape.set_profile(profile ? &part.profile : nullptr);
    part.profile = {};
    part.profile.start();
    const Recording on(part.tape);
    Draws own = parts == 1 ? draws : draws.from(first);
    const Tensor loss = model.loss(parts == 1 ? task : tasks_between(task, first, last), own);
    part.loss = share * loss.item();
    grads_[i] = &part.tape.backward(loss, Tensor::full(loss.shape(), share, loss.dtype(), loss.device()));
  };
  const RankShare own = job_ != nullptr ? RankShare::of_rank(parts, job_->rank(), job_->size()) : RankShare{0, parts};
  const auto compute_own = [&] {
    if (parts == 1 || task.xc.device() == Device::cuda) {  // then the kernels share the threads among themselves
      for (std::int64_t i = own.first; i < own.last; ++i) compute_part(i);
      if (beside) beside();
    } else {
      thread_pool().for_range(own.last - own.first + (beside ? 1 : 0), 1, [&](std::int64_t i, std::int64_t) {
        own.first + i < own.last ? compute_part(own.first + i) : beside();
      });
    }
  };
  if (job_ == nullptr) {
    compute_own();
  } else {
    std::exception_ptr failure;
    try {
      compute_own();
    } catch (...) {
      failure = std::current_exception();
    }
    share(parts, failure);
  }
  double loss = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    loss += parts_[i]->loss;
    if (profile) profile->add(parts_[i]->profile);
  }
  return loss;
}

}  // namespace npzoo
