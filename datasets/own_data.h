#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace npzoo {

/// A table whose groups, or windows of them, are tasks.
struct OwnTable {
  std::filesystem::path path;
  std::string group;                        // the column whose values are the groups; empty: blocks of rows
  std::vector<std::string> inputs, values;  // columns
};

/// A table whose rows follow each other in time: tasks are to forecast it.
struct OwnSeries {
  std::filesystem::path path;
  std::string time;                       // the column of dates, or of numbers
  std::vector<std::string> values;        // columns
  std::int64_t context = 0, horizon = 0;  // steps
};

/// A table of events, one row an event: tasks are to tell the next ones.
struct OwnEvents {
  std::filesystem::path path;
  std::string sequence;  // the column that names the sequence of an event; empty: all rows are one sequence
  std::string time;      // the column of dates, or of numbers, which ascend in a sequence
  std::string mark;      // the column of the kind of an event; empty: all are of one kind
};

/// A folder, or a tar or zip archive, of PNG and JPEG files.
struct OwnPictures {
  std::filesystem::path path;
  std::int64_t height = 0, width = 0;  // that pictures are brought to
  bool stretched = false;              // shows all of a picture; otherwise its largest centred part of the right shape
  bool grey = false;                   // without colours
  bool skip_damaged = false;           // leaves out files that cannot be decoded
};

/// Data of the user's own.
struct OwnData {
  std::variant<OwnTable, OwnSeries, OwnEvents, OwnPictures> data;
};

/// Tasks on such data.
struct OwnTasks {
  std::string data;                    // lines of TOML: the keys of `[data]` that depend on the user's data
  std::vector<std::string> skipped{};  // messages, one for each file that was left out
};

/// The data as `T`. Throws Error if tasks that are made of `expected` ("a table") are given something else.
template <class T>
const T& own_data_as(const OwnData& own, const char* expected);

/// The file or folder of the data.
const std::filesystem::path& path_of(const OwnData& own);

}  // namespace npzoo
