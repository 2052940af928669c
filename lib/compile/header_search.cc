#include "compile/header_search.h"

#include <sys/stat.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// The path of `name` in `folder`; "" is the working directory.
std::string Joined(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.back() == '/' ? folder + name : absl::StrCat(folder, "/", name);
}

/// The folder of a path: "" without a slash.
std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, std::max<std::size_t>(slash, 1));
}

/// The path without ".", "//" and "folder/..", as if no folder in it were a link.
std::string WithoutDots(const std::string& path) {
  std::vector<absl::string_view> parts;
  for (absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  return absl::StrCat(absl::StartsWith(path, "/") ? "/" : "", absl::StrJoin(parts, "/"));
}

}  // namespace

HeaderSearch::HeaderSearch(HeaderPath path, const std::vector<std::string>& read, const timespec& started)
    : path_(std::move(path)), started_(started), read_(read) {
  for (const std::string& name : read_) {
    Result<std::string> content = ReadFile(name);
    const Place& place = At(name);
    if (!content.ok() || !place.is_file) {
      is_complete_ = false;
      continue;
    }
    read_ids_.insert(place.id);
    read_names_.insert(WithoutDots(name));
    texts_.push_back(Text{*std::move(content), FolderOf(name)});
  }
}

void HeaderSearch::AddText(std::string text, std::optional<std::string> folder) {
  texts_.push_back(Text{std::move(text), std::move(folder)});
}

void HeaderSearch::AddHeaderInMemory(const std::string& name, std::string text) {
  in_memory_.insert(name);
  AddText(std::move(text), FolderOf(name));
}

void HeaderSearch::AddInclude(const std::string& name, bool is_quoted, const std::optional<std::string>& folder) {
  given_.emplace_back(HeaderRequest{HeaderRequest::Kind::kInclude, name, is_quoted}, folder);
}

HeaderSearch::Findings HeaderSearch::Find() {
  for (const auto& [request, folder] : Requests()) Resolve(request, folder);
  // Without macros every file has a directive that leads to it: else the path, or a text, is not understood.
  const bool are_explained = std::includes(explained_.begin(), explained_.end(), read_ids_.begin(), read_ids_.end());
  if (!has_computed_ && !are_explained) is_complete_ = false;
  Findings findings;
  findings.files.assign(files_.begin(), files_.end());
  findings.absent.assign(absent_.begin(), absent_.end());
  findings.is_complete = is_complete_;
  return findings;
}

std::vector<std::pair<HeaderRequest, std::optional<std::string>>> HeaderSearch::Requests() {
  std::set<std::string> macros;  // A text may use a macro that another one defines.
  std::vector<HeaderRequests> found(texts_.size());
  std::size_t num_macros = 0;
  do {
    num_macros = macros.size();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      found[i] = FindHeaderRequests(texts_[i].content, macros);
      macros.insert(found[i].asking_macros.begin(), found[i].asking_macros.end());
    }
  } while (macros.size() != num_macros);
  std::vector<std::pair<HeaderRequest, std::optional<std::string>>> all = given_;
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    is_complete_ = is_complete_ && found[i].is_complete;
    for (HeaderRequest& request : found[i].requests) all.emplace_back(std::move(request), texts_[i].folder);
  }
  return all;
}

const HeaderSearch::Place& HeaderSearch::At(const std::string& path) {
  auto [it, is_first] = places_.try_emplace(path);
  struct stat info {};
  if (is_first && stat(path.empty() ? "." : path.c_str(), &info) == 0) {
    it->second.is_folder = S_ISDIR(info.st_mode);
    it->second.is_file = !it->second.is_folder;
    it->second.id = {info.st_dev, info.st_ino};
    it->second.changed = info.st_ctim;
  }
  return it->second;
}

std::vector<std::string> HeaderSearch::PlacesOf(const std::string& name, bool is_quoted,
                                                const std::optional<std::string>& folder) const {
  if (absl::StartsWith(name, "/")) return {name};
  std::vector<std::string> places;
  if (is_quoted && folder) places.push_back(Joined(*folder, name));
  if (is_quoted) {
    for (const std::string& each : path_.quoted) places.push_back(Joined(each, name));
  }
  for (const std::string& each : path_.angled) places.push_back(Joined(each, name));
  return places;
}

void HeaderSearch::Resolve(const HeaderRequest& request, const std::optional<std::string>& folder) {
  using Kind = HeaderRequest::Kind;
  if (request.kind == Kind::kComputed) return ResolveComputed(folder);
  if (in_memory_.count(request.name) != 0) return;
  const std::vector<std::string> places = PlacesOf(request.name, request.is_quoted, folder);
  if (request.kind == Kind::kInclude) return ResolveInclude(places);
  if (request.kind == Kind::kIncludeNext) return ResolveIncludeNext(places);
  ResolveQuestion(places, request.kind == Kind::kAskNext);
}

void HeaderSearch::ResolveInclude(const std::vector<std::string>& places) {
  auto found = std::find_if(places.begin(), places.end(), [&](const std::string& path) { return At(path).is_file; });
  if (found == places.end()) return;
  if (!WasRead(At(*found))) {
    if (IsNew(At(*found))) is_complete_ = false;  // It may hide the one that was read.
    return;
  }
  std::for_each(places.begin(), found, [&](const std::string& path) { NoteAbsent(path); });
  NoteFile(*found);
}

void HeaderSearch::ResolveIncludeNext(const std::vector<std::string>& places) {
  // Where the search begins is not known here: the places before the last file that was read cover all beginnings.
  auto last = std::find_if(places.rbegin(), places.rend(), [&](const std::string& path) { return WasRead(At(path)); });
  for (auto it = last; it != places.rend(); ++it) {
    const Place& place = At(*it);
    if (WasRead(place)) {
      NoteFile(*it);
    } else if (!place.is_file) {
      NoteAbsent(*it);
    } else if (IsNew(place)) {
      is_complete_ = false;
    }
  }
}

void HeaderSearch::ResolveComputed(const std::optional<std::string>& folder) {
  has_computed_ = true;
  for (const std::string& read : read_) {
    for (const std::vector<std::string>* folders : {&path_.quoted, &path_.angled}) {
      for (const std::string& each : *folders) {
        const std::string prefix = Joined(each, "");
        if (prefix.empty() || !absl::StartsWith(read, prefix)) continue;
        // Had the macro been the rest of the name, these would have come before.
        for (const std::string& path : PlacesOf(read.substr(prefix.size()), /*is_quoted=*/true, folder)) {
          if (path == read) break;
          if (!At(path).is_file) NoteAbsent(path);
          if (At(path).is_file && IsNew(At(path))) is_complete_ = false;
        }
      }
    }
  }
}

void HeaderSearch::ResolveQuestion(const std::vector<std::string>& places, bool is_next) {
  for (const std::string& path : places) {
    const Place& place = At(path);
    if (!place.is_file) {
      NoteAbsent(path);
      if (IsNew(At(FolderOf(path)))) is_complete_ = false;  // It may have been there until now.
      continue;
    }
    if (IsNew(place)) is_complete_ = false;
    NoteFile(path);  // clang lists it as read, gcc does not.
    if (!is_next) return;
  }
}

void HeaderSearch::NoteFile(const std::string& path) {
  explained_.insert(At(path).id);
  if (read_names_.count(WithoutDots(path)) == 0) files_.insert(path);
}

void HeaderSearch::NoteAbsent(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (At(folder).is_folder) continue;
    absent_.insert(folder + "/");
    return;
  }
  absent_.insert(path);
}

bool HeaderSearch::IsNew(const Place& place) const {
  if (!place.is_file && !place.is_folder) return false;
  return std::tie(place.changed.tv_sec, place.changed.tv_nsec) >= std::tie(started_.tv_sec, started_.tv_nsec);
}

}  // namespace v0
}  // namespace tuneonce
