#ifndef TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
#define TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_

#include <ctime>
#include <string>
#include <vector>

#include "tuneonce/artifact.h"
#include "tuneonce/kernel_source.h"

namespace tuneonce {
inline namespace v0 {

/// A source of CUDA C++ or CUDA Tile C++ as NVRTC gets it: its text, the headers that its options name, and what a
/// compile of it read.

/// The name of the source in messages: its file, else one made of its symbol.
std::string NvrtcFileOf(const KernelSource& source);

/// The text that is compiled: the source's, behind its macros. These are no -D, which NVRTC's own header before every
/// text would see: there "T" and "N" are names of template parameters. Moves what became a line out of `*defines`.
std::string NvrtcTextOf(const KernelSource& source, std::vector<std::string>* defines);

/// Whether one of the options begins in one of these ways.
bool GivesOption(const std::vector<std::string>& options, const char* one_way, const char* other_way);

/// What the options say of headers.
struct HeaderOptions {
  std::vector<std::string> folders;   ///< In the order of the path.
  std::vector<std::string> included;  ///< Before the text.
  bool is_known = true;               ///< False if there is an option of headers that is not known here.
};
HeaderOptions HeaderOptionsIn(const std::vector<std::string>& options);

/// Whether an option other than a folder of headers or a macro makes NVRTC read or write a file.
bool OptionsNameFiles(const std::vector<std::string>& options);

/// Whether the source's text and options show that no file is read.
bool ReadsNoFile(const KernelSource& source);

/// Sets what `artifact` was made of: the files among `headers`, which a run of NVRTC read (NvrtcOutput::headers), and
/// those that it looked for and did not find. `text` and `options` are what was compiled. `built_in`: the names of
/// headers that this NVRTC has within itself, so that no file of such a name is read.
void SetReadHeaders(const KernelSource& source, const std::string& text, const std::vector<std::string>& options,
                    std::vector<std::string> headers, const timespec& started, const std::vector<std::string>& built_in,
                    Artifact* artifact);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_COMPILE_NVRTC_SOURCE_H_
