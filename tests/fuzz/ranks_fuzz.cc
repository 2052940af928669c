// What another rank may send, of any content: votes, selections, checks, beats, and the offers, words, answers and code
// of a search that is shared out; and what the leader makes of answers. The first byte says which; its highest bit
// leaves the checksum as it comes, else the body gets a valid one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ranks/checksummed_message.h"
#include "ranks/rank_messages.h"
#include "ranks/rank_watch.h"
#include "ranks/search_word.h"
#include "search/search_answer.h"
#include "search/search_ledger.h"
#include "store/checksummed_artifact.h"

namespace {

using tuneonce::Result;

constexpr std::size_t kCandidates = 8;
constexpr unsigned char kAsItComes = 0x80;

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// What could be read is written again as bytes that are read as the same.
template <typename Message, typename Decode, typename Encode>
Result<Message> Read(const std::string& bytes, const Decode& decode, const Encode& encode) {
  Result<Message> message = decode(bytes);
  if (!message.ok()) {
    Require(!message.status().message().empty(), "an error without words");
    return message;
  }
  const std::string again = encode(*message);
  Result<Message> twice = decode(again);
  Require(twice.ok() && encode(*twice) == again, "a message is not what was written of it");
  return message;
}

/// Every answer is taken for a share and for a final race of two ranks: what follows is a selection or none.
void Lead(const tuneonce::SearchAnswer& answer) {
  tuneonce::SearchLedger ledger(kCandidates, /*baseline=*/0);
  for (int rank : {1, 2}) ledger.Take(rank, answer);
  (void)tuneonce::SearchLedger::FinalistsOf(answer, 0);
  for (std::uint64_t place : ledger.Open()) Require(place < kCandidates, "a place that there is not");
  const std::vector<std::uint64_t> finalists = ledger.Finalists();
  for (int rank : {1, 2}) ledger.TakeFinals(rank, answer);
  if (finalists.empty()) return;
  for (std::uint64_t place : finalists) (void)ledger.Find(place);
  const std::optional<std::uint64_t> selection = ledger.Selected(finalists, {});
  Require(!selection || ledger.TimeOf(*selection, {}).value_or(0) > 0, "a selection without a time");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = (data[0] & kAsItComes) != 0 ? body : tuneonce::WithChecksum(body);
  switch ((data[0] & ~kAsItComes) % 8) {
    case 0:
      (void)Read<tuneonce::Vote>(bytes, tuneonce::DecodeVote, tuneonce::EncodeVote);
      break;
    case 1:
      (void)Read<tuneonce::RankDecisions>(bytes, tuneonce::DecodeDecisions, tuneonce::EncodeDecisions);
      break;
    case 2:
      (void)Read<tuneonce::RankChecks>(bytes, tuneonce::DecodeChecks, tuneonce::EncodeChecks);
      break;
    case 3:
      (void)Read<tuneonce::SearchOffer>(bytes, tuneonce::DecodeOffer, tuneonce::EncodeOffer);
      break;
    case 4:
      (void)Read<tuneonce::SearchWord>(bytes, tuneonce::DecodeWord, tuneonce::EncodeWord);
      break;
    case 5: {
      auto decode = [](const std::string& of) { return tuneonce::DecodeAnswer(of, kCandidates); };
      Result<tuneonce::SearchAnswer> answer = Read<tuneonce::SearchAnswer>(bytes, decode, tuneonce::EncodeAnswer);
      if (answer.ok()) Lead(*answer);
      break;
    }
    case 6:
      (void)tuneonce::Beat::Decode(body);
      break;
    case 7:
      (void)tuneonce::DecodeChecksummedArtifact(tuneonce::Fingerprint{1, 2}, bytes);
      break;
  }
  return 0;
}
