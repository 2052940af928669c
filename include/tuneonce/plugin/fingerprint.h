#ifndef TUNEONCE_PLUGIN_FINGERPRINT_H_
#define TUNEONCE_PLUGIN_FINGERPRINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A 128-bit hash of content. It is the same in every process, build and release, because keys on disk contain it.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const Fingerprint& a, const Fingerprint& b) { return a.high == b.high && a.low == b.low; }
  friend bool operator!=(const Fingerprint& a, const Fingerprint& b) { return !(a == b); }
  friend bool operator<(const Fingerprint& a, const Fingerprint& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  }

  /// Returns 32 hexadecimal digits: `high`, then `low`.
  TUNEONCE_API std::string ToString() const;
};

/// Computes a Fingerprint of a sequence of fields. Each field is hashed with its length, so that ("ab", "c") and ("a",
/// "bc") differ. The function is 128-bit FNV-1a (draft-eastlake-fnv, with its offset basis and prime) over
/// little-endian 64-bit words, with each field padded with zeros, followed by the final step of MurmurHash3. It adds no
/// dependency. It is not cryptographic: it does not protect against content that was forged to have equal fingerprints.
class TUNEONCE_API Fingerprinter {
 public:
  /// Adds one field of bytes.
  Fingerprinter& Add(std::string_view bytes);
  /// Adds a long field in a third of the time of Add. Its words are distributed over four independent hashes, so that
  /// no multiplication waits for another one, and the four results are added. The fingerprint differs from that of Add.
  Fingerprinter& AddInLanes(std::string_view bytes);
  /// Adds one field of 8 bytes.
  Fingerprinter& Add(std::uint64_t value);
  /// Adds another fingerprint as one field.
  Fingerprinter& Add(const Fingerprint& fingerprint);
  /// Returns the fingerprint of all fields added so far.
  Fingerprint Finish() const;

 private:
  TUNEONCE_LOCAL void Mix(std::uint64_t word);

  std::uint64_t high_ = 0x6c62272e07bb0142u;
  std::uint64_t low_ = 0x62b821756295c58du;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_PLUGIN_FINGERPRINT_H_
