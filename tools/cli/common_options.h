#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/protocol.h"
#include "tools/cli/flags.h"

namespace npzoo::tools {

/// Flags that mean the same in every command.
struct CommonOptions {
  std::string device = "cpu";
  std::string precision = "float32";
  int threads = 0;  // 0: one per core
  bool json = false;
};

void add_flags(Flags& flags, CommonOptions& common);

/// --checkpoint. If it may be left out, `otherwise` says what answers then.
Flag add_optional_checkpoint(Flags& flags, std::string& checkpoint, const std::string& otherwise = {});
void add_checkpoint(Flags& flags, std::string& checkpoint);

/// --data, for commands that draw tasks.
void add_data(Flags& flags, std::string& data);

/// A protocol as a command line names it, and what it changes.
struct ProtocolOptions {
  std::string name;  // or path
  std::vector<std::string> changes;

  bool given() const { return !name.empty() || !changes.empty(); }
};

/// `flag`, "--protocol" or a word without a name, and --set.
Flag add_flags(Flags& flags, ProtocolOptions& protocol, const std::string& help, const char* flag = "--protocol");

using npzoo::load_protocol;
/// Loads the protocol that is named, with its changes.
Protocol load_protocol(const ProtocolOptions& options);
/// The same; without a name the changes are made to `own`.
Protocol load_protocol(const ProtocolOptions& options, const Protocol& own);

/// Applies device, precision and threads. Throws Error if one is not available.
void apply(const CommonOptions& common);

}  // namespace npzoo::tools
