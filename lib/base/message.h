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

/// Writes the body of a message between processes (a host and its worker, ranks): fields one after the other, in the
/// order in which a MessageReader asks for them. Numbers have a fixed width and are little-endian, texts and bytes have
/// their length before them. Nothing says what a field is: the version of a protocol does, which changes with any
/// message.
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

  /// What was written; the writer is empty afterwards.
  std::string Take() { return std::move(body_); }

 private:
  MessageWriter& Raw(const void* value, std::size_t bytes) {
    body_.append(static_cast<const char*>(value), bytes);
    return *this;
  }

  std::string body_;
};

/// Reads what a MessageWriter wrote, or anything else: another process may send anything. After the first field that
/// is not there, or is none, all read as zero and empty; `Done` then says so. Reads nothing out of bounds, allocates no
/// more than the bytes that are there, and a loop over a `Count` ends.
class TUNEONCE_API MessageReader {
 public:
  /// `body` outlives the reader.
  explicit MessageReader(std::string_view body) : rest_(body) {}

  std::uint32_t U32() { return Raw<std::uint32_t>(); }
  std::uint64_t U64() { return Raw<std::uint64_t>(); }
  std::int64_t I64() { return Raw<std::int64_t>(); }
  double F64() { return Raw<double>(); }
  bool Bool();
  /// One of the values 0 to `last` of an enum.
  template <typename Word>
  Word Enum(Word last) {
    return static_cast<Word>(UpTo(static_cast<std::uint32_t>(last)));
  }
  std::string Text() { return std::string(Bytes()); }
  /// A part of the body, uncopied.
  std::string_view Bytes();
  /// How many elements follow, of which each takes `least_bytes` or more in the message (1 or more); 0 if the bytes
  /// that are left could not hold so many.
  std::size_t Count(std::size_t least_bytes);

  /// For a field that was there, but cannot be: nothing more is read, and `Done` says `why`.
  void Refuse(std::string why);

  bool ok() const { return error_.ok(); }
  /// OK if all was there and nothing is left. Errors: Internal, which a Channel has for what is no message.
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
