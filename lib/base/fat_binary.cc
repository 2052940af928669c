#include "base/fat_binary.h"

#include <cstdint>
#include <cstring>

namespace tuneonce {
inline namespace v0 {
namespace {

/// The start of a fatbin (fatBinaryHeader of CUDA's fatbinary.h).
struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;  // Behind the header.
};
constexpr std::uint32_t kMagic = 0xba55ed50;

}  // namespace

bool IsFatBinary(std::string_view bytes) {
  return bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), &kMagic, sizeof(kMagic)) == 0;
}

Status CheckFatBinary(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof(header)) return InvalidArgumentError("the fatbin's header is truncated");
  std::memcpy(&header, bytes.data(), sizeof(header));
  bool is_whole = header.header_bytes >= sizeof(header) && header.header_bytes <= bytes.size() &&
                  header.content_bytes <= bytes.size() - header.header_bytes;
  return is_whole ? Status() : InvalidArgumentError("the fatbin is truncated");
}

}  // namespace v0
}  // namespace tuneonce
