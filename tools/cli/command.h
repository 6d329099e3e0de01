#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace npzoo::tools {

class Flags;

/// One call of a command.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// Declares the flags, which are read into this object.
  virtual void add_flags(Flags& flags) = 0;
  /// Returns the exit status. Throws Error with the one line that is then printed.
  virtual int run() const = 0;
};

/// How many processes of an MPI launcher a command can be: several share its work.
enum class Processes : bool { one, several };

/// The heading of a command in `npzoo --help`.
enum class CommandGroup : std::uint8_t { predict, train, look_up, check };

/// Description of a command, defined in its own file.
struct CommandInfo {
  const char* what;                    // a sentence, for --help
  std::unique_ptr<Command> (*make)();  // none if commands of its own follow its name
  CommandGroup group = CommandGroup::check;
  const char* example = "";  // a call, for --help
  Processes processes = Processes::one;
};

/// A command of plain variables, what its flags are, and what it does.
template <class Options, void (*add_flags_to)(Flags&, Options&), int (*run_with)(const Options&)>
constexpr CommandInfo command(const char* what, CommandGroup group = CommandGroup::check, const char* example = "",
                              Processes processes = Processes::one) {
  class Plain final : public Command {
   public:
    void add_flags(Flags& flags) override { add_flags_to(flags, options_); }
    int run() const override { return run_with(options_); }

   private:
    Options options_;
  };
  return {what, []() -> std::unique_ptr<Command> { return std::make_unique<Plain>(); }, group, example, processes};
}

/// A command by the name that it is called by, "train" or "bench forward".
struct NamedCommand {
  const char* name;
  const CommandInfo* info;
};

/// All commands in the order of --help; `bench` stands before its own. Made of the words in tools/meson.build.
std::span<const NamedCommand> commands();

}  // namespace npzoo::tools
