#include "models/trials/trial.h"

#include <algorithm>

namespace npzoo {

std::string Figure::words() const {
  std::string words = name;
  std::ranges::replace(words, '_', '-');
  return words;
}

}  // namespace npzoo
