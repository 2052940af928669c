#ifndef TUNEONCE_LIB_BASE_FIELD_CODEC_H_
#define TUNEONCE_LIB_BASE_FIELD_CODEC_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {

// One list of a struct's fields serves both directions: a function template that calls `fields(a, b, ...)` with the
// struct's members, for a FieldEncoder or a FieldDecoder. `Derived` encodes what these do not know (`Other`), enums and
// structs at least, and may overload `Add` or `Read` for types with a form of their own.

template <typename Derived>
class FieldEncoder {
 public:
  template <typename... Values>
  void operator()(const Values&... values) {
    (self().Add(values), ...);
  }

  void Add(bool value) { encoder_.Bool(value); }
  void Add(int value) { encoder_.I64(value); }
  void Add(std::int64_t value) { encoder_.I64(value); }
  void Add(std::uint64_t value) { encoder_.U64(value); }
  void Add(double value) { encoder_.F64(value); }
  void Add(const std::string& value) { encoder_.Text(value); }
  void Add(const Fingerprint& value) { encoder_.Add(value); }
  template <typename A, typename B>
  void Add(const std::pair<A, B>& value) {
    self()(value.first, value.second);
  }
  template <typename T>
  void Add(const std::optional<T>& value) {
    encoder_.Bool(value.has_value());
    if (value) self().Add(*value);
  }
  template <typename T, std::size_t kCount>
  void Add(const std::array<T, kCount>& values) {
    for (const T& value : values) self().Add(value);
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    AddAll(values);
  }
  template <typename K, typename V>
  void Add(const std::map<K, V>& values) {
    AddAll(values);
  }
  template <typename T>
  void Add(const T& value) {
    self().Other(value);
  }

  Encoder& encoder() { return encoder_; }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
  template <typename Values>
  void AddAll(const Values& values) {
    encoder_.Count(values.size());
    for (const auto& value : values) self().Add(value);
  }

  Encoder encoder_;
};

template <typename Derived>
class FieldDecoder {
 public:
  explicit FieldDecoder(std::string_view body, EncodedWhat what = {}) : decoder_(body, what) {}

  template <typename... Values>
  void operator()(Values&... values) {
    (self().Read(values), ...);
  }

  void Read(bool& value) { value = decoder_.Bool(); }
  void Read(int& value) { value = static_cast<int>(decoder_.I64()); }
  void Read(std::int64_t& value) { value = decoder_.I64(); }
  void Read(std::uint64_t& value) { value = decoder_.U64(); }
  void Read(double& value) { value = decoder_.F64(); }
  void Read(std::string& value) { value = decoder_.Text(); }
  void Read(Fingerprint& value) { value = decoder_.ReadFingerprint(); }
  template <typename A, typename B>
  void Read(std::pair<A, B>& value) {
    self()(value.first, value.second);
  }
  template <typename T>
  void Read(std::optional<T>& value) {
    // emplace() without a value: clang 14 takes a nested struct with initializers for not default-constructible.
    if (decoder_.Bool()) self().Read(value.emplace(T()));
  }
  template <typename T, std::size_t kCount>
  void Read(std::array<T, kCount>& values) {
    for (T& value : values) self().Read(value);
  }
  template <typename T>
  void Read(std::vector<T>& values) {
    constexpr std::size_t kLeastBytes = 4;  // Each element is a number or has one.
    for (std::size_t left = decoder_.Count(kLeastBytes); left > 0 && decoder_.ok(); --left) {
      self().Read(values.emplace_back());
    }
  }
  template <typename K, typename V>
  void Read(std::map<K, V>& values) {
    std::vector<std::pair<K, V>> pairs;
    Read(pairs);
    values.insert(pairs.begin(), pairs.end());
  }
  template <typename T>
  void Read(T& value) {
    self().Other(value);
  }

  Decoder& decoder() { return decoder_; }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }

  Decoder decoder_;
};

// The codec of structs whose fields `ListFields(fields, value)` lists, and whose enums have their last value as
// `LastOf(value)`, both found beside the type: others are refused.

class PlainEncoder final : public FieldEncoder<PlainEncoder> {
 public:
  template <typename T>
  void Other(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      encoder().Enum(value);
    } else {
      ListFields(*this, value);
    }
  }
};

class PlainDecoder final : public FieldDecoder<PlainDecoder> {
 public:
  using FieldDecoder::FieldDecoder;
  template <typename T>
  void Other(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = decoder().Enum(LastOf(value));
    } else {
      ListFields(*this, value);
    }
  }
};

/// Decodes the whole body. Errors: as Decoder::Done.
template <typename T>
Result<T> DecodePlain(std::string_view body, EncodedWhat what = {}) {
  PlainDecoder decoder(body, what);
  T value;
  decoder(value);
  TUNEONCE_RETURN_IF_ERROR(decoder.decoder().Done());
  return value;
}

// Defines ListFields of a struct, once for writers, which have a const struct `m`, and for readers:
// TUNEONCE_FIELDS(Point, m.x, m.y).
#define TUNEONCE_FIELDS(Struct, ...)                                                                           \
  template <typename F, typename T, std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Struct>, int> = 0> \
  void ListFields(F& fields, T& m) {                                                                           \
    fields(__VA_ARGS__);                                                                                       \
  }                                                                                                            \
  static_assert(true, "so that a semicolon can follow")

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_FIELD_CODEC_H_
