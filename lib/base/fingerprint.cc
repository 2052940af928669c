#include "tuneonce/plugin/fingerprint.h"

#include <cstring>

#include "absl/strings/str_format.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Hash = unsigned __int128;

Hash Mixed(Hash hash, std::uint64_t word) {
  // The FNV prime for 128 bits: 2^88 + 2^8 + 0x3b.
  constexpr Hash kPrime = (static_cast<Hash>(1) << 88) + 0x13b;
  return (hash ^ word) * kPrime;
}

/// MurmurHash3's last step for 64 bits (its constants): each bit of `h` changes about half of the result's.
std::uint64_t Avalanche(std::uint64_t h) {
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdu;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53u;
  return h ^ (h >> 33);
}

}  // namespace

std::string Fingerprint::ToString() const { return absl::StrFormat("%016x%016x", high, low); }

void Fingerprinter::Mix(std::uint64_t word) {
  Hash hash = Mixed((static_cast<Hash>(high_) << 64) | low_, word);
  high_ = static_cast<std::uint64_t>(hash >> 64);
  low_ = static_cast<std::uint64_t>(hash);
}

Fingerprinter& Fingerprinter::AddInLanes(std::string_view bytes) {
  constexpr std::size_t kLanes = 4, kBlock = kLanes * sizeof(std::uint64_t);
  Hash lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Mixed((static_cast<Hash>(high_) << 64) | low_, lane);
  std::size_t at = 0;
  for (; at + kBlock <= bytes.size(); at += kBlock) {
    std::uint64_t words[kLanes];
    std::memcpy(words, bytes.data() + at, kBlock);
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = Mixed(lanes[lane], words[lane]);
  }
  for (Hash lane : lanes) {
    Mix(static_cast<std::uint64_t>(lane >> 64));
    Mix(static_cast<std::uint64_t>(lane));
  }
  Mix(bytes.size());
  return Add(bytes.substr(at));
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
