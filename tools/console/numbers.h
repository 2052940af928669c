#ifndef TUNEONCE_TOOLS_CONSOLE_NUMBERS_H_
#define TUNEONCE_TOOLS_CONSOLE_NUMBERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tuneonce/device.h"
#include "tuneonce/kernel_source.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The value of an option that takes a number from 1 on. Errors: InvalidArgument, naming the option.
Result<int> ParseCount(const std::string& option, const std::string& text);

/// "90s", "10m", "1h30m" or "250ms" in milliseconds. Errors: InvalidArgument, naming the option.
Result<std::int64_t> ParseDurationMs(const std::string& option, const std::string& text);

/// Returns "NAME=VALUE" settings by name. Errors: InvalidArgument for a setting of another form, or a repeated name.
/// `what` appears in the message: "hint", as in "'x' is not a hint: write NAME=NUMBER".
Result<std::map<std::string, std::string>> ParseSettings(const std::vector<std::string>& settings,
                                                         const std::string& what);

/// Returns "NAME=NUMBER" settings by name. `what` and errors are those of ParseSettings.
Result<std::map<std::string, std::int64_t>> ParseIntegers(const std::vector<std::string>& settings,
                                                          const std::string& what);

/// Reads arguments such as "occupancy=4" as hints. Errors: InvalidArgument for one that is not NAME=NUMBER, or occurs
/// twice.
Result<HintValues> ParseHints(const std::vector<std::string>& arguments);

/// Reads the name of a GPU target. Errors: InvalidArgument.
Result<Target> ParseGpuTarget(const std::string& name);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_CONSOLE_NUMBERS_H_
