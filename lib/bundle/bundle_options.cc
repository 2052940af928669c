#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/short_list.h"
#include "bundle/manifest_readers.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The options of one kind of source, by what may follow their first part; each list is separated by spaces.
struct OptionLists {
  const char* exact = "";    ///< Nothing.
  const char* words = "";    ///< Letters, digits and ._+-=, which name no file of another folder and no further option.
  const char* numbers = "";  ///< Digits.
  const char* macros = "";   ///< NAME, or NAME=anything printable.
  const char* flags = "";    ///< What follows -f or -fno-.
};

// None of these writes, reads or runs anything. What follows -W has no comma: -Wl, and -Wp, would pass options on.
constexpr OptionLists kCpuCpp = {
    "-g -w -mfma -mno-fma -mf16c -mpopcnt -mlzcnt -fopenmp-simd",
    "-O -std= -W -march= -mtune= -mcpu= -mprefer-vector-width= -mavx -mno-avx -msse -mbmi -mamx -ffp-contract= "
    "-ffp-model=",
    "-fconstexpr-steps= -ftemplate-depth=", "-D -U",
    "fast-math math-errno finite-math-only signed-zeros trapping-math associative-math reciprocal-math "
    "unsafe-math-optimizations rounding-math cx-limited-range unroll-loops unroll-all-loops peel-loops split-loops "
    "prefetch-loop-arrays tree-vectorize tree-slp-vectorize tree-loop-vectorize vectorize slp-vectorize inline "
    "inline-functions ipa-cp-clone strict-aliasing strict-overflow wrapv omit-frame-pointer exceptions rtti builtin"};
constexpr OptionLists kNvrtc = {
    "--use_fast_math -use_fast_math --extra-device-vectorization --restrict -restrict --generate-line-info -lineinfo "
    "--device-as-default-execution-space -default-device --disable-warnings -w",
    "--std= -std= --fmad= -fmad= --ftz= -ftz= --prec-div= -prec-div= --prec-sqrt= -prec-sqrt=",
    "--maxrregcount= -maxrregcount=", "-D --define-macro= -U --undefine-macro="};
constexpr OptionLists kPtxas = {
    "--disable-optimizer-constants --generate-line-info -lineinfo --verbose -v --warn-on-spills",
    "--fmad= -fmad= --allow-expensive-optimizations= --def-load-cache= -dlcm= --def-store-cache= -dscm=",
    "-O --opt-level= --maxrregcount= -maxrregcount="};
constexpr OptionLists kTileiras = {"--lineinfo --ftz --approx", "", "-O --opt-level="};
constexpr OptionLists kTileCpp = {
    "--lineinfo --generate-line-info -lineinfo --device-as-default-execution-space -default-device -default-tile "
    "--disable-warnings -w --ftz --approx",
    "--std= -std= --fmad= -fmad=", "-O --opt-level=", "-D --define-macro= -U --undefine-macro="};
constexpr OptionLists kNone;  // A cubin is not compiled.

const OptionLists& ListsFor(SourceKind kind) {
  switch (kind) {
    case SourceKind::kCpuCpp:
      return kCpuCpp;
    case SourceKind::kCudaCpp:
      return kNvrtc;
    case SourceKind::kTileCpp:
      return kTileCpp;
    case SourceKind::kPtx:
      return kPtxas;
    case SourceKind::kTileIr:
      return kTileiras;
    case SourceKind::kCubin:
      break;
  }
  return kNone;
}

bool IsWordChar(unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; }

/// True if the option is one of `list` with a rest that `fits`.
template <typename Fits>
bool IsIn(absl::string_view option, const char* list, Fits fits) {
  for (absl::string_view prefix : absl::StrSplit(list, ' ', absl::SkipEmpty())) {
    absl::string_view rest = option;
    if (absl::ConsumePrefix(&rest, prefix) && fits(rest)) return true;
  }
  return false;
}

bool IsAllowed(absl::string_view option, const OptionLists& lists) {
  auto empty = [](absl::string_view rest) { return rest.empty(); };
  auto word = [](absl::string_view rest) {
    return std::all_of(rest.begin(), rest.end(),
                       [](unsigned char c) { return IsWordChar(c) || c == '.' || c == '+' || c == '-' || c == '='; });
  };
  auto number = [](absl::string_view rest) {
    return !rest.empty() && std::all_of(rest.begin(), rest.end(), absl::ascii_isdigit);
  };
  auto macro = [](absl::string_view rest) {
    absl::string_view name = rest.substr(0, rest.find('='));
    return !name.empty() && std::all_of(name.begin(), name.end(), IsWordChar) &&
           std::all_of(rest.begin(), rest.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  };
  absl::string_view flag = option;
  bool is_flag = absl::ConsumePrefix(&flag, "-fno-") || absl::ConsumePrefix(&flag, "-f");
  return IsIn(option, lists.exact, empty) || IsIn(option, lists.words, word) || IsIn(option, lists.numbers, number) ||
         IsIn(option, lists.macros, macro) || (is_flag && IsIn(flag, lists.flags, empty));
}

}  // namespace

Result<std::string> BundleOption(SourceKind kind, const std::string& option, const BundleFiles& files) {
  const bool is_cpp = IsCpp(kind);
  if (is_cpp && absl::StartsWith(option, "-I")) {
    TUNEONCE_ASSIGN_OR_RETURN(std::string folder, files.FolderPath(option.substr(2)));
    return "-I" + folder;
  }
  const OptionLists& lists = ListsFor(kind);
  if (IsAllowed(option, lists)) return option;
  std::vector<std::string> known;
  for (const char* list : {lists.words, lists.numbers, lists.macros, lists.exact}) {
    for (absl::string_view word : absl::StrSplit(list, ' ', absl::SkipEmpty())) known.emplace_back(word);
  }
  if (*lists.flags != '\0') known.emplace_back("-f...");
  if (is_cpp) known.emplace_back("-IFOLDER");
  return InvalidArgumentError(
      absl::StrCat("a bundle may not give the option '", option,
                   "'; options that it may give, as one word each: ", ShortList(known, option)));
}

}  // namespace v0
}  // namespace tuneonce
