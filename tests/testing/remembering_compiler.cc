// remembering_compiler FOLDER COMPILER ARGUMENT...: runs the compiler as CommandToolchain does, or gives what it made
// of the same source by the same command before, which FOLDER has. Tests of all presets compile the same few kernels,
// each in a process of its own: without this the compiler took a sixth of their time. What is remembered is the
// compiler's own output, byte by byte; what includes a file, says something, or fails is compiled each time.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// What a command compiles: -MF HEADERS, INPUT, -o OUTPUT, which lie in a folder that has another name each time.
struct Job {
  std::string headers, input, output;
  std::string key;  // All that decides what is made. Empty: not to be remembered.
};

bool MayRead(const std::string& text) {
  for (const char* word : {"#include", "# include", "__has_include", ".incbin", "__DATE__", "__TIME"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

/// -march=native is another on another machine, to which a build folder may be moved.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line;
  }
  return "";
}

Job JobOf(const std::vector<std::string>& command) {
  Job job;
  std::string key;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string& word = command[i];
    if (word == "-MF" && i + 1 < command.size()) {
      job.headers = command[++i];
    } else if (word == "-o" && i + 1 < command.size()) {
      job.output = command[++i];
    } else if (word.size() > 3 && word[0] == '/' && word.substr(word.size() - 3) == ".cc") {
      job.input = word;
    } else if (word.rfind("-I", 0) == 0 || word.rfind("-i", 0) == 0 || word.rfind("-f", 0) == 0) {
      const bool is_plain = word == "-fPIC" || word == "-fno-gnu-unique" || word.rfind("-fvis", 0) == 0 ||
                            word.rfind("-ffp-contract=", 0) == 0;
      if (!is_plain) return Job();
      key += word + '\n';
    } else {
      key += word + '\n';
    }
  }
  if (job.headers.empty() || job.input.empty() || job.output.empty()) return Job();
  const std::string source = ReadAll(job.input);
  struct stat compiler {};
  if (MayRead(source) || stat(command[0].c_str(), &compiler) != 0) return Job();
  job.key = key + ProcessorName() + std::to_string(compiler.st_size) + ' ' + std::to_string(compiler.st_mtime) + '\n' +
            source;
  return job;
}

/// Its exit code; `said`: whether it printed anything, which is printed here.
int Run(std::vector<std::string> command, bool* said) {
  std::FILE* output = std::tmpfile();
  if (output == nullptr) return 126;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(output), STDERR_FILENO);
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ) != 0) return 127;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  std::rewind(output);
  char bytes[4096];
  while (std::size_t count = std::fread(bytes, 1, sizeof(bytes), output)) {
    *said = true;
    std::fwrite(bytes, 1, count, stderr);
  }
  std::fclose(output);
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  return WEXITSTATUS(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::vector<std::string> command(argv + 2, argv + argc);
  const Job job = JobOf(command);
  bool said = false;
  if (job.key.empty()) return Run(command, &said);
  const fs::path remembered = fs::path(argv[1]) / std::to_string(std::hash<std::string>()(job.key));
  std::error_code error;
  if (fs::copy_file(remembered, job.output, fs::copy_options::overwrite_existing, error)) {
    std::ofstream(job.headers) << "kernel: " << job.input << "\n";
    return 0;
  }
  const int code = Run(command, &said);
  if (code != 0 || said) return code;
  fs::create_directories(argv[1], error);
  const std::string unfinished = remembered.string() + "." + std::to_string(getpid());
  if (fs::copy_file(job.output, unfinished, error)) fs::rename(unfinished, remembered, error);
  return code;
}
