#include "source_arguments.h"

#include <filesystem>
#include <set>
#include <utility>

#include "console/output.h"

namespace tuneonce::cli {

void SourceArguments::AddTo(CLI::App* command) {
  command->add_option("FILE", file_, "Tile IR bytecode, PTX, CUDA C++ or CUDA Tile C++")->required();
  command->add_flag("--tile", is_tile_, "the .cu file is CUDA Tile C++: its kernels are __tile_global__");
  command->add_option("--symbol", symbol_,
                      "the kernel, where the file has several; of a .cu file also an instance, like 'reduce<128, "
                      "float>'");
  command->add_option("-D", defines_, "a macro, NAME or NAME=VALUE (.cu only); may be repeated")
      ->allow_extra_args(false);
  command->add_option("-I", folders_, "a folder of headers (.cu only); may be repeated")->allow_extra_args(false);
  command->add_option("--std", standard_, "the C++ standard, like c++20 (.cu only); default c++17, with --tile c++20");
}

bool SourceArguments::IsCpp() const { return std::filesystem::path(file_).extension() == ".cu"; }

Status SourceArguments::CheckCppOptions() const {
  const char* option = is_tile_             ? "--tile"
                       : !defines_.empty()  ? "-D"
                       : !folders_.empty()  ? "-I"
                       : !standard_.empty() ? "--std"
                                            : nullptr;
  return option == nullptr ? Status() : InvalidArgumentError(std::string(option) + " applies to .cu files only");
}

Result<KernelSource> SourceArguments::Read() const {
  const std::string extension = std::filesystem::path(file_).extension().string();
  if (extension != ".tileir" && extension != ".ptx" && !IsCpp()) {
    return InvalidArgumentError("'" + file_ + "' does not end in .tileir, .ptx or .cu");
  }
  if (!IsCpp()) TUNEONCE_RETURN_IF_ERROR(CheckCppOptions());
  TUNEONCE_ASSIGN_OR_RETURN(std::string content, ReadInput(file_));
  if (extension == ".tileir") return KernelSource::TileIr(std::move(content), symbol_);
  if (extension == ".ptx") return KernelSource::Ptx(std::move(content), symbol_);
  KernelSource source = is_tile_ ? KernelSource::TileCpp(std::move(content), symbol_)
                                 : KernelSource::CudaCpp(std::move(content), symbol_);
  source.file = file_;
  std::set<std::string> defined;
  for (const std::string& define : defines_) {
    std::size_t equals = define.find('=');
    bool has_value = equals != std::string::npos;
    const std::string name = define.substr(0, equals);
    if (!defined.insert(name).second) return InvalidArgumentError("-D " + name + " is given twice: keep one of them");
    source.Define(name, has_value ? define.substr(equals + 1) : "1");
  }
  for (const std::string& folder : folders_) {
    if (!std::filesystem::is_directory(folder)) return NotFoundError("-I " + folder + ": there is no such folder");
    source.Include(folder);
  }
  if (!standard_.empty()) source.options.push_back("--std=" + standard_);
  return source;
}

}  // namespace tuneonce::cli
