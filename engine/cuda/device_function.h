#pragma once

/// Marks functions that both the CPU and kernels on a GPU call.
#ifdef __CUDACC__
#define NPZOO_DEVICE __host__ __device__
#else
#define NPZOO_DEVICE
#endif
