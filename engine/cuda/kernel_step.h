#pragma once

// Steps of a long kernel as functions of their own. Included by kernel sources only.

#ifdef __CUDACC__
/// Marks a function that is not inlined: its registers are free again when it returns, and the compiler keeps nothing
/// of other functions in them.
#define NPZOO_KERNEL_STEP __device__ __noinline__
/// Marks an argument of a kernel that such functions read by reference, in place of a copy in each thread.
#define NPZOO_KERNEL_ARGUMENT const __grid_constant__
#else
#define NPZOO_KERNEL_STEP
#define NPZOO_KERNEL_ARGUMENT const
#endif
