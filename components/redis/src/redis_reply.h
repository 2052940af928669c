#ifndef TUNEONCE_COMPONENTS_REDIS_REDIS_REPLY_H_
#define TUNEONCE_COMPONENTS_REDIS_REDIS_REPLY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace tuneonce {
inline namespace v0 {

/// A server's answer. A value.
struct RedisReply {
  enum class Kind { kNil, kInteger, kText, kArray };
  Kind kind = Kind::kNil;
  std::int64_t integer = 0;
  std::string text;  ///< Bytes.
  std::vector<RedisReply> elements;

  bool is_nil() const { return kind == Kind::kNil; }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_COMPONENTS_REDIS_REDIS_REPLY_H_
