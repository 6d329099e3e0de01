#include "npzoo/models/trials/trial.h"

#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo {

std::string Figure::words() const {
  std::string words = name;
  std::ranges::replace(words, '_', '-');
  return words;
}

void Trial::check_rules(const ModelConfig& rules) const { ConfigReader(rules, "evaluation.rules").finish(); }

const Trial& find_trial(const std::string& name) {
  const auto found = std::ranges::find(built_in_trials(), name, &TrialInfo::name);
  if (found != built_in_trials().end()) return found->trial();
  std::string names;
  for (const TrialInfo& info : built_in_trials()) names += (names.empty() ? "" : ", ") + std::string(info.name);
  fail("[trials] there is no trial '{}'; expected one of {}", name, names);
}

}  // namespace npzoo
