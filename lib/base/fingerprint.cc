#include "tuneonce/fingerprint.h"

#include <cstring>

#include "absl/strings/str_format.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// MurmurHash3's last step for 64 bits (its constants): each bit of `h` changes about half of the result's.
std::uint64_t Avalanche(std::uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

}  // namespace

std::string Fingerprint::ToString() const { return absl::StrFormat("%016x%016x", high, low); }

void Fingerprinter::Mix(std::uint64_t word) {
  // The FNV prime for 128 bits: 2^88 + 2^8 + 0x3b.
  constexpr unsigned __int128 kPrime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
  unsigned __int128 hash = (static_cast<unsigned __int128>(high_) << 64) | low_;
  hash = (hash ^ word) * kPrime;
  high_ = static_cast<std::uint64_t>(hash >> 64);
  low_ = static_cast<std::uint64_t>(hash);
}

Fingerprinter& Fingerprinter::Add(std::string_view bytes) {
  Mix(bytes.size());
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + sizeof(word) <= bytes.size(); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    Mix(word);
  }
  word = 0;
  if (at < bytes.size()) {
    std::memcpy(&word, bytes.data() + at, bytes.size() - at);
    Mix(word);
  }
  return *this;
}

Fingerprinter& Fingerprinter::Add(std::uint64_t value) {
  Mix(value);
  return *this;
}

Fingerprinter& Fingerprinter::Add(const Fingerprint& fingerprint) { return Add(fingerprint.high).Add(fingerprint.low); }

Fingerprint Fingerprinter::Finish() const {
  // The last words' upper bits have reached the upper half alone: both halves get to see all of both.
  std::uint64_t low = low_ + high_;
  std::uint64_t high = high_ + low;
  low = Avalanche(low);
  high = Avalanche(high);
  low += high;
  return Fingerprint{high + low, low};
}

}  // namespace v0
}  // namespace tuneonce
