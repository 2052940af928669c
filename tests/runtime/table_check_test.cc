// A caller's tables of addresses are looked at once before something is tuned on them, wherever the call comes in.
#include "search/table_check.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compare/kernel_comparison.h"
#include "launch/assumption.h"
#include "search/search_call.h"
#include "testing/pointer_table_test.h"

namespace tuneonce {
namespace {

using Mode = AutotunePolicy::Mode;

/// The driver, which counts how often the host reads what lies at one address, or asks of it.
class WatchedDriver {
 public:
  explicit WatchedDriver(const DriverApi& wrapped)
      : api_(Wrap(wrapped), wrapped.library_path(), wrapped.is_cpu_device()) {}

  const DriverApi& api() const { return api_; }
  static void Watch(CUdeviceptr address) {
    State().address = address;
    State().count = 0;
  }
  static int count() { return State().count; }

 private:
  /// The table holds plain functions.
  struct Watched {
    DriverTable real;
    std::atomic<CUdeviceptr> address{0};
    std::atomic<int> count{0};
  };
  static Watched& State() {
    static auto* const state = new Watched;
    return *state;
  }
  static CUresult Read(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    State().count += from == State().address ? 1 : 0;
    return State().real.MemcpyDtoHAsync(to, from, bytes, stream);
  }
  static CUresult Ask(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
    State().count += pointer == State().address ? 1 : 0;
    return State().real.PointerGetAttribute(data, attribute, pointer);
  }
  static DriverTable Wrap(const DriverApi& wrapped) {
    DriverTable table = State().real = UnguardedTable(wrapped);
    table.MemcpyDtoHAsync = Read;
    table.PointerGetAttribute = Ask;
    return table;
  }

  DriverApi api_;
};

class TableCheckTest : public testing::PointerTableTest {
 protected:
  void SetUp() override {
    PointerTableTest::SetUp();
    watched_ = std::make_unique<WatchedDriver>(api());
    here_ = std::make_unique<Stream>(*Stream::Create(watched_->api()));
  }
  void TearDown() override {
    here_.reset();
    PointerTableTest::TearDown();
  }

  /// DoubledGroups, which gets 8-byte integers beside its tables, in place of the numbers of rows.
  static KernelDefinition Keyed(bool is_bucket = false) {
    SearchSpace space;
    IntAxis kind = space.AddAxis("KIND", {0, 1});
    space.SetBaseline({{kind, 0}});
    KernelDefinition definition("keyed");
    Parameter y = Out("y", kFloat32, {"G", "M", "N"}).ByPointers({"M"});
    y.may_be_partial = true;  // At a bound all tensors are as large as the largest may be.
    definition
        .Parameters({In("x", kFloat32, {"G", "M", "N"}).ByPointers({"M"}), In("keys", kInt64, {"G"}).ForWarmup(1),
                     std::move(y), DimValue("G")})
        .Space(space)
        .AddVariant(Variant([=](const Config& c, const Problem&) {
                      return KernelSource::CpuCpp(
                                 "static void keyed(const tuneonce_block&, float* const* x, const long* keys,"
                                 " float* const* y, int groups) {\n"
                                 "  for (int g = 0; g < groups; ++g) y[g][0] = 2 * x[g][0] + 0 * KIND * keys[g];\n"
                                 "}\nTUNEONCE_CPU_KERNEL(keyed);",
                                 "keyed")
                          .Define("KIND", c[kind]);
                    }).Grid(Grid::Fixed(1)));
    if (is_bucket) definition.Key(KeyOf("G").NextPow2(), KeyOf("M").NextPow2(), KeyOf("N"));
    return definition;
  }

  /// The arguments of a call of three groups.
  struct Call {
    PointerTable x;
    TensorView keys;
    PointerTable y;
    std::vector<Argument> list() const { return {x, keys, y}; }
  };
  TunedKernel CreateKeyed(bool is_bucket) {
    policy_.store = std::make_shared<MemoryStore>();
    const Device device = *Device::Get(watched_->api(), 0);
    Result<TunedKernel> kernel = TunedKernelOn::Create(device, Keyed(is_bucket), policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// A way in for a call: what it says.
  struct Path {
    const char* name;
    std::function<Status(const Call&)> take;
  };
  std::vector<Path> Paths() {
    auto kernel = [this](bool is_bucket, auto act) {
      return [=](const Call& call) {
        TunedKernel made = CreateKeyed(is_bucket);
        Status status = act(made, call);
        EXPECT_EQ(made.counters().failed_tunes, 0) << "a call that is wrong says nothing about its key";
        return status;
      };
    };
    auto launch = [this](TunedKernel& its, const Call& call) {
      return its.Launch(here_->get(), call.x, call.keys, call.y);
    };
    auto warm_up = [this](TunedKernel& its, const Call& call) {
      return its.Warmup(here_->get(), call.x, call.keys, call.y);
    };
    auto retune = [this](TunedKernel& its, const Call& call) {
      return its.Retune(here_->get(), {call.x, call.keys, call.y});
    };
    auto compare = [this](bool has_configs) {
      return [=](const Call& call) {
        KernelDefinition definition = Keyed();
        EXPECT_OK(ValidateForLaunch(definition));
        ComparedKernel a{std::make_shared<const KernelDefinition>(std::move(definition))}, b = a;
        const std::vector<Config> configs = *a.definition->space().Enumerate(Target::Of(*device_->Identity()));
        if (has_configs) a.config = configs[0], b.config = configs[1];
        return CompareKernels(a, b, here_->view(), call.list(), policy_.search).status();
      };
    };
    return {{"launch", kernel(false, launch)},
            {"launch of a bucket", kernel(true, launch)},
            {"warm-up", kernel(false, warm_up)},
            {"warm-up of a bucket", kernel(true, warm_up)},
            {"retune", kernel(false, retune)},
            {"search",
             [this](const Call& call) {
               return SearchDefinition(Keyed(), here_->view(), call.list(), policy_.search).status();
             }},
            {"comparison", compare(false)},
            {"comparison of configs", compare(true)}};
  }
  DeviceBuffer Words(const std::vector<std::uint64_t>& words) {
    DeviceBuffer buffer = *DeviceBuffer::Allocate(stream_->view(), words.size() * 8);
    EXPECT_OK(buffer.CopyFromHost(words.data(), buffer.bytes()));
    EXPECT_OK(stream_->view().Synchronize());
    return buffer;
  }
  static TensorView WordsView(const DeviceBuffer& words) {
    return TensorView::Contiguous(words.data(), kInt64, {static_cast<std::int64_t>(words.bytes() / 8)});
  }

  std::unique_ptr<WatchedDriver> watched_;
  std::unique_ptr<Stream> here_;
};

TEST_F(TableCheckTest, EachWayInRefusesAWrongTableAndAddressesThatAreNotDeclared) {
  const std::vector<int> rows = {5, 2, 7};
  Group x = Make(rows, 3), y = Make(rows, -1);
  DeviceBuffer keys = Words({1, 2, 3});
  DeviceBuffer addresses = Words({1, reinterpret_cast<std::uintptr_t>(y.memory[1].data()), 3});
  std::vector<TensorView> others(x.table().tensors, x.table().tensors + 3);
  std::swap(others[0], others[2]);
  const PointerTable wrong = PointerTable::Of(x.table().view.data, others.data(), others.size());
  for (const Path& path : Paths()) {
    SCOPED_TRACE(path.name);
    EXPECT_ERROR(path.take({wrong, WordsView(keys), y.table()}), StatusCode::kInvalidArgument,
                 "parameter 'x': entry 0 of the table is 0x");
    EXPECT_ERROR(path.take({x.table(), WordsView(addresses), y.table()}), StatusCode::kInvalidArgument,
                 "parameter 'keys': element 1 of the input is a device address");
    EXPECT_TRUE(AreAll(y, -1));
  }
}

TEST_F(TableCheckTest, EachWayInLooksOnce) {
  const std::vector<int> rows = {5, 2, 7};
  Group x = Make(rows, 3), y = Make(rows, -1);
  constexpr std::uint64_t kNoAddress = std::uint64_t{1} << 40;
  DeviceBuffer keys = Words({1, kNoAddress, 3});
  const auto x_table = reinterpret_cast<CUdeviceptr>(x.table().view.data);
  const auto y_table = reinterpret_cast<CUdeviceptr>(y.table().view.data);
  for (const Path& path : Paths()) {
    for (CUdeviceptr watched : {x_table, y_table, CUdeviceptr{kNoAddress}}) {
      SCOPED_TRACE(path.name);
      WatchedDriver::Watch(watched);
      EXPECT_OK(path.take({x.table(), WordsView(keys), y.table()}));
      EXPECT_EQ(WatchedDriver::count(), 1);
    }
  }
}

TEST_F(TableCheckTest, IntegersThatATableReachesAreLookedAtToo) {
  SearchSpace space;
  IntAxis kind = space.AddAxis("KIND", {0, 1});
  space.SetBaseline({{kind, 0}});
  KernelDefinition definition("nested");
  definition.Parameters({In("x", kInt64, {"G", "M"}).ByPointers({"M"}), Out("n", kInt32, {"ONE"})})
      .Space(space)
      .AddVariant(Variant(testing::NoSource).Grid(Grid::Fixed(1)));
  DeviceBuffer n = Ints({0}), numbers = Words({1, 2});
  DeviceBuffer addresses = Words({2, static_cast<std::uint64_t>(n.get())});
  std::unique_ptr<DeviceTable> x = *DeviceTable::Create({WordsView(numbers), WordsView(addresses)}, stream_->view());
  EXPECT_ERROR(SearchDefinition(definition, stream_->view(), {x->table(), View(n)}, policy_.search),
               StatusCode::kInvalidArgument, "parameter 'x' (tensor 1): element 1 of the input is a device address");
}

}  // namespace
}  // namespace tuneonce
