#pragma once

#include <functional>
#include <string>
#include <vector>

namespace npzoo {

/// A key of a protocol, as `npzoo help protocol` prints it.
struct DescribedKey {
  std::string name;           // "kernels[].lengthscale": `[]` stands for each table of an array
  std::string type;           // "integer from 2 to 4096"
  std::string meaning;        // one line, with the unit
  std::string default_value{};  // empty: none
  bool optional = false;
  std::string condition{};  // "targets = all", "no end"; empty: `read` always asks for the key
};

/// Returns the keys that `read` asks its readers for, in the order of the questions. While `read` runs, every
/// TomlReader and ConfigReader that this thread makes answers with an example instead of what a file holds. `read` runs
/// again for each other answer that might lead to other keys: another word of a choice, or a missing key.
///
///     described_keys([] { TomlReader reader("", ""); read_training(reader.table("training", "updates of weights"));
///     });
std::vector<DescribedKey> described_keys(const std::function<void()>& read);

}  // namespace npzoo
