#include "npzoo/ops/masked_attention/prefix_mask.h"

#include <algorithm>
#include <mutex>

namespace npzoo {

namespace {

/// More keys than there can be. Sums of such numbers and of rows do not overflow.
constexpr std::int64_t kMostKeys = std::numeric_limits<std::int64_t>::max() / 4;

}  // namespace

struct PrefixMask::DeviceCounts {
  std::once_flag once;
  Tensor counts;
};

PrefixMask PrefixMask::first(std::int64_t n) {
  PrefixMask mask;
  mask.first_ = std::clamp(n, -kMostKeys, kMostKeys);
  return mask;
}

PrefixMask PrefixMask::growing(std::int64_t n) {
  PrefixMask mask = first(n);
  mask.growth_ = 1;
  return mask;
}

PrefixMask PrefixMask::lengths(const Tensor& counts) {
  check(!counts.defined() || (counts.dtype() == DType::int64 && (counts.rank() == 1 || counts.rank() == 2)),
        "[prefix_mask] lengths must be int64 of shape (B) or (B, Nq), found {} of shape {}", to_string(counts.dtype()),
        counts.shape());
  check(counts.device() == Device::cpu, "[prefix_mask] lengths are on {}, expected them on the CPU",
        to_string(counts.device()));
  PrefixMask mask;
  mask.counts_ = counts;
  if (counts.defined()) mask.device_counts_ = std::make_shared<DeviceCounts>();
  return mask;
}

PrefixMask PrefixMask::after(std::int64_t n) const {
  PrefixMask mask = *this;
  mask.skipped_ = std::min(mask.skipped_ + std::min(n, kMostKeys), kMostKeys);
  return mask;
}

void PrefixMask::check_fits(std::int64_t batch, std::int64_t queries) const {
  if (!counts_.defined()) return;
  const bool fits = counts_.dim(0) == batch && (counts_.rank() == 1 || counts_.dim(1) == queries);
  check(fits, "[prefix_mask] lengths {} do not fit {} batch elements of {} queries", counts_.shape(), batch, queries);
}

PrefixRule PrefixMask::rule(Device device) const {
  PrefixRule rule{.first = first_, .growth = growth_, .skipped = skipped_};
  if (!counts_.defined()) return rule;
  if (device == Device::cuda)
    std::call_once(device_counts_->once, [this, device] { device_counts_->counts = counts_.to(device); });
  const Tensor& there = device == Device::cuda ? device_counts_->counts : counts_;
  rule.counts = reinterpret_cast<const std::int64_t*>(there.address());
  rule.batch_stride = counts_.rank() == 1 ? 1 : counts_.dim(1);
  rule.row_stride = counts_.rank() == 1 ? 0 : 1;
  return rule;
}

}  // namespace npzoo
