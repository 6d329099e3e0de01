// libFuzzer entry: any text is either a protocol, and the same one when it is read again, or an Error.
#include <cstdlib>

#include "datasets/gp/sampler.h"
#include "datasets/protocol.h"
#include "engine/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const npzoo::Protocol p = npzoo::parse_protocol({reinterpret_cast<const char*>(data), size}, "input");
    const npzoo::Protocol again = npzoo::parse_protocol(p.text, "input");
    if (p.data != again.data || p.training != again.training || p.validation != again.validation) std::abort();
    npzoo::GpSampler(p.data, p.training.batch_size, 0, npzoo::Split::training);
  } catch (const npzoo::Error&) {
  }
  return 0;
}
