#include "shared/shape_line.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Most bytes of a line: names, of which there are kMaxParameters and dims, have no such length.
constexpr std::size_t kMostLineBytes = std::size_t{64} << 10;

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte > ' ' && byte != 0x7f && c != '%' && c != '=' && c != '#' && c != ',' && c != ':';
    if (is_plain) {
      escaped += c;
    } else {
      absl::StrAppend(&escaped, "%", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return escaped;
}

/// False for a '%' without two hexadecimal digits.
bool Unescape(std::string_view text, std::string* unescaped) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      *unescaped += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    if (digits.size() != 2 || !absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) ||
        !absl::ascii_isxdigit(static_cast<unsigned char>(digits[1]))) {
      return false;
    }
    *unescaped += absl::HexStringToBytes(absl::string_view(digits.data(), digits.size()));
    i += 2;
  }
  return true;
}

/// Of "120 launches", as a recorded line's comment begins; 0 for any other.
std::int64_t LaunchesIn(absl::string_view comment) {
  std::int64_t launches = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(comment, ' ', absl::SkipEmpty());
  const bool is_count = words.size() == 2 && words[1] == "launches" && absl::SimpleAtoi(words[0], &launches);
  return is_count ? std::max<std::int64_t>(0, launches) : 0;
}

}  // namespace

Result<ShapeLine> ParseShapeLine(std::string_view line) {
  if (line.size() > kMostLineBytes)
    return InvalidArgumentError(
        absl::StrCat("the line has ", line.size(), " bytes, but a shape has at most ", kMostLineBytes));
  ShapeLine shape;
  absl::string_view text(line.data(), line.size());
  if (std::size_t comment = text.find('#'); comment != absl::string_view::npos) {
    shape.launches = LaunchesIn(text.substr(comment + 1));
    text = text.substr(0, comment);
  }
  bool is_first = true;
  for (absl::string_view word : absl::StrSplit(text, absl::ByAnyChar(" \t\r,"), absl::SkipEmpty())) {
    const std::size_t equals = word.find('=');
    absl::string_view left = word.substr(0, equals);
    if (equals == absl::string_view::npos && is_first) absl::ConsumeSuffix(&left, ":");
    std::string name;
    std::string value;
    if (!Unescape({left.data(), left.size()}, &name)) {
      return InvalidArgumentError(absl::StrCat("'", word, "': % must be followed by two hexadecimal digits"));
    }
    if (equals == absl::string_view::npos && is_first) {
      shape.kernel = std::move(name);
    } else if (equals == absl::string_view::npos || equals == 0 || equals + 1 == word.size()) {
      return InvalidArgumentError(absl::StrCat("'", word, "' is not of the form NAME=VALUE"));
    } else {
      value = std::string(word.substr(equals + 1));
      for (const auto& [other, unused] : shape.values) {
        if (other == name) return InvalidArgumentError(absl::StrCat("'", name, "' is given twice"));
      }
      shape.values.emplace_back(std::move(name), std::move(value));
    }
    is_first = false;
  }
  return shape;
}

std::string ShapeText(const ShapeLine& shape) {
  std::string text = Escaped(shape.kernel);
  for (const auto& [name, value] : shape.values) {
    absl::StrAppend(&text, text.empty() ? "" : " ", Escaped(name), "=", Escaped(value));
  }
  return text;
}

std::string ShapeLineText(const std::string& shape_text, std::int64_t launches) {
  return absl::StrCat(shape_text, "  # ", launches, " launches");
}

}  // namespace v0
}  // namespace tuneonce
