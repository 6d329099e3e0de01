#pragma once

/// Marks what the CPU and kernels on a GPU both call.
#ifdef __CUDACC__
#define NPZOO_DEVICE __host__ __device__
#else
#define NPZOO_DEVICE
#endif
