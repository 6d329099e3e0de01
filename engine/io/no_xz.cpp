#include "npzoo/engine/error.h"
#include "npzoo/engine/io/decoder.h"

namespace npzoo {

std::unique_ptr<Decoder> xz_decoder(const std::string& name) {
  fail(
      "[{}] is compressed by xz, which this build of npzoo cannot read: decompress it first (xz -d), or build npzoo "
      "with -Dxz=enabled, which needs liblzma",
      name);
}

}  // namespace npzoo
