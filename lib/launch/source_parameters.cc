#include "launch/source_parameters.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/short_list.h"
#include "definition/source_identity.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Returns the index of the bracket that closes the one at `open`, or npos.
std::size_t Closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Returns the name in a declaration: "x" for "const float* x = nullptr" and "float x[4]", "" for "float*". Returns
/// nothing for a declaration with brackets (a function pointer, a macro) or a line of the preprocessor.
std::optional<std::string> NameOf(absl::string_view parameter) {
  parameter = absl::StripAsciiWhitespace(parameter.substr(0, parameter.find('=')));
  if (absl::EndsWith(parameter, "]")) {
    parameter = absl::StripTrailingAsciiWhitespace(parameter.substr(0, parameter.find('[')));
  }
  if (parameter.empty() || parameter.find_first_of("()[]#") != absl::string_view::npos) return std::nullopt;
  std::size_t begin = parameter.size();
  while (begin > 0 && IsWord(parameter[begin - 1])) --begin;
  std::string name(parameter.substr(begin));
  if (name.empty()) return "";
  if (begin == 0) return std::nullopt;  // A type alone, or a macro.
  static constexpr absl::string_view kTypeWords[] = {"int",          "float",    "double", "char",     "long",
                                                     "short",        "bool",     "const",  "unsigned", "auto",
                                                     "__restrict__", "restrict", "signed"};
  bool is_type = std::find(std::begin(kTypeWords), std::end(kTypeWords), name) != std::end(kTypeWords);
  return is_type ? "" : name;
}

/// The parameters between a function's brackets.
std::optional<std::vector<std::string>> NamesIn(absl::string_view list, bool has_block) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t begin = 0;
  bool is_first = true;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    char c = i < list.size() ? list[i] : ',';
    if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '}' || c == '>') --depth;
    if (i < list.size() && (c != ',' || depth != 0)) continue;
    absl::string_view parameter = absl::StripAsciiWhitespace(list.substr(begin, i - begin));
    begin = i + 1;
    if (is_first && has_block) {
      is_first = false;
      if (!absl::StrContains(parameter, "tuneonce_block")) return std::nullopt;
      continue;
    }
    if (is_first && i == list.size() && (parameter.empty() || parameter == "void")) return names;
    is_first = false;
    std::optional<std::string> name = NameOf(parameter);
    if (!name) return std::nullopt;
    names.push_back(*std::move(name));
  }
  return names;
}

/// A Tile IR type's size as a kernel's parameter: "tile<ptr<f16>>" 8, "tile<i32>" 4.
std::size_t TileIrBytes(const std::string& type) {
  absl::string_view inner = absl::string_view(type).substr(type.find('<') + 1);
  for (auto [prefix, bytes] : {std::pair("ptr", 8),
                               {"i64", 8},
                               {"f64", 8},
                               {"i32", 4},
                               {"f32", 4},
                               {"tf32", 4},
                               {"i16", 2},
                               {"f16", 2},
                               {"bf16", 2}}) {
    if (absl::StartsWith(inner, prefix)) return static_cast<std::size_t>(bytes);
  }
  return 1;
}

/// The words of a PTX text, in order: names, directives with their dot (".entry"), numbers, and single other
/// characters. Skips blanks, comments and quoted text, which may hold anything.
class PtxWords {
 public:
  explicit PtxWords(absl::string_view text) : text_(text) {}

  /// Returns the next word, or an empty one at the end.
  absl::string_view Next() {
    Skip();
    const std::size_t begin = at_;
    if (at_ < text_.size()) ++at_;
    const bool is_long = begin < text_.size() && (text_[begin] == '.' || IsPtxWord(text_[begin]));
    while (is_long && at_ < text_.size() && IsPtxWord(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

 private:
  static bool IsPtxWord(char c) { return IsWord(c) || c == '$' || c == '%'; }

  void Skip() {
    while (at_ < text_.size()) {
      absl::string_view rest = text_.substr(at_);
      if (absl::StartsWith(rest, "//")) {
        SkipThrough("\n", 2);
      } else if (absl::StartsWith(rest, "/*")) {
        SkipThrough("*/", 2);
      } else if (rest[0] == '"') {
        SkipThrough("\"", 1);
      } else if (absl::ascii_isspace(static_cast<unsigned char>(rest[0]))) {
        ++at_;
      } else {
        return;
      }
    }
  }
  void SkipThrough(absl::string_view end, std::size_t opening) {
    const std::size_t found = text_.find(end, at_ + opening);
    at_ = found == absl::string_view::npos ? text_.size() : found + end.size();
  }

  absl::string_view text_;
  std::size_t at_ = 0;
};

/// Returns the bits of a PTX type: 64 for ".u64", 16 for ".bf16", and 0 for other words and for types without a size
/// here (".texref").
int PtxTypeBits(absl::string_view word) {
  static constexpr absl::string_view kLetters[] = {".bf", ".b", ".u", ".s", ".f"};
  for (absl::string_view letters : kLetters) {
    int bits = 0;
    if (absl::StartsWith(word, letters) && absl::SimpleAtoi(word.substr(letters.size()), &bits)) return bits;
  }
  return 0;
}

/// Returns the bytes of a parameter with these words, such as `.param .align 64 .b8 name[128]`, or 0 if unknown.
std::size_t PtxBytes(const std::vector<absl::string_view>& words) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    int count = 0;
    if (bytes == 0) bytes = static_cast<std::size_t>(PtxTypeBits(words[i])) / 8;
    if (words[i] != "[") continue;
    const bool is_number = i + 2 < words.size() && words[i + 2] == "]" && absl::SimpleAtoi(words[i + 1], &count);
    if (!is_number || count <= 0) return 0;
    bytes *= static_cast<std::size_t>(count);
  }
  return bytes;
}

/// The words of each parameter of a PTX entry. Nothing if there is no such entry.
std::optional<std::vector<std::vector<absl::string_view>>> PtxParameters(const std::string& ptx,
                                                                         const std::string& symbol) {
  PtxWords words(ptx);
  for (absl::string_view word = words.Next(); !word.empty(); word = words.Next()) {
    if (word != ".entry" || words.Next() != symbol) continue;
    std::vector<std::vector<absl::string_view>> parameters;
    if (words.Next() != "(") return parameters;
    std::vector<absl::string_view> parameter;
    for (word = words.Next(); !word.empty(); word = words.Next()) {
      if (word != "," && word != ")") {
        parameter.push_back(word);
        continue;
      }
      if (!parameter.empty()) parameters.push_back(parameter);
      parameter.clear();
      if (word == ")") break;
    }
    return parameters;
  }
  return std::nullopt;
}

/// Returns the number after ".align" in `.param .u64 .ptr .global .align 16 x`, or 1 without one or for a number.
std::int64_t PtxAlignment(const std::vector<absl::string_view>& words) {
  if (std::find(words.begin(), words.end(), ".ptr") == words.end()) return 1;
  auto align = std::find(words.begin(), words.end(), ".align");
  std::int64_t bytes = 1;
  const bool is_stated = align != words.end() && ++align != words.end() && absl::SimpleAtoi(*align, &bytes);
  return is_stated && bytes >= 1 ? bytes : 1;
}

Status CheckTileIr(const ParameterLayout& layout, const KernelSource& source) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(source.content));
  auto entry = std::find_if(module.entries.begin(), module.entries.end(),
                            [&](const TileIrEntry& e) { return e.name == source.symbol; });
  if (source.symbol.empty() && module.entries.size() == 1) entry = module.entries.begin();
  if (entry == module.entries.end()) {
    return InvalidArgumentError(
        absl::StrCat("the Tile IR bytecode has no kernel '", source.symbol,
                     "'; its kernels are: ", ShortListOf(module.entries, &TileIrEntry::name, source.symbol)));
  }
  std::vector<std::size_t> sizes;
  for (const std::string& type : entry->parameters) sizes.push_back(TileIrBytes(type));
  return layout.CheckAgainst(sizes);
}

/// "f16" of "tile<ptr<f16>>", "i32" of "tile<i32>". `*is_pointer` is set to whether it is a pointer's element.
absl::string_view TileElement(absl::string_view type, bool* is_pointer) {
  absl::ConsumePrefix(&type, "tile<");
  *is_pointer = absl::ConsumePrefix(&type, "ptr<");
  return type.substr(0, type.find('>'));
}

/// Returns Tile IR's name of a floating-point dtype, or "" for other dtypes.
absl::string_view TileFloat(DType dtype) {
  static constexpr absl::string_view kNames[] = {"f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"};
  if (dtype < DType::kFloat8E4M3) return "";
  return kNames[static_cast<std::size_t>(dtype) - static_cast<std::size_t>(DType::kFloat8E4M3)];
}

/// Returns whether a kernel's parameter of Tile IR type `type` can take what is declared: a pointer to, or a number of,
/// `dtype`.
bool TakesTileType(absl::string_view type, bool is_address, DType dtype) {
  bool is_pointer = false;
  const absl::string_view element = TileElement(type, &is_pointer);
  const bool is_float = !absl::StartsWith(element, "i") && !absl::StartsWith(element, "ptr");
  const absl::string_view declared = TileFloat(dtype);
  if (is_address && !is_pointer) return false;
  // A pointer to bytes or words may lead to anything, and a number of 8 bytes may be an address.
  if (is_pointer) return !is_address || !is_float || declared.empty() || declared == element;
  return is_float ? declared == element : declared.empty();
}

Status CheckPtx(const ParameterLayout& layout, const KernelSource& source) {
  std::optional<std::vector<std::size_t>> sizes = ParameterSizesInPtx(source.content, source.symbol);
  return sizes ? layout.CheckAgainst(*sizes) : InvalidArgumentError("the PTX has no kernel '" + source.symbol + "'");
}

}  // namespace

std::string WithoutComments(std::string_view text) {
  std::string plain(text);
  for (std::size_t i = 0; i < plain.size();) {
    std::size_t end = i + 1;
    if (text.compare(i, 2, "//") == 0) {
      end = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      std::size_t close = text.find("*/", i + 2);
      end = close == std::string_view::npos ? text.size() : close + 2;
    } else if (text[i] == '"' || (text[i] == '\'' && (i == 0 || !IsWord(text[i - 1])))) {  // 1'000 is a number.
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    } else {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      if (plain[i] != '\n') plain[i] = ' ';
    }
  }
  return plain;
}

std::optional<std::vector<std::string>> ParameterNamesInCpp(const KernelSource& source) {
  const bool has_block = source.kind == SourceKind::kCpuCpp;
  const std::string text = WithoutComments(source.content);
  const std::string symbol(KernelNameIn(source.symbol));
  std::optional<std::vector<std::string>> found;
  for (std::size_t at = text.find(symbol); !symbol.empty() && at != std::string::npos; at = text.find(symbol, at + 1)) {
    std::size_t after = at + symbol.size();
    if ((at > 0 && IsWord(text[at - 1])) || (after < text.size() && IsWord(text[after]))) continue;
    std::size_t open = text.find_first_not_of(" \t\r\n", after);
    if (open == std::string::npos || text[open] != '(') continue;
    std::size_t close = Closing(text, open);
    if (close == std::string::npos) return std::nullopt;
    at = close;  // No function is defined between brackets, and each bracket is read once.
    std::size_t body = text.find_first_not_of(" \t\r\n", close + 1);
    if (body == std::string::npos || text[body] != '{') continue;  // A call, or a declaration.
    std::optional<std::vector<std::string>> names = NamesIn(text.substr(open + 1, close - open - 1), has_block);
    if (!names || (found && *found != *names)) return std::nullopt;
    found = std::move(names);
  }
  return found;
}

std::optional<std::vector<std::size_t>> ParameterSizesInPtx(const std::string& ptx, const std::string& symbol) {
  const std::optional<std::vector<std::vector<absl::string_view>>> parameters = PtxParameters(ptx, symbol);
  if (!parameters) return std::nullopt;
  std::vector<std::size_t> sizes;
  for (const std::vector<absl::string_view>& words : *parameters) sizes.push_back(PtxBytes(words));
  return sizes;
}

std::vector<CodeAssumption> AssumptionsInPtx(const std::string& ptx, const std::string& symbol) {
  std::vector<CodeAssumption> assumed;
  const std::optional<std::vector<std::vector<absl::string_view>>> parameters = PtxParameters(ptx, symbol);
  for (std::size_t i = 0; parameters && i < parameters->size(); ++i) {
    const std::int64_t alignment = PtxAlignment((*parameters)[i]);
    if (alignment > 1) assumed.push_back({CodeAssumption::Kind::kDivisibleBy, i, alignment});
  }
  return assumed;
}

Status CheckSource(const ParameterLayout& layout, const KernelSource& source) {
  if (source.withheld != nullptr) return Status();  // The code shows them when it is loaded.
  TUNEONCE_RETURN_IF_ERROR(source.Check());
  Status status;
  if (source.kind == SourceKind::kTileIr) status = CheckTileIr(layout, source);
  if (source.kind == SourceKind::kPtx) status = CheckPtx(layout, source);
  return source.file.empty() ? status : status.WithPrefix(source.file);
}

Status CheckTileTypes(const ParameterLayout& layout, const KernelDefinition& definition, const Problem& problem,
                      const std::vector<std::string>& types) {
  const std::string code = absl::StrCat("; its code takes (", absl::StrJoin(types, ", "), ")");
  std::vector<std::size_t> sizes;
  for (const std::string& type : types) sizes.push_back(TileIrBytes(type));
  if (Status fits = layout.CheckAgainst(sizes); !fits.ok()) return Status(fits.code(), fits.message() + code);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const ParameterLayout::Meaning meaning = layout.MeaningOf(i);
    const Parameter& parameter = definition.parameters()[meaning.parameter];
    const bool is_address =
        meaning.of == ParameterLayout::Meaning::Of::kAddress || parameter.kind == ParameterKind::kWorkspace;
    if (parameter.by_pointers || parameter.kind == ParameterKind::kDescriptor) continue;
    DType dtype = parameter.dtype;  // The declared dtype of a number.
    if (is_address) {
      dtype =
          parameter.kind == ParameterKind::kTensor ? problem.dtype(static_cast<int>(meaning.parameter)) : DType::kAny;
    } else if (meaning.of == ParameterLayout::Meaning::Of::kExtent ||
               meaning.of == ParameterLayout::Meaning::Of::kStride) {
      dtype = DType::kInt64;
    }
    if (TakesTileType(types[i], is_address, dtype)) continue;
    return InvalidArgumentError(
        absl::StrCat("kernel '", definition.name(), "', parameter '", layout.Describe(i), "' (", i + 1, " of ",
                     types.size(), "): declared as ", is_address ? "a pointer to " : "", std::string(DTypeName(dtype)),
                     ", but the code has ", types[i], "; declared are: ", layout.DescribeAll(), code));
  }
  return Status();
}

bool MayHideParameters(SourceKind kind, CallingConvention convention) {
  // Cubins with cuTile's convention are tileiras's.
  return IsTile(kind) || (kind == SourceKind::kCubin && convention == CallingConvention::kCutilePython);
}

bool MentionsKernel(const KernelSource& source) {
  if (!IsCpp(source.kind)) return true;
  const std::string_view kernel = KernelNameIn(source.symbol);
  return source.content.find(kernel) != std::string::npos ||
         std::any_of(source.headers.begin(), source.headers.end(),
                     [&](const auto& header) { return header.second.find(kernel) != std::string::npos; });
}

Status CompareNamesInCpp(const ParameterLayout& layout, const KernelSource& source) {
  if (!IsCpp(source.kind)) return Status();
  std::optional<std::vector<std::string>> names = ParameterNamesInCpp(source);
  Status status = names ? layout.CheckNames(*names) : Status();
  return source.file.empty() ? status : status.WithPrefix(source.file);
}

}  // namespace v0
}  // namespace tuneonce
