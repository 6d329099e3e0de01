#include "npzoo/engine/io/checksum.h"

#include "npzoo/engine/io/byte_hash.h"

namespace npzoo {

std::string checksum(const TensorFile& content) {
  ByteHash hash;
  hash.add(std::ssize(content.metadata));
  for (const auto& [key, text] : content.metadata) {
    hash.add(key);
    hash.add(text);
  }
  for (const auto& [name, tensor] : content.tensors) {
    hash.add(name);
    hash.add(static_cast<std::int64_t>(tensor.dtype()));
    hash.add(tensor.rank());
    for (const std::int64_t extent : tensor.shape()) hash.add(extent);
    hash.add(tensor.raw().data(), tensor.bytes());
  }
  return hash.digest();
}

}  // namespace npzoo
