#include "ranks/search_board.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/callback.h"
#include "ranks/group_call.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Longest time without a beat, or a look at whether this rank is to go on.
constexpr int kSliceMs = 50;

/// What is not whole yet is read again: it may be only half there.
template <typename Message>
Result<std::optional<Message>> WhenWhole(const Result<std::optional<std::string>>& bytes,
                                         Result<Message> (*decode)(const std::string&)) {
  if (!bytes.ok()) return bytes.status();
  if (!*bytes) return std::optional<Message>();
  Result<Message> message = decode(**bytes);
  return message.ok() ? std::optional<Message>(*std::move(message)) : std::optional<Message>();
}

}  // namespace

std::string SearchBoard::Cell(const char* what, int word) const {
  return absl::StrCat("turn", context_.turn, "/search/", leader_, "/", num_offers_, "/", what, "/", word);
}

Status SearchBoard::Write(const std::string& cell, const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(const std::string held, WriteOnce(cell, bytes));
  if (held == bytes) return Status();
  return FailedPreconditionError("another process with this rank's number has written '" + cell + "'");
}

Result<std::string> SearchBoard::WriteOnce(const std::string& cell, const std::string& bytes) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(context_.silence_ms);
  for (;;) {
    Result<std::string> held = PutOnceInto(context_.group, cell, bytes, std::min(kSliceMs, context_.silence_ms));
    if (held.status().code() != StatusCode::kDeadlineExceeded || std::chrono::steady_clock::now() >= end) return held;
    context_.beat.Step();
    if (IsInterrupted(context_.interrupted)) return CancelledError("interrupted");
  }
}

Status SearchBoard::Offer(const SearchOffer& offer) {
  ++num_offers_;
  return Write(Cell("offer", 0), EncodeOffer(offer));
}

Result<std::optional<SearchOffer>> SearchBoard::NextOffer(int wait_ms) {
  ++num_offers_;
  Result<std::optional<SearchOffer>> offer =
      WhenWhole(GetFrom(context_.group, Cell("offer", 0), wait_ms), &DecodeOffer);
  if (!offer.ok() || !*offer) --num_offers_;
  return offer;
}

Status SearchBoard::Join() { return Write(Cell("joined", context_.group.rank()), "joined"); }

Result<bool> SearchBoard::HasJoined(int rank) {
  TUNEONCE_ASSIGN_OR_RETURN(std::optional<std::string> joined, GetFrom(context_.group, Cell("joined", rank), 0));
  return joined.has_value();
}

Status SearchBoard::Say(int word, const SearchWord& what) { return Write(Cell("word", word), EncodeWord(what)); }

Result<std::optional<SearchWord>> SearchBoard::WordOf(int word, int wait_ms) {
  return WhenWhole(GetFrom(context_.group, Cell("word", word), wait_ms), &DecodeWord);
}

Result<int> SearchBoard::Claim(int word, std::uint64_t place) {
  context_.beat.Step();
  TUNEONCE_ASSIGN_OR_RETURN(const std::string held, WriteOnce(absl::StrCat(Cell("claim", word), "/", place),
                                                              absl::StrCat(context_.group.rank())));
  int holder = -1;
  if (absl::SimpleAtoi(held, &holder) && holder >= 0 && holder < context_.group.size()) return holder;
  return InternalError("invalid rank in claim: '" + held + "'");
}

Status SearchBoard::Answer(int word, const std::string& bytes) {
  return Write(absl::StrCat(Cell("answer", word), "/", context_.group.rank()), bytes);
}

Result<std::optional<std::string>> SearchBoard::AnswerOf(int word, int rank, int wait_ms) {
  return GetFrom(context_.group, absl::StrCat(Cell("answer", word), "/", rank), wait_ms);
}

}  // namespace v0
}  // namespace tuneonce
