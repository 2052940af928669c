// tuneonce report
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "console/output.h"
#include "records/output_check.h"
#include "report_page/report_data.h"
#include "report_page/report_tables.h"

namespace tuneonce::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> files;
  std::string output;
  std::string kernel;
  bool csv = false;
  bool markdown = false;
  bool json = false;
};

Status WriteReport(const ReportArguments& arguments) {
  const bool is_page = !arguments.csv && !arguments.markdown;
  if (arguments.output.empty() && (is_page || arguments.json)) {
    return Remedied(InvalidArgumentError("no output file is given"),
                    "tuneonce report STORE -o report.html, or --markdown or --csv for stdout");
  }
  if (!arguments.output.empty()) {
    const std::vector<std::string> users_store = {""};
    TUNEONCE_RETURN_IF_ERROR(CheckOutput(arguments.output, arguments.files.empty() ? users_store : arguments.files));
  }
  report::ReportData data;
  if (arguments.files.empty()) TUNEONCE_RETURN_IF_ERROR(data.AddStore(""));
  for (const std::string& file : arguments.files) TUNEONCE_RETURN_IF_ERROR(data.AddFile(file));
  if (!arguments.kernel.empty()) TUNEONCE_RETURN_IF_ERROR(data.KeepKernel(arguments.kernel));
  const std::string text = is_page ? ReportPage(data) : arguments.csv ? ReportCsv(data) : ReportMarkdown(data);
  for (const report::ReportInput& input : data.inputs()) {
    for (const std::string& problem : input.problems) PrintNote("cannot read all of " + input.name + ": " + problem);
  }
  if (arguments.output.empty()) {
    PrintText(text);
    return Status();
  }
  TUNEONCE_RETURN_IF_ERROR(WriteOutput(arguments.output, text));
  if (arguments.json) {
    PrintJson({{"output", arguments.output},
               {"inputs", data.inputs().size()},
               {"searches", data.entries().size()},
               {"bytes", text.size()}});
  } else {
    PrintLine("%zu searches of %zu files written to %s", data.entries().size(), data.inputs().size(),
              arguments.output.c_str());
  }
  return Status();
}

}  // namespace

void AddReport(CLI::App& app, Command* command) {
  CLI::App* report = app.add_subcommand(
      "report", "Show stores and results as one HTML page, or as a table: what was selected, and why");
  auto arguments = std::make_shared<ReportArguments>();
  report
      ->add_option("files", arguments->files,
                   "Stores, files of records export, and results of tune --json (default: the user's store)")
      ->type_name("FILE");
  report->add_option("-o,--output", arguments->output, "The file to write (default with --csv and --markdown: stdout)");
  report->add_option("--kernel", arguments->kernel, "Only records of this kernel");
  CLI::Option* csv = report->add_flag("--csv", arguments->csv, "Write a line of CSV per candidate instead of a page");
  report->add_flag("--markdown", arguments->markdown, "Write a table in Markdown instead of a page")->excludes(csv);
  report->add_flag("--json", arguments->json, "Print a JSON summary instead of text");
  report->callback([=] { *command = [=] { return WriteReport(*arguments); }; });
}

}  // namespace tuneonce::cli
