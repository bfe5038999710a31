#include "readers/files/model_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "readers/capture/capture_reader.h"
#include "readers/files/zip_archive.h"
#include "readers/onnx/model.h"
#include "readers/pt2/reader.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 7> kNames{"capture", "pt2",     "onnx", "torchscript",
                                                 "pickle",  "profile", "other"};

// A file's bytes without reading them: pages come in when they are looked at, so that the header of a file
// with gigabytes of weights costs what the header costs.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw Error(std::string("cannot open the file: ") + std::strerror(errno), path);
    struct stat status {};
    const bool is_plain = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const at = is_plain && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
    const int code = errno;
    ::close(file);  // what is mapped stays
    if (!is_plain) throw Error("not a plain file", path, "give a file that is on a disk");
    if (at == MAP_FAILED) throw Error(std::string("cannot map the file: ") + std::strerror(code), path);
    if (at != nullptr) bytes_ = {static_cast<const char*>(at), size};
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

FileKind classify_zip(std::string_view bytes) {
  try {
    const ZipArchive archive(bytes, "");
    if (find_exported_program(archive) != nullptr) return FileKind::kPt2;
    bool has_code = false, has_constants = false, has_pickle = false;
    for (const auto& member : archive.members()) {
      has_code |= member.name.find("/code/") != std::string_view::npos;
      has_constants |= member.name.ends_with("/constants.pkl");
      has_pickle |= member.name.ends_with(".pkl");
    }
    if (has_code && has_constants) return FileKind::kTorchScript;
    return has_pickle ? FileKind::kPickle : FileKind::kOther;
  } catch (const Error&) {
    return FileKind::kPt2;  // cut off: the reader says so
  }
}

// Protocol 2 and up say so in two bytes.
bool looks_like_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

}  // namespace

std::string_view name(FileKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

FileKind classify_bytes(std::string_view bytes) {
  if (looks_like_zip(bytes)) return classify_zip(bytes);
  if (looks_like_profile(bytes)) return FileKind::kProfile;
  if (looks_like_capture(bytes.substr(0, 256))) return FileKind::kCapture;
  if (looks_like_pickle(bytes)) return FileKind::kPickle;
  if (looks_like_onnx(bytes)) return FileKind::kOnnx;
  return FileKind::kOther;
}

FileKind classify_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return FileKind::kOther;
  try {
    return classify_bytes(MappedFile(path).bytes());
  } catch (const Error&) {
    return FileKind::kOther;
  }
}

Graph read_model_bytes(std::string_view bytes, const std::string& where, const Dims& dims,
                       OnnxInference infer) {
  const auto model = std::filesystem::path(where).stem().string();
  switch (classify_bytes(bytes)) {
    case FileKind::kPt2:
      return read_pt2(ZipArchive(bytes, where), where, model, dims);
    case FileKind::kOnnx:
      return read_onnx(bytes, where, model, dims, infer);
    default:
      throw Error("neither an exported program nor an ONNX model", where);
  }
}

Graph read_model_file(const std::string& path, const Dims& dims, OnnxInference infer) {
  const MappedFile file(path);
  return read_model_bytes(file.bytes(), path, dims, infer);
}

}  // namespace opscope
