#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace npzoo {

/// How CUDA devices multiply matrices of float32. The short forms round the factors to 11 and 8 significant bits, sum
/// in float32 and are several times as fast; nothing but the user chooses them. The CPU knows float32 alone.
enum class Precision : std::uint8_t { float32, tf32, bf16 };

std::string_view to_string(Precision precision);
/// Throws Error for another name than "float32", "tf32" and "bf16".
Precision parse_precision(std::string_view name);

/// Returns the precision of the calling thread's innermost PrecisionScope, else that of the process: float32, unless
/// set_matmul_precision chose another. Both functions can be called from any thread. A Trainer keeps the precision that
/// it was made with; other operations that run during a change may use either precision.
Precision matmul_precision();
void set_matmul_precision(Precision precision);

/// While alive, the calling thread and the workers that help with its loops have this precision.
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;
  ~PrecisionScope();

 private:
  std::optional<Precision> outer_;
};

}  // namespace npzoo
