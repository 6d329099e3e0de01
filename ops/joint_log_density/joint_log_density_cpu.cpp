#include "npzoo/engine/cpu/one_thread.h"
#include "npzoo/ops/joint_log_density/algorithm.h"

namespace npzoo {

template <class T>
void cholesky_density_forward(Cpu& cpu, const CholeskyDensityForward<T>& p) {
  cpu.parallel_for(p.of.batch, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) joint::density(OneThread(), p, b);
  });
}

template <class T>
void cholesky_density_backward(Cpu& cpu, const CholeskyDensityBackward<T>& p) {
  cpu.parallel_for(p.of.batch, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) joint::gradients(OneThread(), p, b);
  });
}

template <class T>
void low_rank_density_forward(Cpu& cpu, const LowRankDensityForward<T>& p) {
  cpu.parallel_for(p.of.batch, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) joint::density(OneThread(), p, b);
  });
}

template <class T>
void low_rank_density_backward(Cpu& cpu, const LowRankDensityBackward<T>& p) {
  cpu.parallel_for(p.of.batch, 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) joint::gradients(OneThread(), p, b);
  });
}

NPZOO_INSTANTIATE(cholesky_density_forward, CholeskyDensityForward);
NPZOO_INSTANTIATE(cholesky_density_backward, CholeskyDensityBackward);
NPZOO_INSTANTIATE(low_rank_density_forward, LowRankDensityForward);
NPZOO_INSTANTIATE(low_rank_density_backward, LowRankDensityBackward);

}  // namespace npzoo
