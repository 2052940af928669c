// What the store on disk costs: a lookup and a put with 10, 1000 and 100000 records there, and many processes at once.
// JSON with --benchmark_format=json. The store lies in TMPDIR.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "base/environment.h"
#include "base/temporary_folder.h"
#include "store/memory_store.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"

namespace tuneonce {
namespace {

TuningRecord Record(std::uint64_t word) {
  TuningRecord record;
  record.key.kernel = "kernel";
  record.key.kernel_fingerprint = Fingerprint{1, 2};
  record.key.key_words = {word, 4096, 12};
  record.key.key_text = "M=" + std::to_string(word) + ", N=4096, x:float16";
  record.key.device_name = "NVIDIA H200";
  record.key.capability = 90;
  record.key.num_sms = 132;
  record.key.driver_version = 13000;
  std::vector<Config::Setting> settings;
  for (const char* axis : {"TILE_M", "TILE_N", "TILE_K", "occupancy"}) {
    settings.push_back({axis, AxisKind::kStructural, std::int64_t{64}});
  }
  record.best.config = Config::Of(std::move(settings));
  record.best.kind = OutcomeKind::kMeasured;
  record.best.variant = "tile";
  record.best.measurement.mean_us = 10;
  return record;
}

std::shared_ptr<SqliteStore> OpenStore(const std::string& path) {
  SqliteStoreOptions options;
  options.path = path;
  options.busy_timeout_ms = 120000;
  Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
    std::exit(1);
  }
  return *store;
}

void Fill(RecordStore& store, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (!store.Put(Record(static_cast<std::uint64_t>(i))).ok()) std::exit(1);
  }
}

void Lookups(benchmark::State& state, RecordStore& store) {
  std::uint64_t next = 0;
  for (auto _ : state) {
    Result<RecordLookup> lookup = store.Lookup(Record(next).key);
    if (!lookup.ok() || lookup->match != RecordMatch::kExact) return state.SkipWithError("a record is missing");
    next = (next * 2654435761u + 1) % static_cast<std::uint64_t>(state.range(0));
  }
}

void BM_SqliteLookup(benchmark::State& state) {
  TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
  auto store = OpenStore(folder.path() + "/cache/store.db");
  Fill(*store, state.range(0));
  Lookups(state, *store);
}
BENCHMARK(BM_SqliteLookup)->Arg(10)->Arg(1000)->Arg(100000);

void BM_MemoryLookup(benchmark::State& state) {
  MemoryStore store;
  Fill(store, state.range(0));
  Lookups(state, store);
}
BENCHMARK(BM_MemoryLookup)->Arg(10)->Arg(1000);

void BM_SqlitePut(benchmark::State& state) {
  TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
  auto store = OpenStore(folder.path() + "/cache/store.db");
  Fill(*store, state.range(0));
  auto next = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    if (!store->Put(Record(next++)).ok()) return state.SkipWithError("put failed");
  }
}
BENCHMARK(BM_SqlitePut)->Arg(10)->Arg(1000)->Arg(100000);

/// A store opened, asked once, and closed: what a process pays that starts.
void BM_SqliteOpenAndLookup(benchmark::State& state) {
  TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
  std::string path = folder.path() + "/cache/store.db";
  Fill(*OpenStore(path), state.range(0));
  for (auto _ : state) {
    if (OpenStore(path)->Lookup(Record(1).key)->match != RecordMatch::kExact) return state.SkipWithError("missing");
  }
}
BENCHMARK(BM_SqliteOpenAndLookup)->Arg(10)->Arg(1000)->Arg(100000);

/// As large as a matmul's cubin; no two are alike.
Artifact Code(std::uint64_t word) {
  Artifact artifact;
  artifact.image.resize(100000);
  std::minstd_rand bytes(static_cast<std::uint_fast32_t>(word + 1));
  for (char& byte : artifact.image) byte = static_cast<char>(bytes());
  artifact.symbol = "kernel";
  return artifact;
}
Fingerprint KeyOfCode(std::uint64_t word) { return Fingerprint{word * 0x9E3779B97F4A7C15, word}; }

void FillWithCode(SqliteStore& store, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!store.PutArtifact(KeyOfCode(i), Code(i)).ok()) std::exit(1);
  }
}

/// A store opened, asked for one of so many artifacts, and closed.
void BM_SqliteOpenAndGetArtifact(benchmark::State& state) {
  TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
  std::string path = folder.path() + "/cache/store.db";
  const auto count = static_cast<std::uint64_t>(state.range(0));
  FillWithCode(*OpenStore(path), count);
  std::uint64_t next = 0;
  for (auto _ : state) {
    Result<std::optional<Artifact>> artifact = OpenStore(path)->GetArtifact(KeyOfCode(next++ % count));
    if (!artifact.ok() || !*artifact) return state.SkipWithError("missing");
  }
}
BENCHMARK(BM_SqliteOpenAndGetArtifact)->Arg(2)->Arg(25)->Arg(1000);

void BM_SqlitePutArtifact(benchmark::State& state) {
  TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
  auto store = OpenStore(folder.path() + "/cache/store.db");
  auto next = static_cast<std::uint64_t>(state.range(0));
  FillWithCode(*store, next);
  const Artifact artifact = Code(next);
  for (auto _ : state) {
    if (!store->PutArtifact(KeyOfCode(next++), artifact).ok()) return state.SkipWithError("put failed");
  }
}
BENCHMARK(BM_SqlitePutArtifact)->Arg(25)->Arg(1000);

/// 64 processes that each put 1000 records of their own and read one after each put. Counts what is missing afterwards.
void BM_ManyProcesses(benchmark::State& state) {
  constexpr std::uint64_t kEach = 1000;
  auto processes = static_cast<std::uint64_t>(state.range(0));
  std::int64_t lost = 0;
  std::int64_t failed = 0;
  for (auto _ : state) {
    TemporaryFolder folder = *TemporaryFolder::Create(Environment::Read().temporary_folder);
    std::string path = folder.path() + "/cache/store.db";
    std::vector<pid_t> children;
    for (std::uint64_t process = 0; process < processes; ++process) {
      pid_t child = fork();
      if (child == 0) {
        auto store = OpenStore(path);
        bool ok = true;
        for (std::uint64_t i = 0; i < kEach; ++i) {
          ok = ok && store->Put(Record(process * kEach + i)).ok() &&
               store->Lookup(Record(process * kEach + i / 2).key)->match == RecordMatch::kExact;
        }
        _exit(ok ? 0 : 1);
      }
      children.push_back(child);
    }
    for (pid_t child : children) {
      int result = 0;
      waitpid(child, &result, 0);
      failed += result == 0 ? 0 : 1;
    }
    lost += static_cast<std::int64_t>(processes * kEach) - static_cast<std::int64_t>(OpenStore(path)->List()->size());
  }
  state.counters["lost_records"] = static_cast<double>(lost);
  state.counters["failed_processes"] = static_cast<double>(failed);
}
BENCHMARK(BM_ManyProcesses)->Arg(64)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tuneonce

BENCHMARK_MAIN();
