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
#include "absl/strings/str_split.h"
#include "definition/name_expression.h"
#include "tile_ir/tile_ir.h"

namespace tuneonce {
inline namespace v0 {
namespace {

bool IsWord(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The text with comments and the insides of literals blanked, so that brackets and names can be counted.
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

/// Index of the bracket that closes the one at `open`; npos if there is none.
std::size_t Closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// "const float* x = nullptr" and "float x[4]" give "x"; "float*" gives "". Nothing for what has brackets of its own:
/// a function pointer, a macro.
std::optional<std::string> NameOf(absl::string_view parameter) {
  parameter = absl::StripAsciiWhitespace(parameter.substr(0, parameter.find('=')));
  if (absl::EndsWith(parameter, "]")) {
    parameter = absl::StripTrailingAsciiWhitespace(parameter.substr(0, parameter.find('[')));
  }
  if (parameter.empty() || parameter.find_first_of("()[]") != absl::string_view::npos) return std::nullopt;
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

/// Of one parameter, without ".param": ".u64 .ptr .global .align 1 name", ".align 64 .b8 name[128]". 0: unknown.
std::size_t PtxBytes(absl::string_view parameter) {
  std::size_t bytes = 0;
  for (absl::string_view word : absl::StrSplit(parameter, absl::ByAnyChar(" \t\r\n,"), absl::SkipEmpty())) {
    int number = 0;
    std::size_t digits = word.find_first_of("0123456789");
    std::size_t bracket = word.find('[');
    if (word[0] == '.') {  // .u64, .bf16: at most three letters, then bits.
      bool is_type = bytes == 0 && digits != absl::string_view::npos && digits <= 3;
      if (is_type && absl::SimpleAtoi(word.substr(digits), &number)) bytes = static_cast<std::size_t>(number) / 8;
    } else if (bracket != absl::string_view::npos && word.back() == ']' &&
               absl::SimpleAtoi(word.substr(bracket + 1, word.size() - bracket - 2), &number) && number > 0) {
      bytes *= static_cast<std::size_t>(number);
    }
  }
  return bytes;
}

Status CheckTileIr(const ParameterLayout& layout, const KernelSource& source) {
  TUNEONCE_ASSIGN_OR_RETURN(TileIrModule module, ReadTileIr(source.content));
  auto entry = std::find_if(module.entries.begin(), module.entries.end(),
                            [&](const TileIrEntry& e) { return e.name == source.symbol; });
  if (source.symbol.empty() && module.entries.size() == 1) entry = module.entries.begin();
  if (entry == module.entries.end()) {
    return InvalidArgumentError(absl::StrCat(
        "it has no kernel '", source.symbol, "'; it has: ",
        absl::StrJoin(module.entries, ", ", [](std::string* out, const TileIrEntry& e) { out->append(e.name); })));
  }
  std::vector<std::size_t> sizes;
  for (const std::string& type : entry->parameters) sizes.push_back(TileIrBytes(type));
  return layout.CheckAgainst(sizes);
}

Status CheckPtx(const ParameterLayout& layout, const KernelSource& source) {
  std::optional<std::vector<std::size_t>> sizes = ParameterSizesInPtx(source.content, source.symbol);
  return sizes ? layout.CheckAgainst(*sizes) : InvalidArgumentError("it has no kernel '" + source.symbol + "'");
}

}  // namespace

std::optional<std::vector<std::string>> ParameterNamesInCpp(const KernelSource& source) {
  const bool has_block = source.kind == SourceKind::kHostCpp;
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
    at = close;  // No function is defined between brackets; and each bracket is looked at once.
    std::size_t body = text.find_first_not_of(" \t\r\n", close + 1);
    if (body == std::string::npos || text[body] != '{') continue;  // A call, or a declaration.
    std::optional<std::vector<std::string>> names = NamesIn(text.substr(open + 1, close - open - 1), has_block);
    if (!names || (found && *found != *names)) return std::nullopt;
    found = std::move(names);
  }
  return found;
}

std::optional<std::vector<std::size_t>> ParameterSizesInPtx(const std::string& ptx, const std::string& symbol) {
  for (std::size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at + 1)) {
    std::size_t name = ptx.find_first_not_of(" \t\r\n", at + 6);
    std::size_t end = name == std::string::npos ? name : ptx.find_first_of(" \t\r\n({", name);
    if (end == std::string::npos || ptx.compare(name, end - name, symbol) != 0) continue;
    std::vector<std::size_t> sizes;
    std::size_t stop = std::min(ptx.find('{', end), ptx.find(')', end));
    absl::string_view list = absl::string_view(ptx).substr(end, stop == std::string::npos ? stop : stop - end);
    std::vector<absl::string_view> parameters = absl::StrSplit(list, ".param");
    for (std::size_t i = 1; i < parameters.size(); ++i) sizes.push_back(PtxBytes(parameters[i]));
    return sizes;
  }
  return std::nullopt;
}

namespace {

/// Whether the kernel's name occurs in a C++ source or a header; also where headers are in folders, which nobody looks
/// through.
bool MayHaveKernel(const KernelSource& source) {
  const std::string_view kernel = KernelNameIn(source.symbol);
  return source.content.find(kernel) != std::string::npos ||
         std::any_of(source.headers.begin(), source.headers.end(),
                     [&](const auto& header) { return header.second.find(kernel) != std::string::npos; }) ||
         std::any_of(source.options.begin(), source.options.end(),
                     [](const std::string& option) { return option.rfind("-I", 0) == 0; });
}

Status CheckShown(const ParameterLayout& layout, const KernelSource& source) {
  switch (source.kind) {
    case SourceKind::kTileIr:
      return CheckTileIr(layout, source);
    case SourceKind::kPtx:
      return CheckPtx(layout, source);
    case SourceKind::kCudaCpp:
    case SourceKind::kHostCpp: {
      if (!MayHaveKernel(source)) return InvalidArgumentError("it has no kernel '" + source.symbol + "'");
      std::optional<std::vector<std::string>> names = ParameterNamesInCpp(source);
      return names ? layout.CheckNames(*names) : Status();
    }
    case SourceKind::kCubin:
      break;  // Its sizes are known when it is loaded.
  }
  return Status();
}

}  // namespace

Status CheckSource(const ParameterLayout& layout, const KernelSource& source) {
  if (source.withheld != nullptr) return Status();  // The code shows them when it is loaded.
  TUNEONCE_RETURN_IF_ERROR(source.Check());
  Status status = CheckShown(layout, source);
  return source.file.empty() ? status : status.WithPrefix(source.file);
}

}  // namespace v0
}  // namespace tuneonce
