#pragma once

// An algorithm of one task, written once for a thread of a CPU and for a block of a GPU. A Team does it:
//
//   each(n, f)             f(i) for all i in [0, n), in any order; all threads see all results when it returns
//   each(n, m, f)          the same with f(i, j)
//   sum(n, f)              Σ f(i), a double, the same in every thread
//   least(n, f)            the smallest f(i), a double, the same in every thread; without NaN; infinity if none is left
//   sort(n, order, room, before)   sorts n indices by a strict total order; `room` is as large as `order`
//   log, exp, sqrt, cos, sin   of a double
//
// npzoo/engine/cpu/one_thread.h and npzoo/engine/cuda/block_team.h are such teams. Operations may add functions
// to them.
//
// Included by kernel sources only.

#ifdef __CUDACC__
#define NPZOO_TEAM __device__ inline
#else
#define NPZOO_TEAM inline
#endif
