#ifndef TUNEONCE_LIB_BASE_MESSAGE_H_
#define TUNEONCE_LIB_BASE_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tuneonce/api.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// Encodes the body of a message between processes (a host and its worker, or ranks): fields in the order in which a
/// MessageReader reads them. Numbers have a fixed width and are little-endian; texts and bytes are preceded by their
/// length. Fields have no tags, so the version of the protocol must change with any message.
class MessageWriter {
 public:
  MessageWriter& U32(std::uint32_t value) { return Raw(&value, sizeof(value)); }
  MessageWriter& U64(std::uint64_t value) { return Raw(&value, sizeof(value)); }
  MessageWriter& I64(std::int64_t value) { return Raw(&value, sizeof(value)); }
  MessageWriter& F64(double value) { return Raw(&value, sizeof(value)); }
  MessageWriter& Bool(bool value) { return U32(value ? 1 : 0); }
  template <typename Word>
  MessageWriter& Enum(Word value) {
    return U32(static_cast<std::uint32_t>(value));
  }
  MessageWriter& Text(std::string_view text) { return Bytes(text); }
  MessageWriter& Bytes(std::string_view bytes) {
    U64(bytes.size());
    body_.append(bytes);
    return *this;
  }
  /// How many elements follow.
  MessageWriter& Count(std::size_t count) { return U64(count); }

  /// Returns the encoded body and leaves the writer empty.
  std::string Take() { return std::move(body_); }

 private:
  MessageWriter& Raw(const void* value, std::size_t bytes) {
    body_.append(static_cast<const char*>(value), bytes);
    return *this;
  }

  std::string body_;
};

/// Decodes the body of a message, which another process may have filled with arbitrary bytes. After the first missing
/// or invalid field everything reads as zero or empty, and `Done` returns an error. It reads nothing out of bounds,
/// allocates no more than the size of the body, and a loop over a `Count` ends.
class TUNEONCE_API MessageReader {
 public:
  /// `body` outlives the reader.
  explicit MessageReader(std::string_view body) : rest_(body) {}

  std::uint32_t U32() { return Raw<std::uint32_t>(); }
  std::uint64_t U64() { return Raw<std::uint64_t>(); }
  std::int64_t I64() { return Raw<std::int64_t>(); }
  double F64() { return Raw<double>(); }
  bool Bool();
  /// Reads a value of an enum, from 0 to `last`.
  template <typename Word>
  Word Enum(Word last) {
    return static_cast<Word>(UpTo(static_cast<std::uint32_t>(last)));
  }
  std::string Text() { return std::string(Bytes()); }
  /// A part of the body, uncopied.
  std::string_view Bytes();
  /// Reads how many elements follow, each of which takes at least `least_bytes` bytes (1 or more). Returns 0 if the
  /// remaining bytes cannot hold that many.
  std::size_t Count(std::size_t least_bytes);

  /// Rejects a field that was present but is invalid. Nothing more is read, and `Done` returns `why`.
  void Refuse(std::string why);

  bool ok() const { return error_.ok(); }
  /// Returns OK if all fields were present and no bytes remain. Errors: Internal, as a Channel returns for an invalid
  /// message.
  Status Done();

 private:
  template <typename Number>
  Number Raw() {
    Number value{};
    std::string_view bytes = Take(sizeof(value));
    if (!bytes.empty()) bytes.copy(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }
  std::uint32_t UpTo(std::uint32_t last);
  std::string_view Take(std::uint64_t count);

  std::string_view rest_;
  Status error_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_MESSAGE_H_
