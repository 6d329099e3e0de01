// libFuzzer entry: any bytes either load or throw Error.
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    npzoo::parse_safetensors(std::as_bytes(std::span(data, size)));
  } catch (const npzoo::Error&) {
  }
  return 0;
}
