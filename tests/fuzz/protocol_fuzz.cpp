// libFuzzer entry: any text is either a protocol, and the same one when it is read again, or an Error.
#include <cstdlib>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const npzoo::Protocol p = npzoo::parse_protocol({reinterpret_cast<const char*>(data), size}, "input");
    const npzoo::Protocol again = npzoo::parse_protocol(p.text, "input");
    if (!npzoo::same_data(p, again) || p.training != again.training || p.validation != again.validation) std::abort();
    p.data->source({.batch_size = p.training.batch_size});
  } catch (const npzoo::Error&) {
  }
  return 0;
}
