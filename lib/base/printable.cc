#include "base/printable.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace tuneonce {
inline namespace v0 {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// Unicode 15: controls (Cc) and those format characters (Cf) that hide, join or reorder text, and the two separators
/// that some terminals and editors break a line at.
constexpr Range kNotShown[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},   {0x180e, 0x180e}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

bool IsShown(std::uint32_t code) {
  return std::none_of(std::begin(kNotShown), std::end(kNotShown),
                      [&](const Range& range) { return code >= range.first && code <= range.last; });
}

/// Bytes of the UTF-8 character that `text` starts with (RFC 3629: no overlong forms, no surrogates), or 0.
std::size_t DecodeUtf8(std::string_view text, std::uint32_t* code) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  std::uint8_t lead = byte(0);
  std::size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  *code = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  bool is_surrogate = *code >= 0xd800 && *code <= 0xdfff;
  return *code < kLeast[length] || *code > 0x10ffff || is_surrogate ? 0 : length;
}

std::string Escape(std::uint32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return code < 0x80 ? absl::StrFormat("\\x%02x", code) : absl::StrFormat("\\u%04x", code);
  }
}

std::string Show(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    std::uint32_t code = 0;
    std::size_t length = DecodeUtf8(text, &code);
    if (length == 0) {
      shown += absl::StrFormat("\\x%02x", static_cast<std::uint8_t>(text[0]));
      length = 1;
    } else if (IsShown(code) || kept.find(text[0]) != std::string_view::npos) {
      shown.append(text.substr(0, length));
    } else {
      shown += Escape(code);
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace

std::string Printable(std::string_view text) { return Show(text, ""); }

std::string PrintableLines(std::string_view text) { return Show(text, "\n\t"); }

}  // namespace v0
}  // namespace tuneonce
