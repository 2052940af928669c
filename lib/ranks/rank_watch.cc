#include "ranks/rank_watch.h"

#include "absl/strings/str_cat.h"
#include "base/encoding.h"

namespace tuneonce {
inline namespace v0 {

std::string Beat::NameOf(int rank) { return absl::StrCat("beat/", rank); }

std::string Beat::Encode() const { return Encoder().U64(turn).U64(nonce).U64(steps).U64(num_said).Take(); }

std::optional<Beat> Beat::Decode(const std::string& bytes) {
  Decoder reader(bytes);
  Beat beat;
  beat.turn = reader.U64();
  beat.nonce = reader.U64();
  beat.steps = reader.U64();
  beat.num_said = reader.U64();
  return reader.Done().ok() ? std::optional<Beat>(beat) : std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce
