#ifndef TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>
#include <string>

#include "tuneonce/device.h"
#include "tuneonce/search_options.h"
#include "tuneonce/timer.h"

namespace tuneonce::cli {

/// What commands that measure are told of how: as `tune` has it.
struct MeasuringArguments {
  std::string device = "cuda";
  std::string timer;
  std::string isolation = "preferred";
  std::string candidate_deadline;
  bool all_configs = false;
  bool warm = false;
  bool json = false;
  bool quiet = false;
};

/// Adds these options to a command. `arguments` outlives it.
void AddMeasuringOptions(CLI::App* command, MeasuringArguments* arguments);

/// "auto": the first CUDA device, else the CPU device; says which. Errors: the device's, with what to do.
Result<Device> OpenNamedDevice(const std::string& name);

/// The timer that is named; null for the usual one.
std::unique_ptr<Timer> TimerNamed(const std::string& name);

/// What they mean for a search that `interrupted` ends, in a Runtime of its own, which tunes whatever the environment
/// says and records no shapes; but for the timer. Errors: InvalidArgument for a time that is none.
Result<SearchOptions> SearchOptionsOf(const MeasuringArguments& arguments, const std::atomic<bool>& interrupted);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_
