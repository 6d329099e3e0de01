#include "npzoo/engine/error.h"
#include "npzoo/engine/io/decoder.h"

namespace npzoo {

std::unique_ptr<Decoder> gzip_decoder(const std::string& name) {
  fail(
      "[{}] is compressed by gzip, which this build of npzoo cannot read: decompress it first (gzip -d), or build "
      "npzoo "
      "with -Dgzip=enabled, which needs zlib",
      name);
}

}  // namespace npzoo
