#include "npzoo/datasets/own_data.h"

#include "npzoo/engine/error.h"

namespace npzoo {

template <class T>
const T& own_data_as(const OwnData& own, const char* expected) {
  const T* data = std::get_if<T>(&own.data);
  check(data != nullptr, "[own] {} found, expected {}: the protocol is for other data", path_of(own).string(),
        expected);
  return *data;
}

template const OwnTable& own_data_as(const OwnData&, const char*);
template const OwnSeries& own_data_as(const OwnData&, const char*);
template const OwnEvents& own_data_as(const OwnData&, const char*);
template const OwnPictures& own_data_as(const OwnData&, const char*);

const std::filesystem::path& path_of(const OwnData& own) {
  return std::visit([](const auto& data) -> const std::filesystem::path& { return data.path; }, own.data);
}

}  // namespace npzoo
