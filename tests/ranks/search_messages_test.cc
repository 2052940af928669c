// What ranks of a shared search send: as it was, or an error; and code, which is taken whole or not at all.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ranks/checksummed_message.h"
#include "ranks/code_exchange.h"
#include "ranks/search_word.h"
#include "search/search_answer.h"
#include "testing/expect_status.h"
#include "tuneonce/artifact_cache.h"

namespace tuneonce {
namespace {

constexpr std::size_t kListed = 4;

SearchAnswer SomeAnswer() {
  SearchAnswer answer;
  answer.tried.resize(kListed);
  for (std::size_t i = 0; i < kListed; ++i) answer.tried[i].place = i;
  answer.tried[0].kind = TriedCandidate::kMeasured;
  answer.tried[0].success.variant = "fast";
  answer.tried[0].success.measurement = {12.5, 0.25, 7, 0.5, 12, 11, 14};
  answer.tried[0].success.largest_difference = OutputDifference{"y", 0.125, 0.5};
  answer.tried[1].kind = TriedCandidate::kFailed;
  answer.tried[1].failure = {Config(), FailureKind::kTimeout, "too long", true};
  answer.tried[2].kind = TriedCandidate::kDuplicate;
  answer.tried[2].same_as = 0;
  answer.cost.num_compiled = 3;
  return answer;
}

struct SentMessage {
  std::string bytes;
  std::function<Status(const std::string&)> decode;
};

std::vector<SentMessage> Messages() {
  const SearchWord word{SearchWord::kFinals, {3, 1, 2}, /*num_ranks=*/4, {{1, 2}, {3, 4}}};
  SearchAnswer failed;
  failed.status = Status::FromDriver(StatusCode::kInternal, "the context is lost", 700, /*sticky=*/true);
  auto answer = [](const std::string& bytes) { return DecodeAnswer(bytes, kListed).status(); };
  return {{EncodeOffer({false, {5, 6}, true, {7, 8}}), [](const auto& bytes) { return DecodeOffer(bytes).status(); }},
          {EncodeWord(word), [](const auto& bytes) { return DecodeWord(bytes).status(); }},
          {EncodeAnswer(SomeAnswer()), answer},
          {EncodeAnswer(failed), answer}};
}

TEST(SearchMessagesTest, TheyComeThroughAsTheyWere) {
  const SearchAnswer sent = SomeAnswer();
  Result<SearchAnswer> got = DecodeAnswer(EncodeAnswer(sent), kListed);
  ASSERT_OK(got);
  ASSERT_EQ(got->tried.size(), kListed);
  EXPECT_EQ(got->tried[0].success.measurement.mean_us, 12.5);
  EXPECT_EQ(got->tried[0].success.measurement.error_margin_us, 0.25);
  EXPECT_EQ(got->tried[0].success.largest_difference->share_of_tolerance, 0.5);
  EXPECT_EQ(got->tried[1].failure.message, "too long");
  EXPECT_TRUE(got->tried[1].failure.is_transient);
  EXPECT_EQ(got->tried[2].same_as, 0u);
  EXPECT_EQ(got->tried[3].kind, TriedCandidate::kNotMeasured);
  EXPECT_EQ(got->cost.num_compiled, 3);
  EXPECT_EQ(EncodeAnswer(*got), EncodeAnswer(sent));
  Result<SearchWord> word = DecodeWord(Messages()[1].bytes);
  ASSERT_OK(word);
  EXPECT_EQ(word->places, (std::vector<std::uint64_t>{3, 1, 2}));
  EXPECT_EQ(word->num_ranks, 4);
  EXPECT_EQ(word->code.size(), 2u);
  Result<SearchAnswer> failed = DecodeAnswer(Messages()[3].bytes, kListed);
  ASSERT_OK(failed);
  EXPECT_TRUE(failed->status.sticky());
}

TEST(SearchMessagesTest, WhatIsCutOrChangedOrOfOtherCandidatesIsAnError) {
  for (const SentMessage& message : Messages()) {
    EXPECT_OK(message.decode(message.bytes));
    for (std::size_t size = 0; size < message.bytes.size(); ++size) {
      EXPECT_FALSE(message.decode(message.bytes.substr(0, size)).ok()) << size;
      std::string changed = message.bytes;
      changed[size] = static_cast<char>(changed[size] ^ 4);
      EXPECT_FALSE(message.decode(changed).ok()) << size;
    }
  }
  EXPECT_ERROR(DecodeAnswer(Messages()[2].bytes, kListed - 1).status(), StatusCode::kInternal,
               "candidates that this rank does not have");
}

TEST(SearchMessagesTest, WhatIsBehindAValidChecksumIsReadWithoutHarmWhateverItIs) {
  std::mt19937 random(7);
  for (const SentMessage& message : Messages()) {
    Result<std::string_view> body = Opened(message.bytes);
    ASSERT_OK(body);
    for (int i = 0; i < 2000; ++i) {
      std::string changed(*body);
      for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
        changed[random() % changed.size()] = static_cast<char>(random());
      }
      if (random() % 4 == 0) changed.resize(random() % (changed.size() + 1));
      (void)message.decode(WithChecksum(changed));
    }
  }
}

TEST(CodeExchangeTest, CodeComesThroughWholeOrNotAtAll) {
  const std::vector<std::shared_ptr<RankGroup>> ranks = MakeThreadRanks(2);
  const Fingerprint key{1, 2}, other{3, 4};
  Artifact artifact;
  artifact.image = "code";
  artifact.symbol = "k";
  artifact.code_fingerprint = {9, 9};
  MemoryArtifactCache mine, theirs;
  EXPECT_FALSE(PublishCode(*ranks[0], mine, key)) << "it is not there";
  ASSERT_OK(mine.Put(key, artifact));
  EXPECT_FALSE(FetchCode(*ranks[1], theirs, key)) << "it was not sent";
  EXPECT_TRUE(PublishCode(*ranks[0], mine, key));
  EXPECT_TRUE(FetchCode(*ranks[1], theirs, key));
  EXPECT_EQ((**theirs.Get(key)).image, "code");
  EXPECT_FALSE(FetchCode(*ranks[1], theirs, Fingerprint())) << "what cannot be cached has no name";
  // Cut, and under another name.
  const std::string sent = **ranks[1]->Get("code/" + key.ToString(), 0);
  MemoryArtifactCache third;
  ASSERT_OK(ranks[0]->Put("code/" + other.ToString(), sent));
  EXPECT_FALSE(FetchCode(*ranks[1], third, other));
  ASSERT_OK(ranks[0]->Put("code/" + key.ToString(), sent.substr(0, sent.size() / 2)));
  EXPECT_FALSE(FetchCode(*ranks[1], third, key));
  EXPECT_FALSE(third.Get(key)->has_value());
  // What is larger than the bound stays at home.
  artifact.image.assign(kMostCodeBytes, 'x');
  ASSERT_OK(mine.Put(other, artifact));
  EXPECT_FALSE(PublishCode(*ranks[0], mine, other));
}

}  // namespace
}  // namespace tuneonce
