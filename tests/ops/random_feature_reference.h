#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tests/testing.h"

/// Attention with random features from plain loops.
namespace npzoo::testing {

inline constexpr Stabiliser kStabilisers[] = {Stabiliser::none, Stabiliser::maximum};

struct FeatureSize {
  std::int64_t batch, queries, keys;
  int heads;
  std::int64_t width, value_width, features;
};

/// q, k and v.
template <class T>
std::vector<Tensor> draw(const FeatureSize& s, double scale = 1) {
  return {normal<T>({s.batch, s.queries, s.heads * s.width}, 1, scale),
          normal<T>({s.batch, s.keys, s.heads * s.width}, 2, scale),
          normal<T>({s.batch, s.keys, s.heads * s.value_width}, 3)};
}

inline Tensor projection_of(const FeatureSize& s, DType dtype = DType::float64, FeatureNorms norms = FeatureNorms::chi,
                            std::uint64_t seed = 5) {
  if (s.width == 0) return Tensor::empty({s.features, 0}, dtype);
  Random random(seed);
  return orthogonal_random_features(s.features, s.width, norms, random).to(dtype);
}

/// Computes the reference by loops, in arithmetic of type R.
template <class R>
class FeatureLoops {
 public:
  FeatureLoops(const FeatureSize& s, const PrefixMask& mask, double scale, Stabiliser stabiliser,
               const Tensor& projection, const std::vector<Tensor>& in)
      : s_(s),
        mask_(mask),
        root_(std::sqrt(static_cast<R>(scale != 0 ? scale : 1 / std::sqrt(std::max<double>(double(s.width), 1))))),
        stabilised_(stabiliser == Stabiliser::maximum),
        w_(numbers(projection)),
        q_(numbers(in[0])),
        k_(numbers(in[1])),
        v_(numbers(in[2])),
        out_(size(s.queries, s.value_width)) {
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.heads; ++h) forward(b, h);
  }

  Tensor out() const { return tensor(out_, s_.queries, s_.value_width); }
  std::int64_t clamped() const { return clamped_; }

  /// The output and the gradients of q, k and v.
  std::vector<Tensor> with_gradients() {
    d_q_.assign(q_.size(), 0), d_k_.assign(k_.size(), 0), d_v_.assign(v_.size(), 0);
    d_out_ = numbers(cotangent(out()));
    for (std::int64_t b = 0; b < s_.batch; ++b)
      for (std::int64_t h = 0; h < s_.heads; ++h) {
        forward(b, h);
        backward(b, h);
      }
    return {out(), tensor(d_q_, s_.queries, s_.width), tensor(d_k_, s_.keys, s_.width),
            tensor(d_v_, s_.keys, s_.value_width)};
  }

 private:
  using Row = std::vector<R>;
  using Rows = std::vector<Row>;

  static Row numbers(const Tensor& x) {
    const auto wide = doubles(x);
    return Row(wide.begin(), wide.end());
  }
  std::size_t size(std::int64_t points, std::int64_t width) const {
    return static_cast<std::size_t>(s_.batch * points * s_.heads * width);
  }
  Tensor tensor(const Row& x, std::int64_t points, std::int64_t width) const {
    using T = std::conditional_t<std::is_same_v<R, float>, float, double>;
    Tensor out = Tensor::empty({s_.batch, points, s_.heads * width}, dtype_of<T>());
    std::ranges::transform(x, out.data<T>(), [](R value) { return static_cast<T>(value); });
    return out;
  }
  std::size_t at(std::int64_t b, std::int64_t points, std::int64_t i, std::int64_t h, std::int64_t width,
                 std::int64_t c) const {
    return static_cast<std::size_t>(((b * points + i) * s_.heads + h) * width + c);
  }

  /// The points of one head, times √scale.
  Rows scaled(const Row& x, std::int64_t b, std::int64_t h, std::int64_t points, std::int64_t count) const {
    Rows rows;
    for (std::int64_t i = 0; i < count; ++i) {
      Row& row = rows.emplace_back();
      for (std::int64_t c = 0; c < s_.width; ++c) row.push_back(root_ * x[at(b, points, i, h, s_.width, c)]);
    }
    return rows;
  }

  Rows exponents(const Rows& points) const {
    Rows rows;
    for (const Row& x : points) {
      R norm = 0;
      for (R value : x) norm += value * value;
      Row& row = rows.emplace_back();
      for (std::size_t f = 0; f < features(); ++f) {
        R product = 0;
        for (std::size_t c = 0; c < x.size(); ++c) product += w_[f * x.size() + c] * x[c];
        row.push_back(product - norm / 2);
      }
    }
    return rows;
  }

  void exponentiate(Row& row, R shift) const {
    for (R& value : row) value = std::exp(value - shift) / std::sqrt(static_cast<R>(s_.features));
  }

  void forward(std::int64_t b, std::int64_t h) {
    visible_ = mask_.visible(b, 0, s_.keys);
    x_q_ = scaled(q_, b, h, s_.queries, s_.queries), x_k_ = scaled(k_, b, h, s_.keys, visible_);
    phi_q_ = exponents(x_q_), phi_k_ = exponents(x_k_);
    R shift = stabilised_ ? -std::numeric_limits<R>::infinity() : R(0);
    if (stabilised_)
      for (const Row& row : phi_k_) shift = std::max(shift, *std::ranges::max_element(row));
    for (Row& row : phi_k_) exponentiate(row, shift);
    for (Row& row : phi_q_) exponentiate(row, stabilised_ ? *std::ranges::max_element(row) : R(0));
    sums_.assign(features(), Row(values() + 1, 0));
    for (std::size_t f = 0; f < features(); ++f)
      for (std::size_t j = 0; j < phi_k_.size(); ++j)
        for (std::size_t c = 0; c <= values(); ++c) sums_[f][c] += phi_k_[j][f] * value(b, h, j, c);
    denominators_.clear();
    for (std::size_t i = 0; i < phi_q_.size(); ++i) attend(b, h, i);
  }

  void attend(std::int64_t b, std::int64_t h, std::size_t i) {
    Row y(values() + 1, 0);
    for (std::size_t f = 0; f < features(); ++f)
      for (std::size_t c = 0; c <= values(); ++c) y[c] += phi_q_[i][f] * sums_[f][c];
    denominators_.push_back(y.back());
    if (visible_ > 0 && y.back() < kLimit) ++clamped_;
    for (std::size_t c = 0; c < values(); ++c)
      out_[out_at(b, h, i, c)] = visible_ > 0 ? y[c] / std::max(y.back(), kLimit) : R(0);
  }

  void backward(std::int64_t b, std::int64_t h) {
    if (visible_ == 0) return;
    Rows d_sums(features(), Row(values() + 1, 0));
    for (std::size_t i = 0; i < phi_q_.size(); ++i) {
      const bool clamped = denominators_[i] < kLimit;
      const R denominator = std::max(denominators_[i], kLimit);
      Row d_y(values() + 1, 0), d_phi(features(), 0);
      for (std::size_t c = 0; c < values(); ++c) {
        d_y[c] = d_out_[out_at(b, h, i, c)] / denominator;
        if (!clamped) d_y.back() -= d_y[c] * out_[out_at(b, h, i, c)];
      }
      for (std::size_t f = 0; f < features(); ++f)
        for (std::size_t c = 0; c <= values(); ++c) {
          d_phi[f] += d_y[c] * sums_[f][c];
          d_sums[f][c] += phi_q_[i][f] * d_y[c];
        }
      add_point_gradient(phi_q_[i], d_phi, x_q_[i], d_q_.data() + at(b, s_.queries, std::int64_t(i), h, s_.width, 0));
    }
    for (std::size_t j = 0; j < phi_k_.size(); ++j) {
      Row d_phi(features(), 0);
      for (std::size_t f = 0; f < features(); ++f)
        for (std::size_t c = 0; c <= values(); ++c) {
          d_phi[f] += d_sums[f][c] * value(b, h, j, c);
          if (c < values()) d_v_[value_at(b, h, j, c)] += d_sums[f][c] * phi_k_[j][f];
        }
      add_point_gradient(phi_k_[j], d_phi, x_k_[j], d_k_.data() + at(b, s_.keys, std::int64_t(j), h, s_.width, 0));
    }
  }

  void add_point_gradient(const Row& phi, const Row& d_phi, const Row& x, R* d) const {
    for (std::size_t f = 0; f < phi.size(); ++f)
      for (std::size_t c = 0; c < x.size(); ++c) d[c] += root_ * (phi[f] * d_phi[f]) * (w_[f * x.size() + c] - x[c]);
  }

  std::size_t features() const { return static_cast<std::size_t>(s_.features); }
  std::size_t values() const { return static_cast<std::size_t>(s_.value_width); }
  std::size_t value_at(std::int64_t b, std::int64_t h, std::size_t j, std::size_t c) const {
    return at(b, s_.keys, std::int64_t(j), h, s_.value_width, std::int64_t(c));
  }
  std::size_t out_at(std::int64_t b, std::int64_t h, std::size_t i, std::size_t c) const {
    return at(b, s_.queries, std::int64_t(i), h, s_.value_width, std::int64_t(c));
  }
  R value(std::int64_t b, std::int64_t h, std::size_t j, std::size_t c) const {
    return c == values() ? R(1) : v_[value_at(b, h, j, c)];
  }

  static constexpr R kLimit = R(1e-6);
  FeatureSize s_;
  PrefixMask mask_;
  R root_;
  bool stabilised_;
  Row w_, q_, k_, v_, out_, d_q_, d_k_, d_v_, d_out_;
  // State of one head:
  std::int64_t visible_ = 0, clamped_ = 0;
  Rows x_q_, x_k_, phi_q_, phi_k_, sums_;
  Row denominators_;
};

}  // namespace npzoo::testing
