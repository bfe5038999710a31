// One table of environments and one of times. The application id in the file's header tells our files from
// others'.
#include "readers/results/op_times.h"

#include <fmt/format.h>

#include <concepts>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "graph/signature.h"

#ifdef OPSCOPE_SQLITE
#include <sqlite3.h>
#endif

namespace opscope {
namespace {

// Of the way ops are replayed: times measured another way are not reused.
constexpr int kMethod = 1;

}  // namespace

std::string environment_key(const Environment& environment, std::string_view settings) {
  std::string key = fmt::format("method {}", kMethod);
  const auto add = [&](std::string_view name, std::string_view text) {
    if (!text.empty()) key += fmt::format("; {} {}", name, text);
  };
  const std::string_view device = environment.device;
  add("device", device.substr(0, device.find(':')));
  add("name", environment.device_name);
  add("host", environment.host);
  add("torch", environment.torch);
  add("runtime", environment.runtime);
  add("driver", environment.driver);
  add("threads", environment.threads == 0 ? "" : std::to_string(environment.threads));
  add("precision", environment.precision);
  add("settings", settings);
  return key;
}

std::string OpTimeStore::default_path() {
  const std::string folder = cache_folder();
  return folder.empty() ? "" : folder + "/op_times.sqlite";
}

#ifdef OPSCOPE_SQLITE

namespace {

Error unusable(sqlite3* database, const std::string& path) {
  return Error(fmt::format("the stored times of ops cannot be used: {}", sqlite3_errmsg(database)), path,
               "move the file away, and times are measured and stored afresh");
}

constexpr int kApplicationId = 0x6f707363;  // "opsc"
constexpr int kVersion = 1;
constexpr int kBusyMilliseconds = 10'000;  // another process writes for a moment

constexpr const char* kTables = R"(
CREATE TABLE environments (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE op_times (
  environment INTEGER NOT NULL REFERENCES environments (id),
  hash TEXT NOT NULL,
  signature TEXT NOT NULL,
  median_ns REAL NOT NULL,
  mean_ns REAL NOT NULL,
  deviation_ns REAL NOT NULL,
  minimum_ns REAL NOT NULL,
  batches INTEGER NOT NULL,
  repetitions INTEGER NOT NULL,
  waited INTEGER NOT NULL,
  PRIMARY KEY (environment, hash)
) WITHOUT ROWID;
)";

// A prepared statement, its columns read by position from 0.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const char* sql) : database_(database), path_(path) {
    check(sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // All that it asks for, in order.
  template <class... Values>
  Statement& bind(const Values&... values) {
    int at = 0;
    (check(bind_one(++at, values)), ...);
    return *this;
  }
  // True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    return code == SQLITE_ROW;
  }
  void reset() { sqlite3_reset(statement_); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? bytes : "";
  }

 private:
  int bind_one(int at, std::string_view text) {
    return sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  int bind_one(int at, double number) { return sqlite3_bind_double(statement_, at, number); }
  int bind_one(int at, std::integral auto number) {
    return sqlite3_bind_int64(statement_, at, static_cast<std::int64_t>(number));
  }
  void check(int code) const {
    if (code != SQLITE_OK) throw unusable(database_, path_);
  }

  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

struct OpTimeStore::Database {
  explicit Database(const std::string& file) : path(file) {
    std::error_code ignored;  // opening says what is wrong
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path.c_str(), &handle, flags, nullptr) != SQLITE_OK) {
      const std::string reason = handle ? sqlite3_errmsg(handle) : "out of memory";
      sqlite3_close(handle);
      throw Error("the stored times of ops cannot be opened: " + reason, path,
                  "set OPSCOPE_CACHE_DIR to a folder that can be written");
    }
    sqlite3_busy_timeout(handle, kBusyMilliseconds);
  }
  ~Database() { sqlite3_close(handle); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Statement prepare(const char* sql) const { return Statement(handle, path, sql); }
  void run(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK) throw unusable(handle, path);
  }
  std::int64_t number(const char* sql) const {
    auto statement = prepare(sql);
    return statement.step() ? statement.integer(0) : 0;
  }

  // Ours, of this version and usable; made so where it is empty. Two processes that both find it empty take
  // turns; what else the file may be is asked inside of a turn, as one may end between two questions.
  void prepare_tables() {
    if (number("PRAGMA application_id") == kApplicationId && number("PRAGMA user_version") == kVersion)
      return;
    Transaction transaction(*this);
    if (is_ours()) return;
    run(kTables);
    run(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
    run(fmt::format("PRAGMA user_version = {}", kVersion).c_str());
    transaction.commit();
  }

  // False where nothing is in it yet. Throws where it is another's.
  bool is_ours() const {
    const auto id = number("PRAGMA application_id"), version = number("PRAGMA user_version");
    if (id == 0 && version == 0 && number("SELECT count(*) FROM sqlite_master") == 0) return false;
    if (id != kApplicationId)
      throw Error("the file for stored times of ops is another program's", path,
                  "move it away, or set OPSCOPE_CACHE_DIR to another folder");
    if (version != kVersion)
      throw Error(fmt::format("the stored times of ops are of version {}, and this opscope knows {}", version,
                              kVersion),
                  path, "move the file away, or set OPSCOPE_CACHE_DIR to another folder");
    return true;
  }

  // Undone at its end unless committed.
  class Transaction {
   public:
    explicit Transaction(const Database& database) : database_(database) { database_.run("BEGIN IMMEDIATE"); }
    ~Transaction() {
      if (!done_) sqlite3_exec(database_.handle, "ROLLBACK", nullptr, nullptr, nullptr);
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() {
      database_.run("COMMIT");
      done_ = true;
    }

   private:
    const Database& database_;
    bool done_ = false;
  };

  std::int64_t environment_id(const std::string& key) const {
    prepare("INSERT OR IGNORE INTO environments (key) VALUES (?)").bind(key).step();
    auto found = prepare("SELECT id FROM environments WHERE key = ?");
    found.bind(key).step();
    return found.integer(0);
  }

  const std::string path;
  sqlite3* handle = nullptr;
};

bool OpTimeStore::available() { return true; }

OpTimeStore::OpTimeStore(const std::string& path) : database_(std::make_unique<Database>(path)) {
  database_->prepare_tables();
}
OpTimeStore::~OpTimeStore() = default;
OpTimeStore::OpTimeStore(OpTimeStore&&) noexcept = default;

std::optional<OpTime> OpTimeStore::find(const std::string& environment, const std::string& signature) const {
  auto statement = database_->prepare(
      "SELECT median_ns, mean_ns, deviation_ns, minimum_ns, batches, repetitions, waited, signature "
      "FROM op_times WHERE environment = (SELECT id FROM environments WHERE key = ?) AND hash = ?");
  statement.bind(environment, signature_hash(signature));
  if (!statement.step() || statement.text(7) != signature) return std::nullopt;
  return OpTime{.median_ns = statement.real(0),
                .mean_ns = statement.real(1),
                .deviation_ns = statement.real(2),
                .minimum_ns = statement.real(3),
                .batches = static_cast<std::uint64_t>(statement.integer(4)),
                .repetitions = static_cast<std::uint64_t>(statement.integer(5)),
                .waited = statement.integer(6) != 0};
}

void OpTimeStore::add(const std::string& environment, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  Database::Transaction transaction(*database_);
  const auto id = database_->environment_id(environment);
  auto statement =
      database_->prepare("INSERT OR REPLACE INTO op_times VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [signature, time] : rows) {
    statement.reset();
    statement.bind(id, signature_hash(signature), signature, time.median_ns, time.mean_ns, time.deviation_ns,
                   time.minimum_ns, time.batches, time.repetitions, time.waited);
    statement.step();
  }
  transaction.commit();
}

std::uint64_t OpTimeStore::size() const {
  return static_cast<std::uint64_t>(database_->number("SELECT count(*) FROM op_times"));
}

#else

struct OpTimeStore::Database {};

bool OpTimeStore::available() { return false; }

OpTimeStore::OpTimeStore(const std::string& path) {
  throw Error("this opscope was built without SQLite, and keeps no times of ops", path,
              "install libsqlite3-dev and build opscope again");
}
OpTimeStore::~OpTimeStore() = default;
OpTimeStore::OpTimeStore(OpTimeStore&&) noexcept = default;
std::optional<OpTime> OpTimeStore::find(const std::string&, const std::string&) const { return std::nullopt; }
void OpTimeStore::add(const std::string&, const std::vector<Row>&) {}
std::uint64_t OpTimeStore::size() const { return 0; }

#endif

}  // namespace opscope
