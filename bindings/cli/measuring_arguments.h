#ifndef TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_
#define TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_

#include <CLI/CLI.hpp>
#include <atomic>
#include <map>
#include <memory>
#include <string>

#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/timer.h"

namespace tuneonce::cli {

/// The options of `tune` and other commands that measure.
struct MeasuringArguments {
  std::string device = "cuda";
  std::string timer;
  std::map<std::string, std::string> options;  ///< The given texts of the library's options (Option), by their names.
  bool json = false;
  bool quiet = false;
};

/// Adds these options to a command. The library's table has those of searches: --max-rounds sets max_rounds. Of one in
/// milliseconds the flag has no unit, and its value has one: --race-budget 10s. `arguments` outlives the command.
void AddMeasuringOptions(CLI::App* command, MeasuringArguments* arguments);

/// Opens a device. "auto" is the first CUDA device, else the CPU device, and prints which. Errors: the device's, with
/// what to do.
Result<Device> OpenNamedDevice(const std::string& name);

/// The timer that is named; null for the usual one.
std::unique_ptr<Timer> TimerNamed(const std::string& name);

/// Returns the search options for these arguments, except the timer. The search ends when `interrupted` is set. It uses
/// its own Runtime, which tunes even if the environment disables tuning, and records no shapes. Errors: InvalidArgument
/// for an invalid time.
Result<SearchOptions> SearchOptionsOf(const MeasuringArguments& arguments, const std::atomic<bool>& interrupted);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_MEASURING_ARGUMENTS_H_
