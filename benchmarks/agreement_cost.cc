// What an agreement of ranks costs its engine: calls and bytes of a rank for one list of keys, and the wall time of all
// ranks as threads of this machine. Simulated: no network, no GPU, no search; an engine's own time comes on top of it.
//
//   agreement_cost_benchmark
#include <benchmark/benchmark.h>

#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ranks/agree.h"
#include "ranks/agreement.h"
#include "ranks/rank_turn.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/rank_group.h"

namespace tuneonce {
namespace {

constexpr int kLongSilenceMs = 60000;
/// A record of a search among thirty configs has about as many bytes.
constexpr std::size_t kRecordBytes = 3000;

/// Counts what goes through another rank.
class CountedRank final : public RankGroup {
 public:
  explicit CountedRank(std::shared_ptr<RankGroup> inner) : inner_(std::move(inner)) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Status Put(const std::string& name, const std::string& bytes) override {
    ++beats;
    return inner_->Put(name, bytes);
  }
  Result<std::optional<std::string>> Get(const std::string& name, int wait_ms) override {
    Result<std::optional<std::string>> got = inner_->Get(name, wait_ms);
    const bool is_message = got.ok() && *got && name.rfind("beat/", 0) != 0;
    if (is_message) bytes_got += (*got)->size();
    (is_message ? messages_got : looks) += 1;
    return got;
  }
  Result<std::string> PutOnce(const std::string& name, const std::string& bytes, int wait_ms) override {
    ++messages_put;
    bytes_put += bytes.size();
    return inner_->PutOnce(name, bytes, wait_ms);
  }

  std::uint64_t messages_put = 0, bytes_put = 0, messages_got = 0, bytes_got = 0, looks = 0, beats = 0;

 private:
  const std::shared_ptr<RankGroup> inner_;
};

Fingerprint OfText(const std::string& text) { return Fingerprinter().Add(text).Finish(); }

/// Who has a record of each key before an agreement.
enum Records { kOfRankZero, kTheSame, kNone };

/// Searches, where there are no records, take no time.
void AgreeOnce(CountedRank& group, int keys, Records records) {
  const RankTurn turn(group);
  Agreement::Options options;
  options.rank = group.rank();
  options.size = group.size();
  options.turn = turn.number();
  options.nonce = turn.nonce();
  Vote vote;
  vote.kind = "NVIDIA H200 (capability 90, 132 SMs, driver 13000)";
  for (int key = 0; key < keys; ++key) {
    KeyVote of;
    of.key = of.search = OfText(std::to_string(key));
    of.definition = OfText("definition");
    if (records == kTheSame || (records == kOfRankZero && options.rank == 0)) {
      of.state = KeyVote::kStored;
      of.selection = OfText("selection");
    }
    vote.keys.push_back(of);
  }
  Agreement agreement(options, std::move(vote));
  AgreementWork work;
  work.find = [](std::size_t, const Agreement&, RankBeat&) -> Result<std::string> {
    return std::string(kRecordBytes, 'r');
  };
  work.make_ready = [](std::size_t, const Agreement&, RankBeat&) -> Result<Fingerprint> { return OfText("code"); };
  std::set<int> silent;
  Agree(group, kLongSilenceMs, work, &agreement, &silent);
}

void Agreements(benchmark::State& state) {
  const int ranks = static_cast<int>(state.range(0)), keys = static_cast<int>(state.range(1));
  const auto records = static_cast<Records>(state.range(2));
  std::uint64_t runs = 0;
  std::vector<std::uint64_t> totals(5);
  for (auto _ : state) {
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<CountedRank>> counted;
    for (const std::shared_ptr<RankGroup>& group : MakeThreadRanks(ranks))
      counted.push_back(std::make_unique<CountedRank>(group));
    for (const auto& group : counted) threads.emplace_back([&] { AgreeOnce(*group, keys, records); });
    for (std::thread& thread : threads) thread.join();
    ++runs;
    const CountedRank& last = *counted.back();  // One that decides nothing.
    totals[0] += last.messages_put;
    totals[1] += last.bytes_put;
    totals[2] += last.messages_got;
    totals[3] += last.bytes_got;
    totals[4] += last.looks;
  }
  const char* const names[] = {"put", "bytes_put", "got", "bytes_got", "looks_in_vain"};
  for (std::size_t i = 0; i < totals.size(); ++i)
    state.counters[names[i]] = static_cast<double>(totals[i]) / static_cast<double>(runs);
}

BENCHMARK(Agreements)
    ->ArgsProduct({{4, 16, 64}, {1, 16}, {kOfRankZero, kTheSame, kNone}})
    ->ArgNames({"ranks", "keys", "records"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace tuneonce

BENCHMARK_MAIN();
