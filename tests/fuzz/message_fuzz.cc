// A message of any content, read by any list of fields: what a host does with what its worker says. The first bytes are
// the list, the rest is the message.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/encoding.h"

namespace {

using tuneonce::Decoder;
using tuneonce::Encoder;

constexpr std::size_t kMostFields = 24;

enum class Word { kFirst, kSecond, kThird };

/// Reads a field, and writes it again.
void Copy(unsigned char field, Decoder& reader, Encoder& writer) {
  switch (field % 9) {
    case 0:
      writer.U32(reader.U32());
      break;
    case 1:
      writer.U64(reader.U64());
      break;
    case 2:
      writer.I64(reader.I64());
      break;
    case 3:
      writer.F64(reader.F64());
      break;
    case 4:
      writer.Bool(reader.Bool());
      break;
    case 5:
      writer.Enum(reader.Enum(Word::kThird));
      break;
    case 6:
      writer.Text(reader.Text());
      break;
    case 7:
      writer.Bytes(reader.Bytes());
      break;
    case 8: {
      std::size_t count = reader.Count(sizeof(std::uint32_t));
      writer.Count(count);
      for (std::size_t i = 0; i < count; ++i) writer.U32(reader.U32());
      break;
    }
  }
}

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view fields(reinterpret_cast<const char*>(data), std::min(size, kMostFields));
  std::string_view body(reinterpret_cast<const char*>(data) + fields.size(), size - fields.size());
  // All fields, and then the least that makes the message whole: most inputs have some valid beginning.
  for (std::size_t used = 0; used <= fields.size(); ++used) {
    Decoder reader(body);
    Encoder writer;
    for (char field : fields.substr(0, used)) Copy(static_cast<unsigned char>(field), reader, writer);
    bool all_was_there = reader.ok();
    std::string again = writer.Take();
    Require(!all_was_there || again == body.substr(0, again.size()), "what was read is not what was there");
    bool is_whole = reader.Done().ok();
    Require(is_whole == (all_was_there && again.size() == body.size()), "a message is whole if nothing is left of it");
    if (!all_was_there) break;
  }
  return 0;
}
