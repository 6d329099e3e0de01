/// A library that the CUDA driver loads into any program (CUDA_INJECTION64_PATH), to write down when each kernel ran:
/// lines "begin end blocks threads name" in the file NPZOO_GPU_TRACE, times in ns. perf/gpu_kernels.py reads them.

#include <cupti.h>
#include <cxxabi.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::FILE* output = nullptr;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *size = 8 << 20;
  *buffer = static_cast<std::uint8_t*>(std::malloc(*size));
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI write_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& k = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    int status = 0;
    char* const name = abi::__cxa_demangle(k.name, nullptr, nullptr, &status);
    std::fprintf(output, "%" PRIu64 " %" PRIu64 " %lld %lld %s\n", k.start, k.end,
                 static_cast<long long>(k.gridX) * k.gridY * k.gridZ,
                 static_cast<long long>(k.blockX) * k.blockY * k.blockZ, status == 0 ? name : k.name);
    std::free(name);
  }
  std::free(buffer);
}

void finish() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::fclose(output);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char* const path = std::getenv("NPZOO_GPU_TRACE");
  output = path ? std::fopen(path, "w") : nullptr;
  if (!output) return 0;
  cuptiActivityRegisterCallbacks(give_buffer, write_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::atexit(finish);
  return 1;
}
