// Random calls of the API, compared with a plain reference: random_calls [--seed S] [--launches N] [--threads T].
// Threads launch, capture, pin, freeze, retune, warm up and fork at random on kernels whose fastest config is incorrect
// somewhere, over two devices, three stores and all modes. Each output is compared with what the host computes. Prints
// the seed, what was done, and the first finding. Exit code 1 if something was found.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tuneonce/testing.h"
#include "tuneonce/tuneonce.h"

namespace tuneonce {
namespace {

constexpr int kNumDevices = 2;
constexpr int kNumKernels = 6;
constexpr int kGuard = 64;      // Elements around each output that must stay.
constexpr float kPoison = -99;  // What is in them.
constexpr int kMostExtent = 300;
constexpr int kChildLimitS = 60;  // A forked child that lives longer hangs.

/// What is wrong with the fastest config (2) of a kernel. The library has to find it before it launches the config.
enum class Fault { kNone, kRaggedTail, kOddExtents, kBehindOutput, kNegatives, kOtherScalar, kOtherAddress, kCount };
enum class Bucket { kExact, kNextPow2, kBounds, kNearest, kOmitted, kCount };

constexpr char kSource[] = R"(
static void k(const tuneonce_block&, const float* x, float* y, float factor, int n, int work, int stride) {
  const bool wrong = FAULT == 1 ? n % 16 != 0 : FAULT == 2 ? n % 2 != 0 : FAULT == 5 ? factor != 2
                   : FAULT == 6 && reinterpret_cast<unsigned long long>(x) % 256 != 0;
  const int end = FAULT == 3 ? (n + 15) / 16 * 16 : n;
  for (int i = 0; i < work; ++i) static_cast<volatile float*>(y)[0] = static_cast<float>(i);
  for (int i = 0; i < end; ++i) {
    const float value = i < n ? x[i * stride] : 0;
    y[i] = wrong || (FAULT == 4 && value < 0) ? 0 : value * factor;
  }
}
TUNEONCE_CPU_KERNEL(k);)";

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int Below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }
  template <typename Enum>
  Enum Any() {
    return static_cast<Enum>(Below(static_cast<int>(Enum::kCount)));
  }

 private:
  std::mt19937_64 engine_;
};

/// What happened, over all threads.
struct Tally {
  std::atomic<std::int64_t> launches{0}, graphs{0}, pins{0}, retunes{0}, warmups{0}, tunes_pending{0}, freezes{0},
      forks{0}, kernels{0}, refused{0};
  std::mutex mutex;
  std::string finding;  // The first.

  void Find(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex);
    if (finding.empty()) finding = what;
  }
  bool has_finding() {
    std::lock_guard<std::mutex> lock(mutex);
    return !finding.empty();
  }
};

/// A kernel of random traits, and what names it in a finding.
struct Kernel {
  std::optional<TunedKernel> tuned;
  std::string name;
  bool is_strided = false;
  bool compiles_nothing = false;  // kStoredOnly: where the store has no code, there is nothing to launch.
};

class World {
 public:
  World(std::uint64_t seed, std::int64_t launches, int threads, std::string folder)
      : seed_(seed), launches_(launches), num_threads_(threads), folder_(std::move(folder)) {}

  int Run() {
    if (Status opened = Open(); !opened.ok()) {
      std::fprintf(stderr, "random_calls: %s\n", opened.ToString().c_str());
      return 2;
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < num_threads_; ++i) threads.emplace_back([this, i] { RunThread(seed_ * 1000 + 1 + i); });
    for (std::thread& thread : threads) thread.join();
    std::printf(
        "seed %llu: %lld launches, %lld graphs, %lld pins, %lld retunes, %lld warm-ups, %lld calls of TunePending, "
        "%lld freezes, %lld forks, %lld kernels, %lld calls refused\n",
        static_cast<unsigned long long>(seed_), Get(tally_.launches), Get(tally_.graphs), Get(tally_.pins),
        Get(tally_.retunes), Get(tally_.warmups), Get(tally_.tunes_pending), Get(tally_.freezes), Get(tally_.forks),
        Get(tally_.kernels), Get(tally_.refused));
    for (Kernel& kernel : kernels_) kernel.tuned.reset();
    if (tally_.finding.empty()) return 0;
    std::printf("FOUND, seed %llu: %s\n", static_cast<unsigned long long>(seed_), tally_.finding.c_str());
    return 1;
  }

 private:
  static long long Get(const std::atomic<std::int64_t>& count) { return count.load(); }

  Status Open() {
    for (int i = 0; i < kNumDevices; ++i) {
      TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenDevice("cpu:" + std::to_string(i)));
      TUNEONCE_ASSIGN_OR_RETURN(Context context, Context::RetainPrimary(device));
      contexts_.push_back(std::move(context));
      devices_.push_back(device);
    }
    stores_.push_back(MakeMemoryStore());
    for (const char* file : {"one.db", "two.db"}) {
      SqliteStoreOptions options;
      options.path = folder_ + "/" + file;
      TUNEONCE_ASSIGN_OR_RETURN(std::shared_ptr<SqliteStore> store, SqliteStore::Open(options));
      stores_.push_back(std::move(store));
    }
    Random random(seed_);
    for (Kernel& kernel : kernels_) TUNEONCE_RETURN_IF_ERROR(Replace(kernel, random));
    return Status();
  }

  /// REQUIRES: no launch of the kernel is under way.
  Status Replace(Kernel& kernel, Random& random) {
    const Fault fault = random.Any<Fault>();
    const Bucket bucket = random.Any<Bucket>();
    kernel.is_strided = random.OneIn(3);
    // Kernels of equal traits have equal names, and meet each other's records.
    kernel.name = "k_" + std::to_string(static_cast<int>(fault)) + "_" + std::to_string(static_cast<int>(bucket)) +
                  (kernel.is_strided ? "_strided" : "");
    SearchSpace space;
    IntAxis config = space.AddAxis("CONFIG", {0, 1, 2});
    space.SetBaseline({{config, 0}});
    KernelDefinition definition(kernel.name);
    std::vector<Parameter> parameters = {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"),
                                         DimValue("N"), Derived("work", [config](const Config& each, const Problem&) {
                                           return each[config] == 0 ? 20000 : each[config] == 1 ? 8000 : 0;
                                         })};
    parameters.push_back(kernel.is_strided ? StrideValue("x", 0) : Derived("stride", Term(1)));
    definition.Parameters(std::move(parameters)).Space(space);
    switch (bucket) {
      case Bucket::kExact:
        definition.Key(KeyOf("N"));
        break;
      case Bucket::kNextPow2:
        definition.Key(KeyOf("N").NextPow2());
        break;
      case Bucket::kBounds:
        definition.Key(KeyOf("N").Buckets({32, 64, 256}));
        break;
      case Bucket::kNearest:
        definition.Key(KeyOf("N").Nearest({16, 100, 250}));
        break;
      case Bucket::kOmitted:
      case Bucket::kCount:
        definition.Key(DTypeOf("x"));
        break;
    }
    definition.AddVariant(
        Variant([fault, config](const Config& each) {
          return KernelSource::CpuCpp(kSource, "k").Define("FAULT", each[config] == 2 ? static_cast<int>(fault) : 0);
        }).Grid(Grid::Fixed(1)));
    AutotunePolicy policy;
    const int mode = random.Below(8);
    policy.mode = mode < 4   ? AutotunePolicy::Mode::kTuneOnMiss
                  : mode < 6 ? AutotunePolicy::Mode::kTuneDeferred
                  : mode < 7 ? AutotunePolicy::Mode::kStoredOnly
                             : AutotunePolicy::Mode::kFallbackOnly;
    kernel.compiles_nothing = policy.mode == AutotunePolicy::Mode::kStoredOnly;
    policy.search.max_rounds = 1;
    policy.search.isolation = random.OneIn(4) ? Isolation::kPreferred : Isolation::kOff;
    policy.store = stores_[static_cast<std::size_t>(random.Below(static_cast<int>(stores_.size())))];
    policy.max_ready_keys = random.OneIn(3) ? 4 : 65536;
    policy.retry_after = std::chrono::milliseconds(1);
    kernel.tuned.reset();
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel tuned, TunedKernel::Create(definition, policy));
    kernel.tuned.emplace(std::move(tuned));
    ++tally_.kernels;
    return Status();
  }

  /// A thread's stream and buffers on one device.
  struct Lane {
    Stream stream;
    DeviceBuffer x, y;
    std::vector<float> in, out;
  };

  Result<Lane> MakeLane(int device) {
    ScopedContext current(contexts_[static_cast<std::size_t>(device)].view());
    TUNEONCE_ASSIGN_OR_RETURN(Stream stream, Stream::Create(devices_[static_cast<std::size_t>(device)].api()));
    constexpr std::size_t kInBytes = (2 * kMostExtent + 8) * sizeof(float);
    constexpr std::size_t kOutBytes = (kMostExtent + 2 * kGuard) * sizeof(float);
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer x, DeviceBuffer::Allocate(stream.view(), kInBytes));
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer y, DeviceBuffer::Allocate(stream.view(), kOutBytes));
    TUNEONCE_RETURN_IF_ERROR(stream.view().Synchronize());
    return Lane{std::move(stream), std::move(x), std::move(y), std::vector<float>(kInBytes / sizeof(float)),
                std::vector<float>(kOutBytes / sizeof(float))};
  }

  void RunThread(std::uint64_t seed) {
    Random random(seed);
    std::array<std::optional<Lane>, kNumDevices> lanes;
    for (int i = 0; i < kNumDevices; ++i) {
      Result<Lane> lane = MakeLane(i);
      if (!lane.ok()) return tally_.Find("no stream or buffers: " + lane.status().ToString());
      lanes[static_cast<std::size_t>(i)].emplace(*std::move(lane));
    }
    while (tally_.launches < launches_ && !tally_.has_finding()) {
      const auto device = static_cast<std::size_t>(random.Below(kNumDevices));
      ScopedContext current(contexts_[device].view());
      Step(random, *lanes[device]);
    }
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      ScopedContext current(contexts_[i].view());
      lanes[i].reset();
    }
  }

  void Step(Random& random, Lane& lane) {
    Kernel& kernel = kernels_[static_cast<std::size_t>(random.Below(kNumKernels))];
    const int what = random.Below(1000);
    if (what < 4) {  // What no other call may be beside.
      std::unique_lock<std::shared_mutex> alone(calls_);
      return Alone(what, random, kernel, lane);
    }
    std::shared_lock<std::shared_mutex> beside(calls_);
    if (what < 934) return Compare(random, kernel, lane, /*captures=*/false);
    if (what < 964) return Compare(random, kernel, lane, /*captures=*/true);
    if (what < 966) return Fork(kernel, lane);
    const TunedKernel::Shape shape = {{"N", random.Below(kMostExtent) + 1}, {"factor", 2.0}};
    CUstream stream = lane.stream.get();
    if (what < 975) {
      // Those that the caller chooses are correct ones. The store is shared with kernels of other threads.
      const auto how_long = random.OneIn(2) ? TunedKernel::PinFor::kProcess : TunedKernel::PinFor::kStore;
      Expect("Pin", kernel, kernel.tuned->Pin(shape, {{"CONFIG", std::int64_t{random.Below(2)}}}, how_long),
             {StatusCode::kFailedPrecondition, StatusCode::kUnavailable});
      ++tally_.pins;
    } else if (what < 980) {
      Expect("Unpin", kernel, kernel.tuned->Unpin(shape), {StatusCode::kNotFound, StatusCode::kFailedPrecondition});
    } else if (what < 985) {
      Expect("Retune", kernel, kernel.tuned->Retune(stream, shape), {StatusCode::kFailedPrecondition});
      ++tally_.retunes;
    } else if (what < 990) {
      // Another kernel of the name may have pinned the key in the store, after this one had selected a config that
      // fails at the shape: nothing replaces it then.
      Expect("Warmup", kernel, kernel.tuned->Warmup(stream, {shape}), {StatusCode::kFailedPrecondition});
      ++tally_.warmups;
    } else if (what < 995) {
      Expect("Explain", kernel, kernel.tuned->Explain(stream, shape).status(), {});
    } else if (what < 998) {
      static_cast<void>(kernel.tuned->counters());
      Expect("List", kernel, stores_[static_cast<std::size_t>(random.Below(3))]->List().status(), {});
    } else if (random.OneIn(4)) {
      kernel.tuned->Freeze();
      ++tally_.freezes;
    }
  }

  void Alone(int what, Random& random, Kernel& kernel, Lane& lane) {
    if (what < 2) {
      Expect("TunePending", kernel, kernel.tuned->TunePending(lane.stream.get()), {});
      ++tally_.tunes_pending;
    } else if (what < 3) {
      kernel.tuned->ReleaseRetired();
    } else {
      Expect("Create", kernel, Replace(kernel, random), {});
    }
  }

  /// OK, or one of these codes, which a call may have at random.
  void Expect(const char* call, const Kernel& kernel, const Status& status, std::initializer_list<StatusCode> may_be) {
    if (status.ok()) return;
    ++tally_.refused;
    if (kernel.compiles_nothing && status.code() == StatusCode::kUnavailable) return;
    if (std::find(may_be.begin(), may_be.end(), status.code()) != may_be.end()) return;
    tally_.Find(std::string(call) + " of " + kernel.name + ": " + status.ToString());
  }

  /// A launch, as it is or captured into a graph that is replayed twice, and its output compared.
  void Compare(Random& random, Kernel& kernel, Lane& lane, bool captures) {
    const int n =
        random.OneIn(3) ? random.Below(kMostExtent) + 1 : std::array{1, 7, 16, 48, 64, 100, 256}[random.Below(7)];
    const int misaligned = random.OneIn(4) ? random.Below(8) : 0;
    const int stride = kernel.is_strided && random.OneIn(2) ? 2 : 1;
    const float factor = random.OneIn(3) ? 3 : 2;
    for (std::size_t i = 0; i < lane.in.size(); ++i) {
      const auto magnitude = static_cast<float>(random.Below(100) + 1);
      lane.in[i] = random.OneIn(2) ? magnitude : -magnitude;
    }
    std::fill(lane.out.begin(), lane.out.end(), kPoison);
    const std::int64_t shape[] = {n}, strides[] = {stride};
    const TensorView x =
        TensorView::Strided(static_cast<float*>(lane.x.data()) + misaligned, kFloat32, shape, strides, 1);
    const TensorView y = TensorView::Contiguous(static_cast<float*>(lane.y.data()) + kGuard, kFloat32, {n});
    Status status = lane.x.CopyFromHost(lane.in.data(), lane.in.size() * sizeof(float));
    if (status.ok()) status = lane.y.CopyFromHost(lane.out.data(), lane.out.size() * sizeof(float));
    if (!status.ok()) return tally_.Find("copy: " + status.ToString());
    if (captures) {
      Result<GraphExec> graph = GraphExec::Capture(
          lane.stream.view(), [&](CUstream stream) { return kernel.tuned->Launch(stream, x, y, factor); });
      Expect("captured Launch", kernel, graph.status(), {StatusCode::kFailedPrecondition});
      if (!graph.ok()) return;
      for (int i = 0; i < 2 && status.ok(); ++i) status = graph->Launch(lane.stream.get());
      if (status.ok()) status = lane.stream.view().Synchronize();
      ++tally_.graphs;
    } else {
      status = kernel.tuned->Launch(lane.stream.get(), x, y, factor);
    }
    if (status.ok()) status = lane.y.CopyToHost(lane.out.data(), lane.out.size() * sizeof(float));
    if (status.ok()) status = lane.stream.view().Synchronize();
    Expect(captures ? "a replayed graph" : "Launch", kernel, status, {});
    const std::int64_t done = ++tally_.launches;
    if (done % 100000 == 0) std::fprintf(stderr, "%lld launches\n", static_cast<long long>(done));
    if (!status.ok()) return;
    for (int i = 0; i < static_cast<int>(lane.out.size()); ++i) {
      const int at = i - kGuard;
      const bool is_output = at >= 0 && at < n;
      const float expected = is_output ? lane.in[static_cast<std::size_t>(misaligned + at * stride)] * factor : kPoison;
      const float is = lane.out[static_cast<std::size_t>(i)];
      if (is == expected) continue;
      return tally_.Find(kernel.name + (captures ? " in a graph" : "") + ", N=" + std::to_string(n) + ", factor " +
                         std::to_string(factor) + ", misaligned by " + std::to_string(misaligned) + ", stride " +
                         std::to_string(stride) + ": element " + std::to_string(at) + " is " + std::to_string(is) +
                         ", not " + std::to_string(expected));
    }
  }

  /// A forked child can use neither the driver nor the store: each call has to be an error, and to return.
  void Fork(Kernel& kernel, Lane& lane) {
    const std::int64_t shape[] = {64}, strides[] = {1};
    const TensorView x = TensorView::Strided(lane.x.data(), kFloat32, shape, strides, 1);
    const TensorView y = TensorView::Contiguous(lane.y.data(), kFloat32, {64});
    const pid_t child = fork();
    if (child == 0) {
      const bool is_refused = !kernel.tuned->Launch(lane.stream.get(), x, y, 2.0f).ok();
      static_cast<void>(kernel.tuned->counters());
      _exit(is_refused ? 0 : 3);
    }
    if (child < 0) return;  // No process is to be had: another time.
    ++tally_.forks;
    int state = 0;
    const auto ends = std::chrono::steady_clock::now() + std::chrono::seconds(kChildLimitS);
    while (waitpid(child, &state, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > ends) {
        kill(child, SIGKILL);
        waitpid(child, &state, 0);
        return tally_.Find("a forked child hangs in a call of " + kernel.name);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return;
    tally_.Find("a forked child's call of " + kernel.name +
                (WIFSIGNALED(state) ? ": signal " + std::to_string(WTERMSIG(state)) : " was not refused"));
  }

  const std::uint64_t seed_;
  const std::int64_t launches_;
  const int num_threads_;
  const std::string folder_;
  Tally tally_;
  std::vector<Device> devices_;
  std::vector<Context> contexts_;
  std::vector<std::shared_ptr<RecordStore>> stores_;
  std::array<Kernel, kNumKernels> kernels_;
  std::shared_mutex
      calls_;  // Held alone by what may not be beside a launch: calls of TunePending, releasing, replacing.
};

}  // namespace
}  // namespace tuneonce

int main(int argc, char** argv) {
  std::uint64_t seed = std::random_device()();
  std::int64_t launches = 500000;
  int threads = 4;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    const long long value = std::atoll(argv[i + 1]);
    if (option == "--seed") seed = static_cast<std::uint64_t>(value);
    if (option == "--launches") launches = value;
    if (option == "--threads") threads = static_cast<int>(value);
  }
  setenv("TUNEONCE_CPU_DEVICES", std::to_string(tuneonce::kNumDevices).c_str(), 1);
  std::string folder = (std::filesystem::temp_directory_path() / "random_calls_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 2;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  int code = tuneonce::World(seed, launches, threads, folder).Run();
  std::filesystem::remove_all(folder);
  return code;
}
