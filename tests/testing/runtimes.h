#ifndef TUNEONCE_TESTS_TESTING_RUNTIMES_H_
#define TUNEONCE_TESTS_TESTING_RUNTIMES_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "testing/expect_status.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce::testing {

/// A Runtime that must be possible.
inline std::shared_ptr<Runtime> MakeRuntime(RuntimeOptions options) {
  Result<std::shared_ptr<Runtime>> runtime = Runtime::Create(std::move(options));
  EXPECT_OK(runtime);
  return runtime.ok() ? *std::move(runtime) : Runtime::Default();
}

/// One in which these variables count in place of the process's.
inline std::shared_ptr<Runtime> RuntimeIn(std::map<std::string, std::string> environment) {
  RuntimeOptions options;
  options.environment = std::move(environment);
  return MakeRuntime(std::move(options));
}

/// One whose only compiler is this. `compile_workers`: RuntimeOptions::compile_workers.
inline std::shared_ptr<Runtime> RuntimeWith(std::shared_ptr<const Toolchain> toolchain, int compile_workers = 0) {
  RuntimeOptions options;
  options.compile_workers = compile_workers;
  options.toolchains =
      std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{std::move(toolchain)});
  return MakeRuntime(std::move(options));
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_RUNTIMES_H_
