#include "base/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The variables of `instead`, else the process's. Remembers the names that were read and the mistakes in them.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& instead) : instead_(instead) {}

  std::string Get(const std::string& name) {
    asked_.insert(name);
    if (auto it = instead_.find(name); it != instead_.end()) return it->second;
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::string() : std::string(value);
  }

  std::string GetEither(const char* first, const char* second) {
    std::string value = Get(first);
    std::string other = Get(second);  // Also where the first is set: both are known names.
    // A given variable overrides the process's, whichever of its two names the process uses.
    if (instead_.count(second) > 0 && instead_.count(first) == 0) return other;
    return value.empty() ? other : value;
  }

  /// Sets `*number` if the variable is a number within the bounds. Otherwise an invalid value in the process's
  /// environment, which other programs share, is a warning, and an invalid given value is an error.
  void GetNumber(const std::string& name, std::int64_t least, std::int64_t most, std::int64_t* number) {
    std::string text = Get(name);
    std::int64_t value = 0;
    if (text.empty()) return;
    if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) {
      *number = value;
    } else {
      NoteMistake(name, absl::StrCat(name, " is '", text, "': it must be a number from ", least, " to ", most));
    }
  }

  /// Returns one of several words. The first one is the default.
  std::string GetWord(const std::string& name, const std::vector<std::string>& words) {
    std::string text = Get(name);
    if (text.empty() || std::find(words.begin(), words.end(), text) != words.end()) {
      return text.empty() ? words.front() : text;
    }
    NoteMistake(name, absl::StrCat(name, " is '", text, "': it must be one of: ", absl::StrJoin(words, ", ")));
    return words.front();
  }

  /// Returns the switch, 0 or 1, that one of two variables sets.
  bool GetSwitch(const char* first, const char* second, bool otherwise) {
    const std::string text = GetEither(first, second);
    if (text == "0" || text == "1") return text == "1";
    const char* name = Get(first) == text ? first : second;
    if (!text.empty()) NoteMistake(name, absl::StrCat(name, " is '", text, "': it must be 0 or 1"));
    return otherwise;
  }

  /// "NAME=value" of all whose name `is_wanted`, by name.
  template <typename Predicate>
  std::vector<std::string> All(const Predicate& is_wanted) const {
    std::map<std::string, std::string> wanted;
    auto add = [&](std::string_view name, std::string_view value) {
      if (is_wanted(name)) wanted.emplace(name, value);  // The first stays.
    };
    for (const auto& [name, value] : instead_) add(name, value);
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      const std::size_t end = text.find('=');
      if (end != std::string_view::npos) add(text.substr(0, end), text.substr(end + 1));
    }
    std::vector<std::string> all;
    for (const auto& [name, value] : wanted) {
      if (!value.empty()) all.push_back(absl::StrCat(name, "=", value));
    }
    return all;
  }

  Status Check() const {
    for (const auto& [name, value] : instead_) {
      if (asked_.count(name) == 0) return InvalidArgumentError(NotRead(name));
    }
    return error_;
  }

  /// Returns likely mistakes in the process's own variables, one line each: an unknown name "TUNEONCE_...", or an
  /// invalid value.
  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings = warnings_;
    constexpr std::string_view kOurs = "TUNEONCE_";
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      std::string_view text = *variable;
      const std::string name(text.substr(0, text.find('=')));
      if (name.compare(0, kOurs.size(), kOurs) == 0 && asked_.count(name) == 0) warnings.push_back(NotRead(name));
    }
    return warnings;
  }

 private:
  static std::string NotRead(const std::string& name) {
    return absl::StrCat("'", name, "' is not a variable that this library reads; docs/reference.md lists them");
  }

  void NoteMistake(const std::string& name, std::string what) {
    if (instead_.count(name) == 0) {
      warnings_.push_back(what + "; the default is used");
    } else if (error_.ok()) {
      error_ = InvalidArgumentError(std::move(what));
    }
  }

  const std::map<std::string, std::string>& instead_;
  std::set<std::string> asked_;
  Status error_;
  std::vector<std::string> warnings_;
};

bool IsOfWorker(std::string_view name) {
  constexpr std::string_view kNames[] = {"ASAN_OPTIONS",
                                         "HOME",
                                         "LD_LIBRARY_PATH",
                                         "LSAN_OPTIONS",
                                         "PATH",
                                         "TMPDIR",
                                         "TSAN_OPTIONS",
                                         "TUNEONCE_CPU_DEVICES",
                                         "TUNEONCE_CPU_DRIVER",
                                         "TUNEONCE_CPU_MEMORY_MIB",
                                         "TUNEONCE_CUDA_DRIVER",
                                         "TUNEONCE_CUPTI",
                                         "UBSAN_OPTIONS"};
  // A profiler that is injected into CUDA programs belongs to the host, and would claim CUPTI in the worker.
  auto begins_with = [&](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  bool is_of_cuda = begins_with("CUDA_") || begins_with("NVIDIA_") || begins_with("NVRTC_");
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         (is_of_cuda && !begins_with("CUDA_INJECTION"));
}

Environment ReadAll(Variables* variables) {
  Environment environment;
  environment.disable_autotune = variables->GetSwitch("TUNEONCE_DISABLE_AUTOTUNE", "DISABLE_AUTOTUNE", false);
  environment.cuda_driver = variables->Get("TUNEONCE_CUDA_DRIVER");
  environment.cpu_driver = variables->Get("TUNEONCE_CPU_DRIVER");
  environment.nvrtc = variables->Get("TUNEONCE_NVRTC");
  environment.tile_nvrtc = variables->Get("TUNEONCE_TILE_NVRTC");
  environment.cuda_include = variables->Get("TUNEONCE_CUDA_INCLUDE");
  environment.cupti = variables->Get("TUNEONCE_CUPTI");
  environment.nvml = variables->Get("TUNEONCE_NVML");
  environment.profiler = variables->GetEither("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH");
  environment.tileiras = variables->Get("TUNEONCE_TILEIRAS");
  environment.ptxas = variables->Get("TUNEONCE_PTXAS");
  environment.enable_tile = variables->GetSwitch("TUNEONCE_ENABLE_TILE", "ENABLE_TILE", true);
  environment.virtual_env = variables->Get("VIRTUAL_ENV");
  environment.home = variables->Get("HOME");
  environment.store = variables->Get("TUNEONCE_STORE");
  environment.fleet_keys = variables->Get("TUNEONCE_FLEET_KEYS");
  environment.redis_password = variables->Get("TUNEONCE_REDIS_PASSWORD");
  environment.cache_folder = variables->Get("XDG_CACHE_HOME");
  environment.log = variables->GetWord("TUNEONCE_LOG", {"warn", "info", "debug"});
  environment.bundles = variables->Get("TUNEONCE_BUNDLES");
  environment.record_shapes = variables->Get("TUNEONCE_RECORD_SHAPES");
  constexpr std::int64_t kMostWorkers = 4096;
  std::int64_t workers = 0;
  variables->GetNumber("TUNEONCE_COMPILE_WORKERS", 0, kMostWorkers, &workers);
  environment.compile_workers = static_cast<int>(workers);
  environment.cxx = variables->GetEither("TUNEONCE_CXX", "CXX");
  environment.cuda_home = variables->GetEither("CUDA_HOME", "CUDA_PATH");
  environment.path = variables->Get("PATH");
  if (std::string folder = variables->Get("TMPDIR"); !folder.empty()) environment.temporary_folder = folder;
  if (std::string folder = variables->Get("CUDA_MPS_PIPE_DIRECTORY"); !folder.empty()) environment.mps_folder = folder;
  environment.worker = variables->Get("TUNEONCE_WORKER");
  environment.of_worker = variables->All(IsOfWorker);
  constexpr std::int64_t kMostDevices = 8;
  std::int64_t devices = environment.cpu_devices;
  variables->GetNumber("TUNEONCE_CPU_DEVICES", 1, kMostDevices, &devices);
  environment.cpu_devices = static_cast<int>(devices);
  constexpr std::int64_t kMostMib = std::numeric_limits<std::int64_t>::max() >> 20;
  variables->GetNumber("TUNEONCE_CPU_MEMORY_MIB", 0, kMostMib, &environment.cpu_memory_mib);
  return environment;
}

}  // namespace

Environment Environment::Read() {
  const std::map<std::string, std::string> none;
  Variables variables(none);
  Environment environment = ReadAll(&variables);
  environment.warnings = variables.Warnings();
  return environment;
}

Result<Environment> Environment::Read(const std::map<std::string, std::string>& instead) {
  Variables variables(instead);
  Environment environment = ReadAll(&variables);
  TUNEONCE_RETURN_IF_ERROR(variables.Check());
  environment.warnings = variables.Warnings();
  return environment;
}

}  // namespace v0
}  // namespace tuneonce
