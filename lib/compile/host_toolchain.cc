#include "compile/host_toolchain.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/elf_image.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "compile/dependency_file.h"
#include "compile/tool.h"
#include "cpu_kernel_prelude.h"  // Generated from cpu_device/include/tuneonce/cpu_device/kernel.h.
#include "tuneonce/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string CpuModel() {
  Result<std::string> info = ReadFile("/proc/cpuinfo");
  return info.ok() ? CpuModelIn(*info) : "";
}

/// The words of a command, split at blanks; quotes keep blanks. Errors: InvalidArgument, a quote that does not end.
Result<std::vector<std::string>> WordsOf(const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool is_word = false;  // Also of an empty one in quotes.
  char quote = '\0';
  for (char c : command) {
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (is_word) words.push_back(std::move(word));
      word.clear();
      is_word = false;
      continue;
    }
    is_word = true;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      word += c;
    }
  }
  if (quote != '\0') return InvalidArgumentError("a quote in it does not end");
  if (is_word) words.push_back(std::move(word));
  return words;
}

/// The command of TUNEONCE_CXX or CXX, its program as a path.
Result<std::vector<std::string>> NamedCompiler(const Environment& environment) {
  const std::string what = absl::StrCat("the C++ compiler '", environment.cxx, "' (from TUNEONCE_CXX or CXX)");
  // A path may have blanks.
  if (std::string path = FindProgram(environment.cxx, environment.path); !path.empty()) return std::vector{path};
  Result<std::vector<std::string>> words = WordsOf(environment.cxx);
  if (!words.ok()) return UnavailableError(absl::StrCat(what, ": ", words.status().message()));
  std::string path = words->empty() ? "" : FindProgram(words->front(), environment.path);
  if (path.empty()) return UnavailableError(absl::StrCat(what, " was not found"));
  words->front() = std::move(path);
  return words;
}

/// The command that starts the compiler: a path and its first arguments. Errors: Unavailable, with the names looked
/// for.
Result<std::vector<std::string>> FindCompiler(const Environment& environment) {
  if (!environment.cxx.empty()) return NamedCompiler(environment);
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string path = FindProgram(name, environment.path); !path.empty()) return std::vector{path};
  }
  return UnavailableError(
      "no C++ compiler was found (looked for c++, g++, clang++ in PATH): install one, or set TUNEONCE_CXX");
}

bool IsClang(const std::vector<std::string>& command) {
  return std::any_of(command.begin(), command.end(),
                     [](const std::string& word) { return word.find("clang") != std::string::npos; });
}

bool StartsWithAny(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* prefix) { return text.rfind(prefix, 0) == 0; });
}

/// Whether the compiler's list of headers names every file that it reads. Options that are not known here may hand over
/// others (libraries, plugins, profiles, files of options); a source may ask for files that are not there, or have the
/// assembler read one.
bool HeadersAreAllThatIsRead(const KernelSource& source) {
  for (const char* word : {"__has_include", ".incbin"}) {
    if (source.content.find(word) != std::string::npos) return false;
  }
  bool is_argument = false;  // Of the option before.
  for (const std::string& option : source.options) {
    if (std::exchange(is_argument, false)) continue;
    for (const char* name : {"-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"}) {
      is_argument |= option == name;
    }
    bool is_known =
        StartsWithAny(option, {"-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros", "-O",
                               "-g", "-m", "-f", "-W", "-w", "-std=", "-pthread", "-pipe"});
    bool reads_more = StartsWithAny(option, {"-fplugin", "-fpass-plugin", "-fprofile", "-fauto-profile", "-fmodule",
                                             "-fsanitize", "-fuse-ld", "-Wl,", "-Wa,", "-Wp,"});
    if (!is_known || reads_more) return false;
  }
  return true;
}

/// The source's file, where its name fits a #line; else one made of the symbol.
std::string NameInMessages(const KernelSource& source) {
  bool fits = !source.file.empty() && source.file.find_first_of("\"\\\r\n") == std::string::npos;
  return fits ? source.file : source.symbol + ".cc";
}

}  // namespace

const std::string& HostCpuModel() {
  static const auto* const cpu = new std::string(CpuModel());
  return *cpu;
}

std::string CpuModelIn(std::string_view cpu_info) {
  std::string model;
  for (std::string_view name : {"model name", "CPU implementer", "CPU variant", "CPU part", "Features"}) {
    std::size_t at = cpu_info.find(name);
    if (at == std::string_view::npos) continue;
    std::string_view line = cpu_info.substr(at, cpu_info.find('\n', at) - at);
    std::string_view value = line.substr(std::min(line.find(':'), line.size() - 1) + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    if (name == "model name") return std::string(value);
    model.append(model.empty() ? "" : ", ").append(name).append(" ").append(value);
  }
  return model;
}

Result<std::string> HostToolchain::Version() const {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> compiler, FindCompiler(tools_->environment()));
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, tools_->VersionOf(compiler));
  compiler.front() = std::move(version);  // What comes after the program is part of what is made.
  return absl::StrCat(absl::StrJoin(compiler, " "), ", ", HostCpuModel());
}

std::string HostToolchain::Description() const {
  Result<std::vector<std::string>> compiler = FindCompiler(tools_->environment());
  if (!compiler.ok()) return compiler.status().message();
  Result<std::string> version = tools_->VersionOf(*compiler);
  return version.ok() ? absl::StrCat(absl::StrJoin(*compiler, " "), ": ", *version) : version.status().message();
}

Result<Artifact> HostToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                          const WaitLimits& limits) const {
  if (!target.is_cpu_device) return InvalidArgumentError("a host_cpp source runs on the CPU device only");
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> arguments, FindCompiler(tools_->environment()));
  const bool is_clang = IsClang(arguments);
  TUNEONCE_ASSIGN_OR_RETURN(TemporaryFolder folder, tools_->MakeFolder());
  TUNEONCE_ASSIGN_OR_RETURN(
      std::string input, folder.WriteFile("kernel.cc", absl::StrCat(kCpuKernelPrelude, "\n#line 1 \"",
                                                                    NameInMessages(source), "\"\n", source.content)));
  std::string output = folder.path() + "/kernel.so";
  std::string headers = folder.path() + "/kernel.d";
  // -fno-gnu-unique: a unique symbol would keep the module loaded for ever, and be shared between candidates.
  arguments.insert(arguments.end(), {"-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC",
                                     "-fvisibility=hidden"});
  if (!is_clang) arguments.push_back("-fno-gnu-unique");
  for (const std::string& define : source.defines) arguments.push_back("-D" + define);
  arguments.insert(arguments.end(), source.options.begin(), source.options.end());
  arguments.insert(arguments.end(), {"-MD", "-MF", headers, "-MT", "kernel", input, "-o", output});
  const timespec started = FileClock();
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact,
                            CompileToFile(arguments, output, folder, limits, tools_->VariablesForTools()));
  if (Result<ElfImage> image = ElfImage::Parse(artifact.image); !image.ok()) {
    return InternalError(absl::StrCat(
        arguments[0], " ended well, but what it made is no whole shared object: ", image.status().message()));
  }
  TUNEONCE_RETURN_IF_ERROR(SetDependencies(headers, folder.path(), started, &artifact).WithPrefix(arguments[0]));
  if (!HeadersAreAllThatIsRead(source)) artifact.cacheable = false;
  artifact.symbol = source.symbol;
  // The build id is the linker's hash of the content, so equal code gives equal bytes.
  artifact.code_fingerprint = Fingerprinter().Add(artifact.image).Add(artifact.symbol).Finish();
  return artifact;
}

}  // namespace v0
}  // namespace tuneonce
