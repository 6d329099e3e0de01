#include "npzoo/models/blocks/growing_rows.h"

#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/chunks.h"

namespace npzoo {

GrowingRows GrowingRows::joined(std::int64_t more) const {
  GrowingRows next = *this;
  next.before_ = count_;
  next.count_ = next.room_ = count_ + more;
  next.used_ = nullptr;
  next.growth_ = Growth::joined;
  return next;
}

GrowingRows GrowingRows::grown(std::int64_t more) const {
  GrowingRows next = joined(more);
  if (count_ == 0 || current_tape()) return next;
  std::int64_t expected = count_;
  if (used_ && next.count_ <= room_ && used_->compare_exchange_strong(expected, next.count_)) {
    next.growth_ = Growth::in_place;
    next.room_ = room_;
    next.used_ = used_;
    return next;
  }
  next.growth_ = Growth::moved;
  next.room_ = 2 * next.count_;
  next.used_ = std::make_shared<std::atomic<std::int64_t>>(next.count_);
  return next;
}

const Tensor& GrowingRows::append(std::size_t i, const Tensor& part) {
  Tensor& array = arrays_.at(i);
  if (growth_ == Growth::in_place) {
    copy_slice(part, 1, before_, array);
    return array;
  }
  if (before_ == 0) return array = part;
  const Tensor old = points_between(array, 0, before_);
  if (growth_ == Growth::joined) return array = concat({old, part}, 1);
  Tensor moved = Tensor::empty(part.shape().with(1, room_), part.dtype(), part.device());
  copy_slice(old, 1, 0, moved);
  copy_slice(part, 1, before_, moved);
  return array = moved;
}

Tensor GrowingRows::points(std::size_t i) const { return points_between(arrays_[i], 0, count_); }

}  // namespace npzoo
