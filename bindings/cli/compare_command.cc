// tuneonce compare A B
#include <memory>
#include <optional>
#include <utility>

#include "commands.h"
#include "compare/compare_run.h"
#include "console/ledger.h"
#include "console/output.h"
#include "interrupts.h"
#include "measuring_arguments.h"
#include "tuneonce/bundle.h"

namespace tuneonce::cli {
namespace {

struct CompareArguments : MeasuringArguments {
  std::string a, b;
  std::vector<std::string> shape;
  std::string shapes;
  std::vector<std::string> scalars;
  std::string bundle;
  std::string ledger;
  std::string change;
};

Status CheckArguments(const CompareArguments& arguments, const CompareOperand& a, const CompareOperand& b) {
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (one->kind != CompareOperand::Kind::kBundle || other->kind == one->kind) continue;
    if (Bundle::Load(one->bundle).ok()) continue;
    return NotFoundError("'" + one->text + "' was not found: " + other->text + " is " + KindName(other->kind) +
                         ", and must be compared with another one");
  }
  if (a.kind != b.kind) {
    return InvalidArgumentError("A, " + a.text + ", is " + KindName(a.kind) + ", and B, " + b.text + ", is " +
                                KindName(b.kind) + ": compare two operands of the same kind");
  }
  const bool names_shapes = !arguments.shape.empty() || !arguments.shapes.empty() || !arguments.scalars.empty();
  if (a.kind == CompareOperand::Kind::kResult && names_shapes) {
    return InvalidArgumentError("results already have a shape: remove --shape, --shapes and --scalar");
  }
  if (a.kind != CompareOperand::Kind::kStore && !arguments.bundle.empty()) {
    return InvalidArgumentError("--bundle is only for comparing stores: give two bundles as A and B");
  }
  if (arguments.ledger.empty() && !arguments.change.empty()) {
    return InvalidArgumentError("--change needs --ledger FILE");
  }
  return arguments.ledger.empty() ? Status() : CheckLedger(arguments.ledger);
}

Result<CompareReport> Measure(const CompareArguments& arguments, const CompareOperand& a, const CompareOperand& b) {
  // Checked before a device is opened, because a wrong name should be reported first.
  for (const CompareOperand* each : {&a, &b}) {
    if (each->kind == CompareOperand::Kind::kBundle) TUNEONCE_RETURN_IF_ERROR(Bundle::Load(each->bundle).status());
  }
  TUNEONCE_ASSIGN_OR_RETURN(Device device, OpenNamedDevice(arguments.device));
  CompareOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(options.search, SearchOptionsOf(arguments, CatchInterrupts()));
  std::unique_ptr<Timer> timer = TimerNamed(arguments.timer);
  options.search.timer = timer.get();
  options.shape = arguments.shape;
  options.scalars = arguments.scalars;
  options.shapes = arguments.shapes;
  options.bundle = arguments.bundle;
  return a.kind == CompareOperand::Kind::kStore ? CompareStores(a.text, b.text, device, options)
                                                : CompareBundles(a, b, device, options);
}

Result<std::optional<LedgerEnd>> WriteLedger(const CompareArguments& arguments, const CompareSummary& summary) {
  if (arguments.ledger.empty() || summary.not_compared > 0) return std::optional<LedgerEnd>();
  LedgerRow row;
  row.change = arguments.change.empty() ? arguments.b : arguments.change;
  row.latency_ms = summary.latency_ms;
  row.correctness = summary.correctness;
  row.status = std::string(VerdictName(summary.verdict));
  row.peak_bytes = summary.memory_bytes;
  TUNEONCE_ASSIGN_OR_RETURN(LedgerEnd end, AppendToLedger(arguments.ledger, row));
  return std::optional<LedgerEnd>(std::move(end));
}

Status Compare(const CompareArguments& arguments, int* exit_code) {
  TUNEONCE_ASSIGN_OR_RETURN(CompareOperand a, ReadOperand(arguments.a));
  TUNEONCE_ASSIGN_OR_RETURN(CompareOperand b, ReadOperand(arguments.b));
  TUNEONCE_RETURN_IF_ERROR(CheckArguments(arguments, a, b));
  const bool are_results = a.kind == CompareOperand::Kind::kResult;
  TUNEONCE_ASSIGN_OR_RETURN(CompareReport report,
                            are_results ? CompareResults(a.text, b.text) : Measure(arguments, a, b));
  if (report.shapes.size() == 1) TUNEONCE_RETURN_IF_ERROR(report.shapes.front().status);
  const CompareSummary summary = SummaryOf(report);
  const Result<std::optional<LedgerEnd>> ledger = WriteLedger(arguments, summary);
  PrintReport(report, summary, ledger.ok() ? *ledger : std::nullopt, arguments.json);
  if (summary.not_compared > 0) {
    return InternalError(std::to_string(summary.not_compared) + " of " + std::to_string(report.shapes.size()) +
                         " shapes were not compared; see above");
  }
  TUNEONCE_RETURN_IF_ERROR(ledger.status());
  if (summary.verdict == Verdict::kRevert || summary.verdict == Verdict::kCrash) *exit_code = kRevertExitCode;
  return Status();
}

}  // namespace

void AddCompare(CLI::App& app, Command* command, int* exit_code) {
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Compare two bundles, back ends (matmul:tile), stores, or results of tune --json: same inputs, one race, and a "
      "verdict: accept (B is 5 % faster), minor (2 %), no_change, revert (2 % slower, or wrong; exit code 3), crash (B "
      "did not run; exit code 3)");
  auto arguments = std::make_shared<CompareArguments>();
  compare
      ->add_option("a", arguments->a,
                   "The current version: BUNDLE[:BACKEND or :VARIANT], a store's file, or a result's file")
      ->type_name("A")
      ->required();
  compare->add_option("b", arguments->b, "The version that may replace it")->type_name("B")->required();
  compare->add_option("--shape", arguments->shape,
                      "Value of a dim, scalar or dtype, such as M=4096, causal=1, x=float16; may be repeated");
  compare->add_option("--shapes", arguments->shapes, "All shapes of this file, one per line: M=64 N=4096")
      ->type_name("FILE");
  compare->add_option("--scalar", arguments->scalars, "Value of a bundle's scalar, such as eps=1e-5; may be repeated");
  compare
      ->add_option("--bundle", arguments->bundle,
                   "For two stores: the kernel (default: all kernels in both that are found by name)")
      ->type_name("BUNDLE");
  AddMeasuringOptions(compare, arguments.get());
  compare
      ->add_option("--ledger", arguments->ledger,
                   "Append a row to this table of changes, which is created if needed, and state when to stop")
      ->type_name("FILE");
  compare->add_option("--change", arguments->change, "Description of the change for the ledger (default: B)");
  compare->callback([=] { *command = [=] { return Compare(*arguments, exit_code); }; });
}

}  // namespace tuneonce::cli
