// tuneonce doctor
#include <memory>

#include "commands.h"
#include "console/output.h"
#include "inspect/doctor.h"
#include "tuneonce/report.h"
#include "tuneonce/runtime.h"

namespace tuneonce::cli {

void AddDoctor(CLI::App& app, Command* command) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Show the drivers, devices and compilers that are found, and what to do about missing ones");
  auto json = std::make_shared<bool>(false);
  doctor->add_flag("--json", *json, "Print JSON instead of text");
  doctor->callback([=] {
    *command = [=]() -> Status {
      DoctorReport report = RunDoctor(*Runtime::Default());
      PrintText(*json ? DoctorJson(report) + "\n" : report.ToString());
      if (report.can_tune()) return Status();
      return UnavailableError("no device can tune: see the missing entries above");
    };
  });
}

}  // namespace tuneonce::cli
