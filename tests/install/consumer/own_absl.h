// A host with an `absl` of its own: same namespace, same names, other layout. It must not meet tuneonce's.
#ifndef CONSUMER_OWN_ABSL_H_
#define CONSUMER_OWN_ABSL_H_

#include <string>

namespace absl {

class Status {
 public:
  explicit Status(int code) : code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
  double unlike_any_other_[7] = {};
};

std::string StrCat(const std::string& a, const std::string& b);

}  // namespace absl

#endif  // CONSUMER_OWN_ABSL_H_
