#pragma once

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>

// The functions of CUDA's runtime that nvidia_runtime.cpp calls, on host memory. Work is done at once, but events pass
// when a test says so. Included by one source.

namespace npzoo::fake_cuda {

/// State of the fake device that tests set and inspect.
struct Machine {
  int devices = 2, driver = 13000;
  bool events_pass = false;
  cudaError_t attribute_status = cudaSuccess;
  int waits = 0, recorded = 0, attribute_bytes = 0;
  bool capturing = false;
  int graphs = 0;
};

inline Machine machine;
inline thread_local int device = 0;       // as CUDA has it: one for each thread
inline thread_local int device_sets = 0;  // calls of this thread

inline cudaError_t GetLastError() { return cudaSuccess; }
inline const char* GetErrorString(cudaError_t status) { return status == cudaSuccess ? "no error" : "an error"; }
inline const char* GetErrorName(cudaError_t status) {
  return status == cudaErrorInvalidValue ? "cudaErrorInvalidValue" : "another";
}
inline cudaError_t GetDeviceCount(int* count) {
  *count = machine.devices;
  return machine.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
inline cudaError_t GetDeviceProperties(cudaDeviceProp* properties, int index) {
  *properties = {};
  std::strcpy(properties->name, index == 0 ? "first" : "second");
  properties->multiProcessorCount = 10 + index;
  properties->sharedMemPerBlockOptin = 99 << 10;
  return cudaSuccess;
}
inline cudaError_t DriverGetVersion(int* version) {
  *version = machine.driver;
  return cudaSuccess;
}
inline cudaError_t RuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
inline cudaError_t SetDevice(int index) {
  ++device_sets;
  device = index;
  return cudaSuccess;
}
inline cudaError_t MemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = 1000;
  return cudaSuccess;
}

/// Memory lies on the device of the thread that asked for it.
inline std::set<std::pair<void*, int>> memory;
inline cudaError_t Malloc(void** to, std::size_t bytes) {
  if (bytes > std::size_t{1} << 40) return cudaErrorMemoryAllocation;
  *to = std::malloc(bytes);
  memory.emplace(*to, device);
  return cudaSuccess;
}
inline cudaError_t MallocManaged(void** to, std::size_t bytes) { return Malloc(to, bytes); }
inline cudaError_t MallocHost(void** to, std::size_t bytes) { return Malloc(to, bytes); }
inline cudaError_t Free(void* from) {
  std::erase_if(memory, [from](const auto& block) { return block.first == from; });
  std::free(from);
  return cudaSuccess;
}
inline cudaError_t FreeHost(void* from) { return Free(from); }
inline cudaError_t MemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
inline cudaError_t MemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

inline cudaError_t StreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
inline cudaError_t StreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t EventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
inline cudaError_t EventRecord(cudaEvent_t, cudaStream_t) {
  ++machine.recorded;
  return cudaSuccess;
}
inline cudaError_t EventSynchronize(cudaEvent_t) {
  ++machine.waits;
  return cudaSuccess;
}
inline cudaError_t EventQuery(cudaEvent_t) { return machine.events_pass ? cudaSuccess : cudaErrorNotReady; }

inline cudaError_t StreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  machine.capturing = true;
  return cudaSuccess;
}
inline cudaError_t StreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  machine.capturing = false;
  ++machine.graphs;
  *graph = reinterpret_cast<cudaGraph_t>(&machine);
  return cudaSuccess;
}
inline cudaError_t GraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long) { return cudaSuccess; }
inline cudaError_t GraphDestroy(cudaGraph_t) {
  --machine.graphs;
  return cudaSuccess;
}
inline cudaError_t GraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
inline cudaError_t GraphLaunch(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t FuncSetAttribute(const void*, cudaFuncAttribute, int bytes) {
  machine.attribute_bytes = bytes;
  return machine.attribute_status;
}

}  // namespace npzoo::fake_cuda
