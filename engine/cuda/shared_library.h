#pragma once

#include <string>

namespace npzoo {

/// A shared library that is loaded when it is needed, and stays.
class SharedLibrary {
 public:
  /// Looks for the file `name` where the system's loader does, then in `folder`. Throws Error telling both.
  SharedLibrary(const std::string& name, const std::string& folder);

  /// A function of type `*F`. Throws Error where the library has none of that name.
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string name_;
  void* handle_;
};

}  // namespace npzoo
