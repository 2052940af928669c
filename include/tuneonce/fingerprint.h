#ifndef TUNEONCE_FINGERPRINT_H_
#define TUNEONCE_FINGERPRINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tuneonce/api.h"

namespace tuneonce {
inline namespace v0 {

/// A 128-bit hash of content, the same in every process, build and release: it goes into keys on disk.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const Fingerprint& a, const Fingerprint& b) { return a.high == b.high && a.low == b.low; }
  friend bool operator!=(const Fingerprint& a, const Fingerprint& b) { return !(a == b); }
  friend bool operator<(const Fingerprint& a, const Fingerprint& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }

  /// 32 hexadecimal digits.
  TUNEONCE_API std::string ToString() const;
};

/// Builds a Fingerprint from a sequence of fields. Each field is hashed with its length, so that ("ab", "c") and
/// ("a", "bc") differ. The function is FNV-1a with 128 bits (draft-eastlake-fnv, offset basis and prime from there)
/// over little-endian words of 64 bits, in which a field is padded with zeros, and MurmurHash3's last step: no
/// dependency in the minimal build, good enough for content that nobody forges to collide.
class TUNEONCE_API Fingerprinter {
 public:
  Fingerprinter& Add(std::string_view bytes);
  /// Another hash of a field, for long ones, in a third of the time: its words go round four such hashes, none of which
  /// waits for another's multiplication, and what becomes of these is added.
  Fingerprinter& AddInLanes(std::string_view bytes);
  Fingerprinter& Add(std::uint64_t value);
  Fingerprinter& Add(const Fingerprint& fingerprint);
  Fingerprint Finish() const;

 private:
  void Mix(std::uint64_t word);

  std::uint64_t high_ = 0x6c62272e07bb0142u;
  std::uint64_t low_ = 0x62b821756295c58du;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_FINGERPRINT_H_
