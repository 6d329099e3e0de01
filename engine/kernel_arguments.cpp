#include "npzoo/engine/kernel_arguments.h"

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constinit thread_local const KernelArguments* innermost = nullptr;

}  // namespace

KernelArguments::KernelArguments(const char* operation, Device device)
    : operation_(operation), device_(device), outer_(innermost) {
  innermost = this;
}

KernelArguments::~KernelArguments() { innermost = outer_; }

bool KernelArguments::gathered() { return innermost != nullptr; }

void KernelArguments::check_device(Device device) {
  check(device == innermost->device_, "[{}] arguments are on cpu and cuda, expected one device", innermost->operation_);
}

}  // namespace npzoo
