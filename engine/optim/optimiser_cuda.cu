#include "npzoo/engine/cuda/last_block.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

constexpr int kThreads = 256;

template <class T>
__device__ T gradient_at(const Stretch<T>& s, std::int64_t i) {
  T sum = s.gradients[0][i];
  for (std::size_t part = 1; part < s.gradients.size(); ++part) sum += s.gradients[part][i];
  return sum;
}

constexpr std::size_t kSumBytes = kThreads / kWarp * sizeof(double);

/// A block for each stretch. The last block judges the sums of all.
template <class T>
__global__ void __launch_bounds__(kThreads) judge_kernel(JudgeGradients<T> p, const Stretch<T>* stretches, int count) {
  double sum = 0;
  if (count > 0) {
    const Stretch<T> s = stretches[blockIdx.x];
    for (std::int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
      const auto g = static_cast<double>(gradient_at(s, i));
      sum += g * g;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) p.squares[blockIdx.x] = sum;
    if (!is_last_block(0, count, shared_memory<int>())) return;
    const volatile double* const squares = p.squares;
    sum = 0;
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) sum += squares[i];
  }
  const double norm = square_root(block_sum(sum));
  if (threadIdx.x != 0) return;
  p.scalars->gradient_norm = norm;
  p.scalars->gradient_scale = norm > p.limit ? p.limit / norm : 1;
  const bool finite = norm < infinity<double>() && (!p.loss || absolute(*p.loss) < infinity<T>());
  if (!finite) p.scalars->skip = 1;
}

template <class T>
__device__ T normal_first_moment(T m) {
  return absolute(m) < kSmallest<T> ? T(0) : m;
}
template <class T>
__device__ T normal_second_moment(T v) {
  return v > 0 && v < 2 * kSmallest<T> ? 2 * kSmallest<T> : v;
}

/// `rule.adjust(g, p)` may change both before the moments see the gradient. `rule.second(v, g²)` returns the new second
/// moment.
template <class T, class Rule>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const Stretch<T>* stretches, const StepScalars* scalars, double beta1, double epsilon, Rule rule) {
  const Stretch<T> s = stretches[blockIdx.x];
  const StepScalars now = *scalars;
  if (now.skip != 0) return;
  rule.begin(now);
  const auto scale = static_cast<T>(now.gradient_scale), keep = static_cast<T>(beta1);
  const auto take = static_cast<T>(1 - beta1), rate = static_cast<T>(now.learning_rate / now.bias_correction1);
  const auto root_scale = static_cast<T>(1 / square_root(now.bias_correction2));
  for (std::int64_t i = s.begin + threadIdx.x; i < s.end; i += kThreads) {
    T p = s.parameter[i], g = scale * gradient_at(s, i);
    rule.adjust(g, p);
    const T m = normal_first_moment(keep * s.first_moment[i] + take * g),
            v = normal_second_moment(rule.second(s.second_moment[i], g * g));
    s.first_moment[i] = m;
    s.second_moment[i] = v;
    s.parameter[i] = p - rate * m / (square_root(v) * root_scale + static_cast<T>(epsilon));
  }
}

template <class T>
struct AdamRule {
  double beta2, weight_decay;
  bool decoupled;
  T decay = 0, shrink = 1;

  __device__ void begin(const StepScalars& now) {
    if (decoupled)
      shrink = static_cast<T>(1 - now.learning_rate * weight_decay);
    else
      decay = static_cast<T>(weight_decay);
  }
  __device__ void adjust(T& g, T& p) const {
    g += decay * p;
    p *= shrink;
  }
  __device__ T second(T v, T square) const { return static_cast<T>(beta2) * v + static_cast<T>(1 - beta2) * square; }
};

template <class T>
struct YogiRule {
  double beta2;

  __device__ void begin(const StepScalars& /*now*/) {}
  __device__ void adjust(T& /*g*/, T& /*p*/) const {}
  __device__ T second(T v, T square) const {
    const T change = static_cast<T>(1 - beta2) * square;
    return v > square ? v - change : v < square ? v + change : v;
  }
};

template <class T, class Update, class Rule>
void update(Cuda& cuda, const char* name, const Update& p, const Rule& rule) {
  launch(cuda, name, update_kernel<T, Rule>, static_cast<std::int64_t>(p.stretches.size()), kThreads, 0,
         p.stretches.data(), p.scalars, p.beta1, p.epsilon, rule);
}

}  // namespace

template <class T>
void judge_gradients(Cuda& cuda, const JudgeGradients<T>& p) {
  const auto count = static_cast<int>(p.stretches.size());
  launch(cuda, "judge_gradients", judge_kernel<T>, max(count, 1), kThreads, kSumBytes, p, p.stretches.data(), count);
}

template <class T>
void adam_update(Cuda& cuda, const AdamUpdate<T>& p) {
  update<T>(cuda, "adam_update", p, AdamRule<T>{p.beta2, p.weight_decay, p.decoupled_decay});
}

template <class T>
void yogi_update(Cuda& cuda, const YogiUpdate<T>& p) {
  update<T>(cuda, "yogi_update", p, YogiRule<T>{p.beta2});
}

NPZOO_INSTANTIATE(judge_gradients, JudgeGradients);
NPZOO_INSTANTIATE(adam_update, AdamUpdate);
NPZOO_INSTANTIATE(yogi_update, YogiUpdate);

}  // namespace npzoo
