#include "measuring_arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

#include "console/numbers.h"
#include "console/output.h"
#include "tuneonce/plugin/option_table.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {
namespace {

/// Returns the flag of an option: "--race-budget" for race_budget_ms.
std::string FlagOf(const Option& option) {
  std::string flag(option.name);
  const std::string end = "_ms";
  if (option.unit == "ms") flag.resize(flag.size() - end.size());
  std::replace(flag.begin(), flag.end(), '_', '-');
  return "--" + flag;
}

/// Returns whether a command has a flag for the option: one of searches that the command does not set itself.
bool HasFlag(const Option& option) {
  return option.is_of_search && option.name != "quiet" && option.name != "wall_budget_ms";
}

/// Prints a value as its flag takes it: "10s" for 10000 ms.
std::string FlagText(const Option& option, const OptionValue& value) {
  if (option.unit != "ms") return OptionText(value);
  const double ms = std::holds_alternative<double>(value) ? std::get<double>(value)
                                                          : static_cast<double>(std::get<std::int64_t>(value));
  if (ms == 0) return "0";
  const bool is_whole = std::fmod(ms, 1000) == 0;
  return std::to_string(static_cast<std::int64_t>(is_whole ? ms / 1000 : ms)) + (is_whole ? "s" : "ms");
}

void AddOption(CLI::App* command, const Option& option, const OptionValue& shown, MeasuringArguments* arguments) {
  const std::string name(option.name), flag = FlagOf(option);
  std::string text(option.text);
  if (option.type == Option::Type::kFlag && !std::get<bool>(shown)) {
    command->add_flag_callback(
        flag, [=] { arguments->options[name] = "true"; }, text);
    return;
  }
  text += " Default: " + FlagText(option, shown) + ".";
  auto* added = command->add_option_function<std::string>(
      flag, [=](const std::string& given) { arguments->options[name] = given; }, text);
  added->type_name(option.unit == "ms"                  ? "TIME"
                   : option.type == Option::Type::kFlag ? "BOOL"
                   : !option.words.empty()              ? "TEXT"
                                                        : "NUMBER");
  if (!option.words.empty()) {
    added->check(CLI::IsMember(std::vector<std::string>(option.words.begin(), option.words.end())));
  }
}

/// The defaults of the command.
AutotunePolicy DefaultPolicy() {
  AutotunePolicy policy;
  policy.search.isolation = Isolation::kPreferred;
  return policy;
}

}  // namespace

void AddMeasuringOptions(CLI::App* command, MeasuringArguments* arguments) {
  command
      ->add_option("--device", arguments->device,
                   "cuda, cuda:N, cpu, cpu:N, or auto, which is cuda if there is one, else cpu (default: cuda)")
      ->type_name("DEVICE");
  command->add_option("--timer", arguments->timer, "cupti or events (default: cupti where it can be had)")
      ->check(CLI::IsMember({"cupti", "events"}));
  const AutotunePolicy shown = DefaultPolicy();
  for (const Option& option : tuneonce::Options()) {
    if (HasFlag(option)) AddOption(command, option, option.get(shown), arguments);
  }
  command->add_flag("--json", arguments->json, "Print JSON instead of text");
  command->add_flag("--quiet", arguments->quiet, "No progress line");
}

Result<Device> OpenNamedDevice(const std::string& name) {
  Result<Device> device = OpenDevice(name == "auto" ? "cuda" : name);
  if (name == "auto") {
    const Status no_gpu = device.status();
    if (!device.ok()) device = OpenDevice("cpu");
    if (!device.ok()) return device.status().WithPrefix(no_gpu.message());
    TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, device->Identity());
    PrintNote("--device auto selected " + identity.name +
              (no_gpu.ok() ? "" : ", since " + no_gpu.message().substr(0, no_gpu.message().find(';'))));
    return device;
  }
  bool no_gpu = device.status().code() == StatusCode::kUnavailable && name.compare(0, 4, "cuda") == 0;
  if (!no_gpu) return device;
  return Remedied(device.status(), "--device cpu, the CPU device; tuneonce doctor shows what was looked for");
}

std::unique_ptr<Timer> TimerNamed(const std::string& name) {
  if (name == "cupti") return MakeCuptiTimer();
  if (name == "events") return MakeEventTimer();
  return nullptr;
}

Result<SearchOptions> SearchOptionsOf(const MeasuringArguments& arguments, const std::atomic<bool>& interrupted) {
  RuntimeOptions of_runtime;
  of_runtime.environment = {{"DISABLE_AUTOTUNE", ""}, {"TUNEONCE_RECORD_SHAPES", ""}};
  AutotunePolicy policy = DefaultPolicy();
  for (const auto& [name, text] : arguments.options) {
    const Option& option = *FindOption(name);
    std::string value = text;
    if (option.unit == "ms" && text != "0") {
      TUNEONCE_ASSIGN_OR_RETURN(std::int64_t ms, ParseDurationMs(FlagOf(option), text));
      value = std::to_string(ms);
    }
    TUNEONCE_RETURN_IF_ERROR(SetOptionText(&policy, name, value).WithPrefix(FlagOf(option)));
  }
  SearchOptions search = std::move(policy.search);
  TUNEONCE_ASSIGN_OR_RETURN(search.runtime, Runtime::Create(std::move(of_runtime)));
  search.quiet = arguments.quiet || arguments.json;
  search.stop = &interrupted;
  return search;
}

}  // namespace tuneonce::cli
