#ifndef TUNEONCE_BINDINGS_CLI_OUTPUT_H_
#define TUNEONCE_BINDINGS_CLI_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "tuneonce/status.h"

// All that the commands say goes through here. Texts are made Printable: they hold what files, records and tools say. A
// write that fails shows in CloseOutput.

namespace tuneonce::cli {

/// One line on stdout, formatted as by printf.
void PrintLine(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// Lines on stdout, as they are.
void PrintText(const std::string& lines);
/// JSON on stdout, in ASCII: exact, and harmless on a terminal.
void PrintJson(const nlohmann::ordered_json& json);
/// "tuneonce: `line`" on stderr. A message of several lines becomes one.
void PrintError(std::string line);

/// Flushes stdout. Error: something that was printed did not arrive.
Status CloseOutput();

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_OUTPUT_H_
