#ifndef TUNEONCE_TESTS_CLI_RUN_CLI_H_
#define TUNEONCE_TESTS_CLI_RUN_CLI_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/process.h"

namespace tuneonce {

/// Runs a program with these arguments in this process's environment, but for `extra`.
inline ProcessResult Run(std::vector<std::string> arguments, const std::string& extra = "A=B") {
  ProcessOptions options;
  options.arguments = std::move(arguments);
  options.environment = {"PATH=" + Environment::Read().path, extra};
  for (const std::string name : {"ASAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name.c_str())) options.environment.push_back(name + "=" + value);
  }
  options.max_output_bytes = 1 << 20;
  Result<ProcessResult> result = RunProcess(options);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  return result.ok() ? *result : ProcessResult{-1, ""};
}
inline ProcessResult RunCli(std::vector<std::string> arguments, const std::string& extra = "A=B") {
  arguments.insert(arguments.begin(), TUNEONCE_CLI);
  return Run(std::move(arguments), extra);
}

/// One line of cause, and maybe one of what to do.
inline void ExpectOneLine(const ProcessResult& result, const std::string& part) {
  EXPECT_NE(result.exit_code, 0) << part;
  EXPECT_LT(result.exit_code, 128) << "no crash: " << result.output;
  EXPECT_EQ(result.output.rfind("tuneonce: ", 0), 0u) << result.output;
  const std::size_t end = result.output.find('\n');
  const std::string remedy = end == std::string::npos ? "" : result.output.substr(end + 1);
  EXPECT_NE(end, std::string::npos) << result.output;
  EXPECT_TRUE(remedy.empty() || remedy.rfind("  try: ", 0) == 0) << result.output;
  EXPECT_LE(std::count(remedy.begin(), remedy.end(), '\n'), 1) << result.output;
  EXPECT_NE(result.output.find(part), std::string::npos) << result.output;
}

inline void ExpectOneLineError(const std::vector<std::string>& arguments, const std::string& part,
                               const std::string& extra = "A=B") {
  ExpectOneLine(RunCli(arguments, extra), part);
}

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_CLI_RUN_CLI_H_
