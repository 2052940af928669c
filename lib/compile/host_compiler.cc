// The row of CommandToolchain for the CPU device.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/elf_image.h"
#include "base/environment.h"
#include "base/file.h"
#include "base/process.h"
#include "compile/command_toolchain.h"
#include "compile/dependency_file.h"
#include "cpu_kernel_prelude.h"  // Generated from base/cpu_kernel.h.
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::string CpuModel() {
  Result<std::string> info = ReadFile("/proc/cpuinfo");
  return info.ok() ? CpuModelIn(*info) : "";
}

/// The first value of a field of /proc/cpuinfo, whose lines are "name<tab>: value"; empty if it is absent.
std::string_view CpuInfoField(std::string_view cpu_info, std::string_view name) {
  for (std::size_t begin = 0; begin < cpu_info.size();) {
    const std::size_t end = std::min(cpu_info.find('\n', begin), cpu_info.size());
    std::string_view line = cpu_info.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = line.find(':');
    std::string_view field = line.substr(0, colon);
    field = field.substr(0, field.find_last_not_of(" \t") + 1);
    if (colon == std::string_view::npos || field != name) continue;
    line.remove_prefix(colon + 1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return line;
  }
  return "";
}

/// A short name of a list of features, whatever its order: kernels list them differently.
std::string FeaturesOf(std::string_view flags) {
  std::vector<std::string> words =
      absl::StrSplit(absl::string_view(flags.data(), flags.size()), ' ', absl::SkipEmpty());
  std::sort(words.begin(), words.end());
  Fingerprinter fingerprinter;
  for (const std::string& word : words) fingerprinter.Add(word);
  return fingerprinter.Finish().ToString().substr(0, 12);
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
  if (quote != '\0') return InvalidArgumentError("an opening quote has no closing quote");
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

/// The words that start the compiler: a path and its first arguments. Errors: Unavailable, with the names looked for.
Result<std::vector<std::string>> FindWords(const Environment& environment) {
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

/// The source's file, where its name fits a #line; else one made of the symbol.
std::string NameInMessages(const KernelSource& source) {
  bool fits = !source.file.empty() && source.file.find_first_of("\"\\\r\n") == std::string::npos;
  return fits ? source.file : source.symbol + ".cc";
}

/// Whether the shared object has the kernel; true if it was stripped of its symbols.
bool HasKernel(const ElfImage& image, const std::string& kernel) {
  const std::string symbol = "tuneonce_kernel_" + kernel;
  return image.symbols().empty() || std::any_of(image.symbols().begin(), image.symbols().end(),
                                                [&](const ElfImage::Symbol& each) { return each.name == symbol; });
}

Result<CompilerCommand> FindCompiler(const Toolbox& tools) {
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::string> words, FindWords(tools.environment()));
  TUNEONCE_ASSIGN_OR_RETURN(std::string version, tools.VersionOf(words));
  CompilerCommand command;
  command.description = absl::StrCat(absl::StrJoin(words, " "), ": ", version);
  command.words = words;
  words.front() = std::move(version);  // What comes after the program is part of what is made.
  command.version = absl::StrCat(absl::StrJoin(words, " "), ", ", HostCpuModel());
  return command;
}

std::string DependencyFile(const CommandRun& run) { return run.folder.path() + "/kernel.d"; }

Status PrepareHostCpp(CommandRun* run) {
  const KernelSource& source = run->source;
  run->text = absl::StrCat(kCpuKernelPrelude, "\n#line 1 \"", NameInMessages(source), "\"\n",
                           std::string(WithoutByteOrderMark(source.content)));
  // -fno-gnu-unique: a unique symbol would be shared between candidates, and would keep the module loaded until the
  // process ends.
  run->arguments = {"-std=c++17", "-O3",   "-march=native",      "-ffp-contract=off",
                    "-shared",    "-fPIC", "-fvisibility=hidden"};
  if (!IsClang(run->command.words)) run->arguments.push_back("-fno-gnu-unique");
  for (const std::string& define : source.defines) run->arguments.push_back("-D" + define);
  run->arguments.insert(run->arguments.end(), source.options.begin(), source.options.end());
  run->arguments.insert(run->arguments.end(), {"-MD", "-MF", DependencyFile(*run), "-MT", "kernel"});
  run->environment = run->tools.VariablesForTools();
  run->artifact.symbol = source.symbol;
  return Status();
}

Status FinishSharedObject(CommandRun* run) {
  const KernelSource& source = run->source;
  const std::string& program = run->command.words.front();
  Result<ElfImage> image = ElfImage::Parse(run->artifact.image);
  if (!image.ok()) {
    return InternalError(absl::StrCat(
        program, " succeeded, but its output is not a complete shared object: ", image.status().message()));
  }
  if (!HasKernel(*image, source.symbol)) {
    return InvalidArgumentError(absl::StrCat(NameInMessages(source), ": it has no kernel '", source.symbol,
                                             "'; define it and add TUNEONCE_CPU_KERNEL(", source.symbol, ")"));
  }
  TUNEONCE_RETURN_IF_ERROR(SetHostDependencies(run, DependencyFile(*run)).WithPrefix(program));
  // The build id is the linker's hash of the content, so equal code gives equal bytes.
  run->artifact.code_fingerprint = Fingerprinter().Add(run->artifact.image).Add(source.symbol).Finish();
  return Status();
}

}  // namespace

const std::string& HostCpuModel() {
  static const auto* const cpu = new std::string(CpuModel());
  return *cpu;
}

std::string CpuModelIn(std::string_view cpu_info) {
  const std::string name(CpuInfoField(cpu_info, "model name"));
  const std::string_view flags = CpuInfoField(cpu_info, "flags");
  if (!name.empty() && !flags.empty()) return absl::StrCat(name, ", features ", FeaturesOf(flags));
  std::string model = name;
  for (std::string_view field : {"CPU implementer", "CPU variant", "CPU part", "Features"}) {
    std::string_view value = CpuInfoField(cpu_info, field);
    if (!value.empty()) model.append(model.empty() ? "" : ", ").append(field).append(" ").append(value);
  }
  return model;
}

const CompilerRow kHostCompiler = {SourceKind::kCpuCpp, /*uses_hints=*/false, "kernel.cc",       "kernel.so",
                                   FindCompiler,        PrepareHostCpp,       FinishSharedObject};

}  // namespace v0
}  // namespace tuneonce
