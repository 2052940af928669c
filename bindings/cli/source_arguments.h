#ifndef TUNEONCE_BINDINGS_CLI_SOURCE_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_SOURCE_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "numbers.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce::cli {

/// Reads arguments such as "occupancy=4" as hints. Errors: InvalidArgument for one that is not NAME=NUMBER, or occurs
/// twice.
inline Result<HintValues> ParseHints(const std::vector<std::string>& arguments) {
  TUNEONCE_ASSIGN_OR_RETURN(auto numbers, ParseIntegers(arguments, "hint"));
  return HintValues(numbers.begin(), numbers.end());
}

/// Reads the name of a GPU target.
inline Result<Target> ParseGpuTarget(const std::string& name) {
  Result<Target> target = Target::Named(name);
  if (target.ok() && !target->is_cpu_device) return target;
  return InvalidArgumentError("target '" + name + "' is unknown: use a name such as sm_90");
}

/// A kernel's source as options of a command name it: a .tileir, .ptx or .cu file, and what a C++ compiler takes.
class SourceArguments {
 public:
  /// Adds FILE, --tile, --symbol, -D, -I and --std to `command`. This object must live until the command has run.
  void AddTo(CLI::App* command);

  /// Reads the file. Errors: InvalidArgument for another kind of file, or for an option of .cu files with another file;
  /// NotFound for a file or a folder that does not exist.
  Result<KernelSource> Read() const;

  /// Errors: InvalidArgument where an option of .cu files was given; for a file that is not one.
  Status CheckCppOptions() const;

  const std::string& file() const { return file_; }
  /// True for a .cu file.
  bool IsCpp() const;

 private:
  std::string file_;
  std::string symbol_;
  std::vector<std::string> defines_;
  std::vector<std::string> folders_;
  std::string standard_;
  bool is_tile_ = false;
};

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_SOURCE_ARGUMENTS_H_
