#include "tools/cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo::tools {

namespace {

struct TypeName {
  FlagType type;
  const char* name;
};
constexpr TypeName kTypeNames[] = {{FlagType::text, "TEXT"},        {FlagType::whole, "INT"},
                                   {FlagType::number, "FLOAT"},     {FlagType::bytes, "BYTES"},
                                   {FlagType::texts, "TEXT,..."},   {FlagType::wholes, "INT,..."},
                                   {FlagType::numbers, "COUNT,..."}};

constexpr const char* kCommon = "Options of every command";

const auto kAll = [](const CLI::App*) { return true; };

}  // namespace

Flag Flag::required() {
  option_->required();
  return *this;
}

Flag Flag::excludes(const Flag& other) {
  option_->excludes(other.option_);
  return *this;
}

Flag Flag::common() {
  option_->group(kCommon);
  return *this;
}

bool Flag::is_common() const { return option_->get_group() == kCommon; }

Flag Flag::not_in_files() {
  option_->configurable(false);
  return *this;
}

std::string Flag::name() const { return is_word() ? option_->get_name() : option_->get_lnames()[0]; }

FlagType Flag::type() const {
  if (option_->get_items_expected_max() == 0) return FlagType::flag;
  if (repeats()) return FlagType::texts;
  const auto found = std::ranges::find(kTypeNames, option_->get_type_name(), &TypeName::name);
  return found != std::end(kTypeNames) ? found->type : FlagType::text;
}

bool Flag::repeats() const { return option_->get_expected_max() > 1; }
bool Flag::is_list() const {
  const FlagType of = type();
  return !repeats() && (of == FlagType::texts || of == FlagType::wholes || of == FlagType::numbers);
}
bool Flag::is_word() const { return option_->get_lnames().empty(); }
bool Flag::in_files() const { return option_->get_configurable(); }
bool Flag::needed() const { return option_->get_required(); }
std::string Flag::help() const { return option_->get_description(); }
std::string Flag::value_name() const { return type() == FlagType::flag ? std::string() : option_->get_type_name(); }
std::string Flag::shown_default() const { return option_->get_default_str(); }

// CLI11 keeps further data of an option in validators alone. This one accepts all values and is not shown.
Flag Flag::with_choices(const std::vector<std::string>& choices) {
  option_->check(CLI::Validator([](std::string&) { return std::string(); }, std::string(),
                                fmt::format("{}", fmt::join(choices, ","))));
  return *this;
}

std::vector<std::string> Flag::choices() const {
  try {
    return parse_list(option_->get_validator(0)->get_name());
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

bool Flag::given() const { return !option_->empty(); }

void Flag::set(std::vector<std::string> values) {
  try {
    option_->add_result(std::move(values));
    option_->run_callback();
  } catch (const CLI::ParseError& e) {
    const std::string_view message = e.what(), name = ": ";  // "--steps: …", but a file has keys
    fail("{}", message.substr(std::min(message.find(name) + name.size(), message.size())));
  }
}

Flag Flags::add_value(const std::string& name, const std::string& help, Value value) {
  const auto read = [name, value](const CLI::results_t& texts) {
    try {
      if (value.clear) value.clear();
      for (const std::string& text : texts)
        for (const std::string& part : value.clear ? parse_list(text) : std::vector{text}) value.set(part);
    } catch (const Error& e) {
      throw CLI::ValidationError(name, e.what());
    }
    return true;
  };
  const std::string shown = value.shown;
  CLI::Option* option = app_->add_option(name, read, help, !shown.empty(), [shown] { return shown; });
  if (value.clear) option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // a list may be given in parts
  return Flag(*option->type_name(std::ranges::find(kTypeNames, value.type, &TypeName::type)->name));
}

Flag Flags::toggle(const std::string& name, bool& value, const std::string& help) {
  return Flag(*app_->add_flag(name, value, help)->disable_flag_override());
}

Flag Flags::repeated(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  const auto read = [name, &value](const CLI::results_t& texts) {
    try {
      value.clear();
      for (const std::string& text : texts) value.push_back(parse_text(text));
    } catch (const Error& e) {
      throw CLI::ValidationError(name, e.what());
    }
    return true;
  };
  constexpr int kMost = 1000;
  return Flag(*app_->add_option(name, read, help)
                   ->expected(1, kMost)
                   ->allow_extra_args(false)
                   ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
                   ->type_name("TEXT"));
}

Flag Flags::words(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  return Flag(*app_->add_option(name, value, help));
}

Flag Flags::call(const std::string& name, const std::function<void(const std::string&)>& read,
                 const std::string& help) {
  return add_value(name, help,
                   {.type = FlagType::text, .set = [read](const std::string& text) { read(parse_text(text)); }});
}

void Flags::check_together(const std::function<void()>& check) {
  app_->callback([check] {
    try {
      check();
    } catch (const Error& e) {
      throw CLI::ValidationError(e.what());
    }
  });
}

std::string Flags::command() const { return app_->get_name(); }
std::string Flags::what() const { return app_->get_description(); }

std::string Flags::example() const {
  const std::string footer = app_->get_footer();
  return footer.substr(std::min(footer.find("npzoo"), footer.size()));
}

std::vector<Flags> Flags::commands() const {
  std::vector<Flags> found;
  for (CLI::App* command : app_->get_subcommands(kAll)) found.emplace_back(*command);
  return found;
}

std::optional<Flags> Flags::chosen() const {
  const std::vector<CLI::App*> parsed = app_->get_subcommands();
  return parsed.empty() ? std::nullopt : std::optional(Flags(*parsed.front()));
}

std::vector<Flag> Flags::all() const {
  std::vector<Flag> flags;
  for (CLI::Option* option : app_->get_options()) flags.emplace_back(*option);
  return flags;
}

}  // namespace npzoo::tools
