#include "definition/compiler_option.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/short_list.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Type = CompilerOption::Type;
using Results = CompilerOption::Results;

/// An opt-level also decides whether products and sums are contracted, so it may change results. For the CPU device's
/// compiler it does not, because the CPU device's compiler always gets -ffp-contract=off, but one effect applies to all
/// compilers. tileiras has neither --ftz nor --approx, so its toolchain patches the bytecode for them.
constexpr CompilerOption kOptions[] = {
    {"maxrregcount", Type::kNumber, Results::kSame, "--maxrregcount=", "--maxrregcount=", "", ""},
    {"ftz", Type::kTruth, Results::kLessExact, "--ftz=", "", "--ftz", "", "--ftz"},
    {"approx", Type::kTruth, Results::kLessExact, "--prec-div=false --prec-sqrt=false", "", "--approx", "", "--approx"},
    {"prec-div", Type::kTruth, Results::kDiffer, "--prec-div=", "", "", ""},
    {"prec-sqrt", Type::kTruth, Results::kDiffer, "--prec-sqrt=", "", "", ""},
    {"fmad", Type::kTruth, Results::kDiffer, "--fmad=", "--fmad=", "", "-ffp-contract=", "--fmad="},
    {"use_fast_math", Type::kTruth, Results::kLessExact, "--use_fast_math", "", "", "-ffast-math"},
    {"extra-device-vectorization", Type::kTruth, Results::kSame, "--extra-device-vectorization", "", "", ""},
    {"allow-expensive-optimizations", Type::kTruth, Results::kSame, "", "--allow-expensive-optimizations=", "", ""},
    {"opt-level", Type::kNumber, Results::kDiffer, "", "--opt-level=", "--opt-level=", "-O", "--opt-level="},
    {"def-load-cache", Type::kWord, Results::kSame, "--ptxas-options=--def-load-cache=", "--def-load-cache=", "", ""},
    {"def-store-cache", Type::kWord, Results::kSame, "--ptxas-options=--def-store-cache=", "--def-store-cache=", "",
     ""},
    {"unroll-loops", Type::kTruth, Results::kSame, "", "", "", "-funroll-loops"},
};

std::string_view SpelledFor(SourceKind kind, const CompilerOption& option) {
  switch (kind) {
    case SourceKind::kCudaCpp:
      return option.cuda_cpp;
    case SourceKind::kPtx:
      return option.ptx;
    case SourceKind::kTileIr:
      return option.tile_ir;
    case SourceKind::kCpuCpp:
      return option.cpu_cpp;
    case SourceKind::kTileCpp:
      return option.tile_cpp;
    case SourceKind::kCubin:
      break;
  }
  return "";
}

/// The option with its value, or "" where it is not set: --ftz=true, -ffp-contract=fast, --use_fast_math.
std::string Spell(std::string_view spelled, const AxisValue& value) {
  const bool* truth = std::get_if<bool>(&value);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (number != nullptr && *number == 0 && spelled != "-O" && spelled != "--opt-level=") return "";
  if (truth == nullptr) return absl::StrCat(std::string(spelled), AxisValueString(value));
  if (spelled == "-ffp-contract=") return absl::StrCat(std::string(spelled), *truth ? "fast" : "off");
  if (spelled.back() == '=') return absl::StrCat(std::string(spelled), *truth ? "true" : "false");
  return *truth ? std::string(spelled) : "";
}

/// Appends the option with its value. Where `spelled` is several words of the compiler's, all of them mean true.
void AddOption(std::string_view spelled, const AxisValue& value, KernelSource* source) {
  while (!spelled.empty()) {
    const std::string_view word = spelled.substr(0, spelled.find(' '));
    spelled.remove_prefix(std::min(spelled.size(), word.size() + 1));
    const std::size_t equals = word.rfind('=');
    const std::string name(word.substr(0, equals == std::string_view::npos ? equals : equals + 1));
    auto is_it = [&](const std::string& given) { return given.compare(0, name.size(), name) == 0; };
    if (std::any_of(source->options.begin(), source->options.end(), is_it)) {
      source->NoteMistake(
          absl::StrCat("the option '", name, "' is given both by the source and by an axis: remove one of them"));
    }
    std::string text = Spell(word, value);
    if (!text.empty()) source->options.push_back(std::move(text));
  }
}

}  // namespace

Result<const CompilerOption*> FindCompilerOption(std::string_view name) {
  auto found = std::find_if(std::begin(kOptions), std::end(kOptions),
                            [&](const CompilerOption& option) { return option.name == name; });
  if (found != std::end(kOptions)) return &*found;
  return InvalidArgumentError(absl::StrCat(
      "the compiler option '", std::string(name),
      "' cannot be an axis; the options that can are: ", ShortListOf(kOptions, &CompilerOption::name, name)));
}

Status CheckOptionValue(const CompilerOption& option, const AxisValue& value) {
  const char* takes = "false and true";
  bool fits = std::holds_alternative<bool>(value);
  if (option.type == Type::kNumber) {
    takes = "whole numbers from 0 to 65535";
    const auto* number = std::get_if<std::int64_t>(&value);
    fits = number != nullptr && *number >= 0 && *number <= 65535;
  } else if (option.type == Type::kWord) {
    takes = "words of letters";
    const auto* word = std::get_if<std::string>(&value);
    fits = word != nullptr && !word->empty() && std::all_of(word->begin(), word->end(), absl::ascii_isalpha);
  }
  if (fits) return Status();
  return InvalidArgumentError(absl::StrCat("the compiler option '", std::string(option.name), "' takes ", takes,
                                           ", but not ", AxisValueString(value)));
}

bool TakesOption(SourceKind kind, const CompilerOption& option) { return !SpelledFor(kind, option).empty(); }

void AddAxisOptions(const Config& config, KernelSource* source) {
  for (std::size_t i = 0; i < config.values().size(); ++i) {
    if (config.Kind(i) != AxisKind::kOption) continue;
    Result<const CompilerOption*> option = FindCompilerOption(config.AxisName(i));
    if (!option.ok() || !TakesOption(source->kind, **option)) continue;
    AddOption(SpelledFor(source->kind, **option), config.values()[i], source);
  }
}

}  // namespace v0
}  // namespace tuneonce
