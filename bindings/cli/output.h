#ifndef TUNEONCE_BINDINGS_CLI_OUTPUT_H_
#define TUNEONCE_BINDINGS_CLI_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "tuneonce/result.h"

// All output of the commands is written by these functions. Texts are made Printable, because they contain text from
// files, records and tools. CloseOutput reports a failed write.

namespace tuneonce::cli {

/// Prints one line on stdout, formatted as by printf.
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
/// Returns whether this descriptor is a terminal with colours, and the user wants them (NO_COLOR).
bool UsesColors(int descriptor);

/// Flushes stdout. Error: something that was printed did not arrive.
Status CloseOutput();

// Files are read by tuneonce::ReadFile.

/// Writes the whole file, or leaves an existing one unchanged: it is replaced atomically by a file of the same mode. A
/// symbolic link is followed. A pipe or a device is written to. Errors: Unavailable, with the path and the reason, also
/// for a folder or a disk.
Status WriteFile(const std::string& path, const std::string& content);

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_OUTPUT_H_
