#include "tests/reference.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace npzoo::reference {

namespace {

/// Calls f with a number of x's dtype.
template <class F>
auto with_scalar(const Tensor& x, F&& f) {
  return x.dtype() == DType::float32 ? f(float()) : f(double());
}

}  // namespace

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  Tensor out = Tensor::empty(shape, x.dtype());
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      std::int64_t rest = i, index = 0, stride = 1;
      for (int axis = 1; axis <= x.rank(); ++axis) {
        if (x.dim(-axis) != 1) index += rest % shape[-axis] * stride;
        rest /= shape[-axis];
        stride *= x.dim(-axis);
      }
      out.data<T>()[i] = x.data<T>()[index];
    }
  });
  return out;
}

Tensor transpose(const Tensor& x) {
  const std::int64_t m = x.dim(-2), n = x.dim(-1);
  Tensor out = Tensor::empty(x.shape().with(-2, n).with(-1, m), x.dtype());
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < x.numel(); ++i)
      out.data<T>()[i / (m * n) * m * n + i % n * m + i / n % m] = x.data<T>()[i];
  });
  return out;
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  const std::int64_t m = a.dim(-2), k = a.dim(-1), n = b.dim(-1);
  const Shape& longer = a.rank() >= b.rank() ? a.shape() : b.shape();
  Tensor out = Tensor::zeros(longer.with(-2, m).with(-1, n), a.dtype());
  with_scalar(a, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const std::int64_t batch = i / (m * n), row = i / n % m, column = i % n;
      const T* left = a.data<T>() + (a.rank() > 2 ? batch * m * k : 0) + row * k;
      const T* right = b.data<T>() + (b.rank() > 2 ? batch * k * n : 0) + column;
      for (std::int64_t l = 0; l < k; ++l) out.data<T>()[i] += left[l] * right[l * n];
    }
  });
  return out;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu) {
  const std::int64_t k = weight.dim(1), n = weight.dim(0);
  Tensor out = Tensor::empty(x.shape().with(-1, n), x.dtype());
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      T sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += x.data<T>()[i / n * k + l] * weight.data<T>()[i % n * k + l];
      if (bias.defined()) sum += bias.data<T>()[i % n];
      out.data<T>()[i] = relu && sum < 0 ? 0 : sum;
    }
  });
  return out;
}

LinearGradients linear_backward(const Tensor& x, const Tensor& weight, const Tensor& bias, bool relu,
                                const Tensor& d_out) {
  const std::int64_t k = weight.dim(1), n = weight.dim(0);
  const Tensor out = linear(x, weight, bias, relu);
  LinearGradients d{Tensor::zeros_like(x), Tensor::zeros_like(weight), Tensor::zeros({n}, x.dtype())};
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      if (relu && !(out.data<T>()[i] > 0)) continue;
      const T d_pre = d_out.data<T>()[i];
      d.bias.data<T>()[i % n] += d_pre;
      for (std::int64_t l = 0; l < k; ++l) {
        d.x.data<T>()[i / n * k + l] += d_pre * weight.data<T>()[i % n * k + l];
        d.weight.data<T>()[i % n * k + l] += d_pre * x.data<T>()[i / n * k + l];
      }
    }
  });
  return d;
}

namespace {

/// (x - mean) / deviation of one row, and 1 / deviation.
template <class T>
T standardise(const T* x, std::int64_t n, double eps, std::vector<T>& normal) {
  T mean = 0, variance = 0;
  for (std::int64_t i = 0; i < n; ++i) mean += x[i];
  mean /= static_cast<T>(n);
  for (std::int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const T inverse = 1 / std::sqrt(variance / static_cast<T>(n) + static_cast<T>(eps));
  normal.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) normal[static_cast<std::size_t>(i)] = (x[i] - mean) * inverse;
  return inverse;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  const std::int64_t n = x.dim(-1);
  Tensor out = Tensor::empty_like(x);
  with_scalar(x, [&]<class T>(T) {
    std::vector<T> normal;
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      if (i % n == 0) standardise(x.data<T>() + i, n, eps, normal);
      out.data<T>()[i] = normal[static_cast<std::size_t>(i % n)] * gain.data<T>()[i % n] + bias.data<T>()[i % n];
    }
  });
  return out;
}

LayerNormGradients layer_norm_backward(const Tensor& x, const Tensor& gain, const Tensor& d_out, double eps) {
  const std::int64_t n = x.dim(-1);
  LayerNormGradients d{Tensor::empty_like(x), Tensor::zeros_like(gain), Tensor::zeros_like(gain)};
  with_scalar(x, [&]<class T>(T) {
    std::vector<T> normal;
    for (std::int64_t row = 0; row < x.numel(); row += n) {
      const T inverse = standardise(x.data<T>() + row, n, eps, normal);
      T mean = 0, dot = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const T d_i = d_out.data<T>()[row + i], z = normal[static_cast<std::size_t>(i)];
        d.gain.data<T>()[i] += d_i * z;
        d.bias.data<T>()[i] += d_i;
        mean += d_i * gain.data<T>()[i] / static_cast<T>(n);
        dot += d_i * gain.data<T>()[i] * z / static_cast<T>(n);
      }
      for (std::int64_t i = 0; i < n; ++i)
        d.x.data<T>()[row + i] =
            inverse * (d_out.data<T>()[row + i] * gain.data<T>()[i] - mean - normal[static_cast<std::size_t>(i)] * dot);
    }
  });
  return d;
}

namespace {

template <class T>
T normal_cdf(T x) {
  return (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2;
}

}  // namespace

Tensor geglu(const Tensor& x) {
  const std::int64_t n = x.dim(-1) / 2;
  Tensor out = Tensor::empty(x.shape().with(-1, n), x.dtype());
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      const T *row = x.data<T>() + i / n * 2 * n, gate = row[n + i % n];
      out.data<T>()[i] = row[i % n] * (gate * normal_cdf(gate));
    }
  });
  return out;
}

Tensor geglu_backward(const Tensor& x, const Tensor& d_out) {
  const std::int64_t n = x.dim(-1) / 2;
  Tensor d_x = Tensor::empty_like(x);
  with_scalar(x, [&]<class T>(T) {
    for (std::int64_t i = 0; i < d_out.numel(); ++i) {
      const std::int64_t value = i / n * 2 * n + i % n;
      const T gate = x.data<T>()[value + n], d = d_out.data<T>()[i];
      const T density = std::exp(-gate * gate / 2) / std::sqrt(2 * std::numbers::pi_v<T>);
      d_x.data<T>()[value] = d * (gate * normal_cdf(gate));
      d_x.data<T>()[value + n] = d * x.data<T>()[value] * (normal_cdf(gate) + gate * density);
    }
  });
  return d_x;
}

namespace {

/// The rows of q, k, v and out that one query of one head works with.
template <class T>
class QueryRow {
 public:
  QueryRow(const Attention& options, const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t index)
      : keys_(k.dim(1)),
        heads_(options.heads),
        head_(index % heads_),
        query_(index / heads_),
        batch_(query_ / q.dim(1)),
        width(q.dim(2) / heads_),
        value_width(v.dim(2) / heads_) {
    weights.resize(static_cast<std::size_t>(keys_));
    T largest = -std::numeric_limits<T>::infinity(), total = 0;
    for (std::int64_t j = 0; j < keys_; ++j) {
      if (!options.sees(batch_, query_ % q.dim(1), j)) continue;
      seen.push_back(j);
      T logit = 0;
      for (std::int64_t l = 0; l < width; ++l) {
        const T a = q.data<T>()[query(l)], b = k.data<T>()[key(j, l)];
        logit += options.laplace ? -std::abs(a - b) : a * b;
      }
      weight(j) = logit * static_cast<T>(options.scale);
      largest = std::max(largest, weight(j));
    }
    for (std::int64_t j : seen) total += weight(j) = std::exp(weight(j) - largest);
    for (std::int64_t j : seen) weight(j) /= total;
  }

  /// Returns the index of an element.
  std::int64_t query(std::int64_t l) const { return (query_ * heads_ + head_) * width + l; }
  std::int64_t key(std::int64_t j, std::int64_t l) const { return ((batch_ * keys_ + j) * heads_ + head_) * width + l; }
  std::int64_t value(std::int64_t j, std::int64_t l) const {
    return ((batch_ * keys_ + j) * heads_ + head_) * value_width + l;
  }
  std::int64_t out(std::int64_t l) const { return (query_ * heads_ + head_) * value_width + l; }
  T& weight(std::int64_t j) { return weights[static_cast<std::size_t>(j)]; }

 private:
  std::int64_t keys_, heads_, head_, query_, batch_;

 public:
  std::int64_t width, value_width;
  std::vector<std::int64_t> seen;
  std::vector<T> weights;
};

}  // namespace

Tensor attention(const Attention& options, const Tensor& q, const Tensor& k, const Tensor& v) {
  Tensor out = Tensor::zeros(q.shape().with(2, v.dim(2)), q.dtype());
  with_scalar(q, [&]<class T>(T) {
    for (std::int64_t i = 0; i < q.dim(0) * q.dim(1) * options.heads; ++i) {
      QueryRow<T> row(options, q, k, v, i);
      for (std::int64_t j : row.seen)
        for (std::int64_t l = 0; l < row.value_width; ++l)
          out.data<T>()[row.out(l)] += row.weight(j) * v.data<T>()[row.value(j, l)];
    }
  });
  return out;
}

AttentionGradients attention_backward(const Attention& options, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& d_out) {
  AttentionGradients d{Tensor::zeros_like(q), Tensor::zeros_like(k), Tensor::zeros_like(v)};
  const auto scale = options.scale;
  with_scalar(q, [&]<class T>(T) {
    for (std::int64_t i = 0; i < q.dim(0) * q.dim(1) * options.heads; ++i) {
      QueryRow<T> row(options, q, k, v, i);
      std::vector<T> d_weights;
      T mean = 0;
      for (std::int64_t j : row.seen) {
        T d_weight = 0;
        for (std::int64_t l = 0; l < row.value_width; ++l) {
          d.v.data<T>()[row.value(j, l)] += row.weight(j) * d_out.data<T>()[row.out(l)];
          d_weight += d_out.data<T>()[row.out(l)] * v.data<T>()[row.value(j, l)];
        }
        d_weights.push_back(d_weight);
        mean += row.weight(j) * d_weight;
      }
      for (std::size_t n = 0; n < row.seen.size(); ++n) {
        const std::int64_t j = row.seen[n];
        const T d_logit = static_cast<T>(scale) * row.weight(j) * (d_weights[n] - mean);
        for (std::int64_t l = 0; l < row.width; ++l) {
          const T a = q.data<T>()[row.query(l)], b = k.data<T>()[row.key(j, l)];
          const T away = a == b ? T(0) : a > b ? T(-1) : T(1);
          d.q.data<T>()[row.query(l)] += d_logit * (options.laplace ? away : b);
          d.k.data<T>()[row.key(j, l)] += d_logit * (options.laplace ? -away : a);
        }
      }
    }
  });
  return d;
}

}  // namespace npzoo::reference
