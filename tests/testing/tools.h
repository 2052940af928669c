#ifndef TUNEONCE_TESTS_TESTING_TOOLS_H_
#define TUNEONCE_TESTS_TESTING_TOOLS_H_

#include <memory>

#include "base/environment.h"
#include "base/temporary_folder.h"
#include "compile/toolbox.h"

namespace tuneonce::testing {

/// What a test that has no Runtime compiles with: the tools of this process's environment.
inline std::shared_ptr<const Toolbox> Tools() {
  static const auto* const tools =
      new std::shared_ptr<const Toolbox>(std::make_shared<const Toolbox>(Environment::Read()));
  return *tools;
}

/// The tools of another environment.
inline std::shared_ptr<const Toolbox> ToolsOf(const Environment& environment) {
  return std::make_shared<const Toolbox>(environment);
}

/// A folder in TMPDIR.
inline Result<TemporaryFolder> MakeFolder() { return Tools()->MakeFolder(); }

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_TOOLS_H_
