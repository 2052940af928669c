#ifndef TUNEONCE_TOOLS_CONSOLE_OUTPUT_H_
#define TUNEONCE_TOOLS_CONSOLE_OUTPUT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tuneonce/result.h"

// All output of the commands is written by these functions. Texts are made Printable, because they contain text from
// files, records and tools. CloseOutput reports a failed write.

namespace tuneonce {
inline namespace v0 {

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
/// Returns text that may come from anyone as one printable line.
std::string OneLine(const std::string& text);
/// Returns names as a list for a message, those like `wanted` first, and not more than fit.
std::string NamesLike(const std::vector<std::string>& names, const std::string& wanted);
/// The error with what to do about it, for PrintError.
Status Remedied(Status error, const std::string& remedy);
/// "1 h 5 min", "3 s".
std::string TimeText(double seconds);
/// Returns whether this descriptor is a terminal with colours, and the user wants them (NO_COLOR).
bool UsesColors(int descriptor);

/// Flushes stdout. Error: something that was printed did not arrive.
Status CloseOutput();

/// Writes the whole file, or leaves an existing one unchanged: it is replaced atomically by a file of the same mode. A
/// symbolic link is followed. A pipe or a device is written to. Errors: Unavailable, with the path and the reason, also
/// for a folder or a disk.
Status WriteOutput(const std::string& path, const std::string& content);

/// Returns the name of the file that WriteOutput creates or replaces for `path`: the end of a chain of symbolic links,
/// which need not exist. Errors: Unavailable for an endless chain.
Result<std::string> OutputTarget(const std::string& path);

/// Reads a whole file. It never blocks on a pipe and never returns a part of a file. Errors, with the path and the
/// reason: NotFound; InvalidArgument if it is not a regular file or is too large; ResourceExhausted; Unavailable.
Result<std::string> ReadInput(const std::string& path);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_CONSOLE_OUTPUT_H_
