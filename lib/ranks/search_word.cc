#include "ranks/search_word.h"

#include "ranks/checksummed_message.h"

namespace tuneonce {
inline namespace v0 {

std::string EncodeOffer(const SearchOffer& offer) {
  MessageWriter writer;
  Write(writer.Bool(offer.is_last), offer.key).Bool(offer.at_bound);
  Write(writer, offer.candidates);
  return WithChecksum(writer.Take());
}

Result<SearchOffer> DecodeOffer(const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, Opened(bytes));
  MessageReader reader(body);
  SearchOffer offer;
  offer.is_last = reader.Bool();
  offer.key = ReadFingerprint(reader);
  offer.at_bound = reader.Bool();
  offer.candidates = ReadFingerprint(reader);
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return offer;
}

std::string EncodeWord(const SearchWord& word) {
  MessageWriter writer;
  writer.Enum(word.kind).Count(word.places.size());
  for (std::uint64_t place : word.places) writer.U64(place);
  writer.I64(word.num_ranks);
  writer.Count(word.code.size());
  for (const Fingerprint& code : word.code) Write(writer, code);
  return WithChecksum(writer.Take());
}

Result<SearchWord> DecodeWord(const std::string& bytes) {
  TUNEONCE_ASSIGN_OR_RETURN(std::string_view body, Opened(bytes));
  MessageReader reader(body);
  SearchWord word;
  word.kind = reader.Enum(SearchWord::kOver);
  for (std::size_t i = reader.Count(sizeof(std::uint64_t)); i > 0; --i) word.places.push_back(reader.U64());
  constexpr std::int64_t kMostRanks = 1 << 20;
  const std::int64_t num_ranks = reader.I64();
  if (num_ranks < 1 || num_ranks > kMostRanks) reader.Refuse("an invalid number of ranks");
  word.num_ranks = static_cast<int>(num_ranks);
  for (std::size_t i = reader.Count(sizeof(Fingerprint)); i > 0; --i) word.code.push_back(ReadFingerprint(reader));
  TUNEONCE_RETURN_IF_ERROR(reader.Done());
  return word;
}

}  // namespace v0
}  // namespace tuneonce
