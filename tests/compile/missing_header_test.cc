// A header that is missing: when one compile tells for all configs that they fail.
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/compile_slots.h"
#include "compile/header_search.h"
#include "shared/compile_pool.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "testing/watched_toolchain.h"
#include "tuneonce/plugin/record_store.h"

namespace tuneonce {
namespace {

constexpr char kKernel[] = "static void k(const tuneonce_block&, float* y) { y[0] = TILE; }\nTUNEONCE_CPU_KERNEL(k);\n";

/// How many of some configs' compiles fail, and how many compiles that took.
struct Outcome {
  int num_failed = 0;
  std::size_t num_compiles = 0;
};

Outcome CompileAll(const std::string& text, const std::string& folder, int num_configs) {
  auto watched = std::make_shared<testing::WatchedToolchain>();
  const ToolchainSet toolchains({watched});
  CompileSlots slots(1);
  CompileOptions options;
  options.num_workers = 1;
  options.cache = MakeMemoryStore();
  std::vector<CompileJob> jobs;
  for (int i = 0; i < num_configs; ++i) {
    KernelSource source = KernelSource::CpuCpp(text, "k");
    source.Define("TILE", 8 + i);
    if (!folder.empty()) source.Include(folder);
    CompileJob job;
    job.alternatives.push_back(CompileJob::Alternative{source, Hints()});
    jobs.push_back(std::move(job));
  }
  CompilePool pool(slots, toolchains, testing::CpuTarget(), std::move(jobs), options);
  Outcome outcome;
  while (std::optional<CompiledJob> job = pool.Next()) {
    outcome.num_failed += job->artifact.ok() ? 0 : 1;
    EXPECT_TRUE(job->artifact.ok() || LacksHeader(job->artifact.status())) << job->artifact.status().message();
  }
  outcome.num_compiles = watched->compiled().size();
  return outcome;
}

TEST(MissingHeaderTest, OneCompileTellsForAllConfigsWhereNoMacroDecides) {
  Outcome outcome =
      CompileAll(std::string("// TILE is set by tuneonce.\n#include <no_such_header.h>\n") + kKernel, "", 40);
  EXPECT_EQ(outcome.num_failed, 40);
  EXPECT_EQ(outcome.num_compiles, 1u);
}

TEST(MissingHeaderTest, AConfigWhoseMacrosDecideIsCompiled) {
  const std::string conditional = "#if TILE < 10\n#include <no_such_header.h>\n#endif\n";
  Outcome outcome = CompileAll(conditional + kKernel, "", 4);
  EXPECT_EQ(outcome.num_failed, 2);
  EXPECT_EQ(outcome.num_compiles, 4u);
  TemporaryFolder folder = *testing::MakeFolder();
  ASSERT_OK(folder.WriteFile("outer.h", "#include \"inner.h\"\n"));
  ASSERT_OK(folder.WriteFile("inner.h", conditional));
  outcome = CompileAll(std::string("#include <outer.h>\n") + kKernel, folder.path(), 4);
  EXPECT_EQ(outcome.num_failed, 2);
  EXPECT_EQ(outcome.num_compiles, 4u);
}

TEST(MissingHeaderTest, MacrosMayDecideWhereTheyAreMentionedBeforeTheLastInclude) {
  auto may_decide = [](const std::string& text) {
    KernelSource source = KernelSource::CudaCpp(text, "k");
    source.Define("TILE", 8).Header("own.h", "#define A TILE\n").Header("other.h", "#include \"own.h\"\n");
    source.Header("plain.h", "#define TILES 1\n");
    return MacrosMayDecideHeaders(source);
  };
  for (const char* text : {"", "int x = TILE;\n", "#include <a.h>\nint x = TILE;\n", "/* TILE */ #include <a.h>\n",
                           "#include \"plain.h\"\n", "#define TILE_ 1\n#include <a.h>"}) {
    EXPECT_FALSE(may_decide(text)) << text;
  }
  for (const char* text : {"#if TILE\n#endif\n#include <a.h>\n", "#include \"own.h\"\n", "#include \"other.h\"\n",
                           "#include <a.h>\nint x = TILE;\n#include <b.h>\n", "#define H <a.h>\n#include H\n",
                           "#if TI\\\nLE\n#endif\n#inc\\\nlude <a.h>\n"}) {
    EXPECT_TRUE(may_decide(text)) << text;
  }
}

}  // namespace
}  // namespace tuneonce
