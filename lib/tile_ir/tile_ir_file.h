#ifndef TUNEONCE_LIB_TILE_IR_TILE_IR_FILE_H_
#define TUNEONCE_LIB_TILE_IR_TILE_IR_FILE_H_

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Reads a part of a file from front to back. The first thing wrong is kept with its offset in the file; from then on
/// every read gives 0 or nothing, so that parsing code checks once at the end of each step. Loops over counts that come
/// from the file must ask ok().
class ByteReader {
 public:
  /// Reads file[begin, end). REQUIRES: begin <= end <= file.size().
  ByteReader(std::string_view file, std::size_t begin, std::size_t end) : file_(file), position_(begin), end_(end) {}

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  std::size_t offset() const { return position_; }
  std::size_t remaining() const { return ok() ? end_ - position_ : 0; }

  std::uint8_t Byte(const char* what);
  std::uint32_t Word(const char* what);    ///< Four bytes, little endian.
  std::uint64_t Varint(const char* what);  ///< LEB128, at most 64 bits.
  /// A varint that must be below `limit`: an index into a table.
  std::uint64_t Index(const char* what, std::uint64_t limit);
  std::string_view Bytes(std::uint64_t count, const char* what);
  /// Skips to the next multiple of `alignment` counted from `origin`.
  void AlignTo(std::uint64_t alignment, std::size_t origin);
  void Fail(const std::string& message);

 private:
  std::string_view file_;
  std::size_t position_;
  std::size_t end_;
  Status status_;
};

void AppendVarint(std::uint64_t value, std::string* out);

/// The container format of Tile IR bytecode: a header and a list of sections.
struct TileIrFile {
  enum SectionId : std::uint8_t { kEnd = 0, kString = 1, kFunc = 2, kConstant = 4, kType = 5, kGlobal = 6 };

  struct Section {
    std::uint8_t id = 0;
    std::uint64_t alignment = 0;  ///< 0: none was given.
    std::size_t begin = 0;        ///< The offset of the payload in the file.
    std::size_t end = 0;
  };

  std::string_view bytes;
  int major = 0;
  int minor = 0;
  std::vector<Section> sections;  ///< In the file's order.

  static Result<TileIrFile> Parse(std::string_view bytes);
  /// REQUIRES: the section exists (Parse makes sure of kString, kFunc and kType).
  const Section& Find(SectionId id) const;
  bool Has(SectionId id) const;
  bool AtLeast(int required_minor) const { return minor >= required_minor; }
  /// The file again, with other payloads for the sections named in `payloads`.
  std::string Write(const std::vector<std::pair<SectionId, std::string>>& payloads) const;
};

/// The table in a String, Type or Constant section: items by index.
struct TileIrTable {
  std::vector<std::string_view> items;

  /// `offset_bytes`: of the offset of an item, which is 8 in a Constant section.
  static Result<TileIrTable> Parse(const TileIrFile& file, TileIrFile::SectionId id, const char* what,
                                   int offset_bytes = 4);
  /// Returns the index of `item`. Appends a copy if the table does not contain it, so that existing indices stay valid.
  std::uint64_t Intern(std::string_view item);
  std::string Write() const;

 private:
  std::deque<std::string> added_;  // What the last `items` point at.
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_TILE_IR_TILE_IR_FILE_H_
