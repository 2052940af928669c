#ifndef TUNEONCE_TESTS_FUZZ_CHECKSUM_H_
#define TUNEONCE_TESTS_FUZZ_CHECKSUM_H_

#include <string>
#include <string_view>

#include "base/encoding.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {

constexpr std::size_t kChecksumBytes = sizeof(Fingerprint);

/// `content` as Encoder::Finish would end it.
inline std::string WithChecksum(std::string_view content) {
  Fingerprint checksum = Fingerprinter().Add(content).Finish();
  std::string bytes(content);
  bytes.append(reinterpret_cast<const char*>(&checksum.high), sizeof(checksum.high));
  bytes.append(reinterpret_cast<const char*>(&checksum.low), sizeof(checksum.low));
  return bytes;
}

/// The other way round, for seeds.
inline std::string WithoutChecksum(std::string bytes) {
  bytes.resize(bytes.size() - kChecksumBytes);
  return bytes;
}

}  // namespace tuneonce

#endif  // TUNEONCE_TESTS_FUZZ_CHECKSUM_H_
