#include "npzoo/engine/cuda/block_team.h"
#include "npzoo/ops/joint_log_density/algorithm.h"

namespace npzoo {

namespace {

using Block = BlockTeam<4>;

template <class P>
__global__ void __launch_bounds__(Block::kThreads) density_kernel(P p) {
  joint::density(Block(), p, blockIdx.x);
}

template <class P>
__global__ void __launch_bounds__(Block::kThreads) gradients_kernel(P p) {
  joint::gradients(Block(), p, blockIdx.x);
}

template <class P>
void start(Cuda& cuda, const char* name, void (*kernel)(P), const P& p) {
  launch(cuda, name, kernel, p.of.batch, Block::kThreads, Block::kBytes, p);
}

}  // namespace

template <class T>
void cholesky_density_forward(Cuda& cuda, const CholeskyDensityForward<T>& p) {
  start(cuda, "cholesky_log_density", density_kernel<CholeskyDensityForward<T>>, p);
}

template <class T>
void cholesky_density_backward(Cuda& cuda, const CholeskyDensityBackward<T>& p) {
  start(cuda, "cholesky_log_density_backward", gradients_kernel<CholeskyDensityBackward<T>>, p);
}

template <class T>
void low_rank_density_forward(Cuda& cuda, const LowRankDensityForward<T>& p) {
  start(cuda, "low_rank_log_density", density_kernel<LowRankDensityForward<T>>, p);
}

template <class T>
void low_rank_density_backward(Cuda& cuda, const LowRankDensityBackward<T>& p) {
  start(cuda, "low_rank_log_density_backward", gradients_kernel<LowRankDensityBackward<T>>, p);
}

NPZOO_INSTANTIATE(cholesky_density_forward, CholeskyDensityForward);
NPZOO_INSTANTIATE(cholesky_density_backward, CholeskyDensityBackward);
NPZOO_INSTANTIATE(low_rank_density_forward, LowRankDensityForward);
NPZOO_INSTANTIATE(low_rank_density_backward, LowRankDensityBackward);

}  // namespace npzoo
