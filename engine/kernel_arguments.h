#pragma once

#include "npzoo/engine/device.h"

namespace npzoo {

/// While alive, the calling thread gathers the arguments of one operation's kernels: Tensor::data gives addresses on
/// `device` and throws Error for tensors elsewhere. So no operation can hand a kernel an address that it cannot reach.
class KernelArguments {
 public:
  KernelArguments(const char* operation, Device device);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;
  ~KernelArguments();

  /// Returns whether the calling thread gathers arguments.
  static bool gathered();
  /// Throws Error, opened by the operation, unless `device` is the one of the arguments that are gathered.
  static void check_device(Device device);

 private:
  const char* operation_;
  Device device_;
  const KernelArguments* outer_;
};

}  // namespace npzoo
