#include "npzoo/engine/io/json_lines.h"

#include <fcntl.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/json.h"

namespace npzoo {

using nlohmann::json;

JsonLinesWriter::JsonLinesWriter(const std::filesystem::path& path)
    : name_(path.string()), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  const int code = errno;
  check(file_.is_open(), "[{}] cannot open: {}", name_, std::generic_category().message(code));
}

void JsonLinesWriter::append(const json& object) {
  check(object.is_object(), "[{}] got a JSON {}, expected an object", name_, object.type_name());
  const std::string line = object.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
  write_all(file_, std::as_bytes(std::span(line)), name_);
}

void truncate_after(const std::filesystem::path& path, std::string_view key, std::int64_t last) {
  if (!path_exists(path)) return;
  ReadOnlyFile source(path);
  const auto size = static_cast<std::size_t>(source.size());
  const std::string text = read_text(path, size);
  AtomicFile kept(path);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::int64_t number = 1; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1, ++number) {
    const std::string_view line(text.data() + begin, end + 1 - begin);
    const json object = parse_json_or_discard(line);
    check(object.is_object(), "[{}:{}] is not a JSON object", path.string(), number);
    const auto found = object.find(key);
    const bool later = found != object.end() && found->is_number() && found->get<double>() > static_cast<double>(last);
    if (!later) kept.write(line);
  }
  kept.commit();
}

}  // namespace npzoo
