#include "tile_ir/tile_ir_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::string_view kMagic("\x7fTileIR\0", 8);
constexpr std::size_t kHeaderBytes = 12;  // Magic, major, minor, tag (16 bits).
constexpr std::uint8_t kAlignedBit = 0x80;
constexpr std::uint8_t kLastSectionId = 7;
constexpr std::uint64_t kMaxAlignment = 4096;
constexpr char kPadding = '\xcb';
constexpr std::uint64_t kTableAlignment = 4;  // The alignment of the offsets in the String and Type sections.

void Pad(std::uint64_t alignment, std::string* out) {
  while (out->size() % alignment != 0) out->push_back(kPadding);
}

}  // namespace

void ByteReader::Fail(const std::string& message) {
  if (ok()) status_ = InvalidArgumentError(absl::StrCat("Tile IR bytecode, offset ", position_, ": ", message));
}

std::uint8_t ByteReader::Byte(const char* what) {
  std::string_view bytes = Bytes(1, what);
  return bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
}

std::uint32_t ByteReader::Word(const char* what) {
  std::uint32_t word = 0;
  int shift = 0;
  for (char c : Bytes(4, what)) {
    word |= std::uint32_t{static_cast<std::uint8_t>(c)} << shift;
    shift += 8;
  }
  return word;
}

std::uint64_t ByteReader::Varint(const char* what) {
  std::uint64_t value = 0;
  for (int shift = 0; ok(); shift += 7) {
    std::uint8_t byte = Byte(what);
    std::uint64_t bits = byte & 0x7fu;
    if (shift > 63 || (shift == 63 && bits > 1)) {
      Fail(absl::StrCat(what, " is not a number of 64 bits"));
      break;
    }
    value |= bits << shift;
    if ((byte & 0x80u) == 0) break;
  }
  return ok() ? value : 0;
}

std::uint64_t ByteReader::Index(const char* what, std::uint64_t limit) {
  std::size_t at = position_;
  std::uint64_t index = Varint(what);
  if (!ok() || index < limit) return index;
  position_ = at;
  Fail(absl::StrCat(what, " ", index, " is out of range: the file has only ", limit));
  return 0;
}

std::string_view ByteReader::Bytes(std::uint64_t count, const char* what) {
  if (!ok()) return {};
  if (count > end_ - position_) {
    Fail(absl::StrCat("the file ends within ", what));
    return {};
  }
  std::string_view bytes = file_.substr(position_, static_cast<std::size_t>(count));
  position_ += bytes.size();
  return bytes;
}

void ByteReader::AlignTo(std::uint64_t alignment, std::size_t origin) {
  std::uint64_t past = (position_ - origin) % alignment;
  if (past != 0) Bytes(alignment - past, "padding");
}

void AppendVarint(std::uint64_t value, std::string* out) {
  for (; value > 0x7f; value >>= 7) out->push_back(static_cast<char>((value & 0x7f) | 0x80));
  out->push_back(static_cast<char>(value));
}

Result<TileIrFile> TileIrFile::Parse(std::string_view bytes) {
  TileIrFile file;
  file.bytes = bytes;
  ByteReader reader(bytes, 0, bytes.size());
  if (reader.Bytes(kMagic.size(), "the magic number") != kMagic) {
    return InvalidArgumentError("Tile IR bytecode, offset 0: the content does not start with '\\x7fTileIR'");
  }
  file.major = reader.Byte("the version");
  file.minor = reader.Byte("the version");
  reader.Bytes(2, "the version's tag");
  if (reader.ok() && (file.major != 13 || file.minor < 1 || file.minor > 5)) {
    return InvalidArgumentError(absl::StrCat("Tile IR bytecode, offset 8: version ", file.major, ".", file.minor,
                                             " is not supported; 13.1 to 13.5 are"));
  }
  bool seen[kLastSectionId + 1] = {};
  while (reader.ok()) {
    std::uint8_t head = reader.Byte("the list of sections");
    if (!reader.ok() || head == kEnd) break;
    Section section;
    section.id = head & static_cast<std::uint8_t>(~kAlignedBit);
    if (section.id == kEnd || section.id > kLastSectionId || seen[section.id]) {
      reader.Fail(absl::StrCat("section ", section.id, " is unknown, or appears twice"));
      break;
    }
    seen[section.id] = true;
    std::uint64_t length = reader.Varint("a section's length");
    if ((head & kAlignedBit) != 0) {
      section.alignment = reader.Varint("a section's alignment");
      if (section.alignment == 0 || section.alignment > kMaxAlignment) {
        reader.Fail(absl::StrCat("a section's alignment is ", section.alignment));
        break;
      }
      reader.AlignTo(section.alignment, 0);
    }
    section.begin = reader.offset();
    reader.Bytes(length, "a section");
    section.end = reader.offset();
    file.sections.push_back(section);
  }
  if (reader.remaining() != 0) reader.Fail("bytes follow the end");
  for (SectionId id : {kString, kFunc, kType}) {
    if (!seen[id]) reader.Fail(absl::StrCat("section ", id, " is missing"));
  }
  TUNEONCE_RETURN_IF_ERROR(reader.status());
  return file;
}

const TileIrFile::Section& TileIrFile::Find(SectionId id) const {
  return *std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.id == id; });
}

bool TileIrFile::Has(SectionId id) const {
  return std::any_of(sections.begin(), sections.end(), [&](const Section& s) { return s.id == id; });
}

std::string TileIrFile::Write(const std::vector<std::pair<SectionId, std::string>>& payloads) const {
  std::string out(bytes.substr(0, kHeaderBytes));
  out.reserve(bytes.size() + 256);
  for (const Section& section : sections) {
    std::string_view payload = bytes.substr(section.begin, section.end - section.begin);
    for (const auto& [id, changed] : payloads) {
      if (id == section.id) payload = changed;
    }
    out.push_back(static_cast<char>(section.alignment != 0 ? section.id | kAlignedBit : section.id));
    AppendVarint(payload.size(), &out);
    if (section.alignment != 0) {
      AppendVarint(section.alignment, &out);
      Pad(section.alignment, &out);
    }
    out.append(payload);
  }
  out.push_back(static_cast<char>(kEnd));
  return out;
}

Result<TileIrTable> TileIrTable::Parse(const TileIrFile& file, TileIrFile::SectionId id, const char* what,
                                       int offset_bytes) {
  const TileIrFile::Section& section = file.Find(id);
  ByteReader reader(file.bytes, section.begin, section.end);
  std::uint64_t count = reader.Varint(what);
  reader.AlignTo(static_cast<std::uint64_t>(offset_bytes), section.begin);
  if (count > reader.remaining() / static_cast<std::uint64_t>(offset_bytes))
    reader.Fail(absl::StrCat(what, ": ", count, " items do not fit into the section"));
  std::vector<std::uint32_t> offsets;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    offsets.push_back(reader.Word(what));
    if (offset_bytes == 8 && reader.Word(what) != 0)
      reader.Fail(absl::StrCat(what, ": item ", i, " lies outside the section"));
  }
  std::size_t data = reader.offset();
  TileIrTable table;
  for (std::size_t i = 0; i < offsets.size() && reader.ok(); ++i) {
    std::size_t end = i + 1 < offsets.size() ? offsets[i + 1] : section.end - data;
    if (offsets[i] > end || end > section.end - data || (i == 0 && offsets[i] != 0)) {
      reader.Fail(absl::StrCat(what, ": item ", i, " lies outside the section, or is out of order"));
      break;
    }
    table.items.push_back(file.bytes.substr(data + offsets[i], end - offsets[i]));
  }
  TUNEONCE_RETURN_IF_ERROR(reader.status());
  return table;
}

std::uint64_t TileIrTable::Intern(std::string_view item) {
  auto it = std::find(items.begin(), items.end(), item);
  if (it == items.end()) it = items.insert(items.end(), added_.emplace_back(item));
  return static_cast<std::uint64_t>(it - items.begin());
}

std::string TileIrTable::Write() const {
  std::string out;
  AppendVarint(items.size(), &out);
  Pad(kTableAlignment, &out);
  std::uint32_t offset = 0;
  for (std::string_view item : items) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(offset >> shift));
    offset += static_cast<std::uint32_t>(item.size());
  }
  for (std::string_view item : items) out.append(item);
  return out;
}

}  // namespace v0
}  // namespace tuneonce
