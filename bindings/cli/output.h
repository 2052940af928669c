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
/// "tuneonce: CAUSE" on stderr, and on a line of its own "  try: REMEDY", if there is one. Of a long message, or one of
/// several lines (a compiler's), the cause is the beginning; the rest is shown if `verbose`, and else --verbose is the
/// remedy.
void PrintError(const std::string& message, bool verbose);
/// "tuneonce: `line`" on stderr: no error, but what one should know.
void PrintNote(const std::string& line);
/// The error with what to do about it, for PrintError.
Status Remedied(Status error, const std::string& remedy);
/// "1 h 5 min", "3 s".
std::string TimeText(double seconds);
/// True if what is written to this descriptor is for a terminal that shows colours, and its user wants them (NO_COLOR).
bool UsesColors(int descriptor);

/// Flushes stdout. Error: something that was printed did not arrive.
Status CloseOutput();

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_OUTPUT_H_
