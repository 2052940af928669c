#include "tuneonce/fingerprint.h"

#include "absl/strings/str_format.h"

namespace tuneonce {
inline namespace v0 {

std::string Fingerprint::ToString() const { return absl::StrFormat("%016x%016x", high, low); }

void Fingerprinter::Mix(const void* data, std::size_t size) {
  // The FNV prime for 128 bits: 2^88 + 2^8 + 0x3b.
  constexpr unsigned __int128 kPrime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
  unsigned __int128 hash = (static_cast<unsigned __int128>(high_) << 64) | low_;
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * kPrime;
  high_ = static_cast<std::uint64_t>(hash >> 64);
  low_ = static_cast<std::uint64_t>(hash);
}

Fingerprinter& Fingerprinter::Add(std::string_view bytes) {
  Add(static_cast<std::uint64_t>(bytes.size()));
  Mix(bytes.data(), bytes.size());
  return *this;
}

Fingerprinter& Fingerprinter::Add(std::uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  Mix(bytes, sizeof(bytes));
  return *this;
}

Fingerprinter& Fingerprinter::Add(const Fingerprint& fingerprint) { return Add(fingerprint.high).Add(fingerprint.low); }

Fingerprint Fingerprinter::Finish() const { return Fingerprint{high_, low_}; }

}  // namespace v0
}  // namespace tuneonce
