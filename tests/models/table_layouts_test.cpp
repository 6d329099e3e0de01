// Layouts in which weather services, loggers, statistics offices and exchanges publish series, with made-up numbers.
// Each is read at once, or with the flag that the message names.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <regex>

#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/models/applications/tables/fill_table.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr int kRows = 30, kGap = 3;
constexpr std::int64_t kFirstDay = 19797;  // 2024-03-15

/// A moment of a series.
struct At {
  int row;
  std::string y;  // its value as the table writes it

  std::string iso(double days) const { return format_date_time(kFirstDay, days, false); }
  /// Year, month and day of day `days`.
  std::string year(double days) const { return iso(days).substr(0, 4); }
  std::string month(double days) const { return iso(days).substr(5, 2); }
  std::string day(double days) const { return iso(days).substr(8, 2); }
  std::string dmy(double days, char sign) const {
    return fmt::format("{}{}{}{}{}", day(days), sign, month(days), sign, year(days));
  }
  std::string compact(double days) const { return year(days) + month(days) + day(days); }
  /// Of rows an hour apart: the day, and the hour.
  int whole_day() const { return row / 24; }
  int hour() const { return row % 24; }
  int month_of_row() const { return row % 12 + 1; }
  int year_of_row() const { return 2020 + row / 12; }
};

struct Layout {
  const char* name;
  std::string head;
  std::function<std::string(const At&)> row;
  double step = 1;  // days between rows; 0: months
  std::string flags{};
  std::string missing{};  // how the gap is written
  std::string choice{};   // of a flag that names several
  char decimal = '.';
};

std::string number(int row, char decimal) {
  std::string text = fmt::format("{:.2f}", 10.5 + 0.25 * row);
  if (decimal == ',') text[text.find('.')] = ',';
  return text;
}

std::string text_of(const Layout& layout) {
  std::string text = layout.head;
  for (int row = 0; row < kRows; ++row)
    text += layout.row({row, row == kGap ? layout.missing : number(row, layout.decimal)}) + "\n";
  return text;
}

void apply(const std::string& flag, const std::string& value, TablesToFill& to, Table::Options& options) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    names.push_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  if (flag == "date") to.columns.date = names;
  if (flag == "inputs") to.columns.inputs = names;
  if (flag == "group") to.columns.group = value;
  if (flag == "values") to.columns.values = names;
  if (flag == "skip-rows") options.skip_rows = std::stoi(value);
  if (flag == "missing") options.cells.missing.push_back(value);
  if (flag == "decimal") options.cells.decimal = value[0];
  if (flag == "dates") options.cells.dates = value == "dmy" ? DateOrder::dmy : DateOrder::mdy;
}

/// The flag and its value that a message names; the layout decides between several.
std::pair<std::string, std::string> named_flag(const std::string& message, const std::string& choice) {
  static const std::regex flag("--(date|dates|inputs|group|skip-rows|missing|decimal) ('[^']*'|[^ ;]+)");
  std::smatch found;
  if (!std::regex_search(message, found, flag)) return {"none", message};
  std::string value = found[2];
  if (value.front() == '\'') value = value.substr(1, value.size() - 2);
  const bool several = found[1] == "dates" || found[1] == "decimal";
  return {found[1], several ? choice : value};
}

/// Reads a table, following messages; `flags` becomes the flags that it took.
std::optional<FillTables> read_layout(const Layout& layout, std::string& flags) {
  TemporaryDirectory directory;
  std::ofstream(directory / "t.csv", std::ios::binary) << text_of(layout);
  TablesToFill wishes{.table = Table::of_column("none", {})};
  Table::Options options;
  for (int tries = 0; tries < 3; ++tries) {
    std::string message;
    try {
      wishes.table = Table::read(directory / "t.csv", options);
      TablesToFill next{.table = Table::read(directory / "t.csv", options), .columns = wishes.columns};
      return read_fill_tables(std::move(next));
    } catch (const Error& error) {
      message = error.what();
    }
    const auto [flag, value] = named_flag(message, layout.choice);
    flags += fmt::format("{}--{} {}", flags.empty() ? "" : " ", flag, value);
    if (flag == "none") return {};
    apply(flag, value, wishes, options);
  }
  return {};
}

double days_of_month(int row) {
  return static_cast<double>(*day_in_calendar(2020 + row / 12, row % 12 + 1, 1) - *day_in_calendar(2020, 1, 1));
}

void check_layout(const Layout& layout) {
  CAPTURE(layout.name);
  std::string flags;
  const auto read = read_layout(layout, flags);
  CHECK(flags == layout.flags);
  if (!read) return;
  const std::vector<double>& x = read->observed.x;
  const std::vector<double>& y = read->observed.y[0];
  REQUIRE(x.size() == kRows);
  for (int row = 0; row < kRows; ++row) {
    CAPTURE(row);
    const auto at = static_cast<std::size_t>(row);
    CHECK(x[at] - x[0] == doctest::Approx(layout.step > 0 ? layout.step * row : days_of_month(row)).epsilon(1e-9));
    if (row != kGap) CHECK(y[at] == doctest::Approx(10.5 + 0.25 * row));
    if (row == kGap) CHECK(std::isnan(y[at]));
  }
}

constexpr double kHour = 1. / 24, kMinute = 1. / 1440;

}  // namespace

TEST_CASE("layouts of weather services") {
  const std::vector<Layout> layouts = {
      {"GHCN daily", "\"STATION\",\"NAME\",\"DATE\",\"TMAX\"\n",
       [](const At& at) { return fmt::format("\"USW001\",\"CITY, NY US\",\"{}\",\"{}\"", at.iso(at.row), at.y); }},
      {"hourly of DWD", "STATIONS_ID;MESS_DATUM;QN_9;TT_TU;eor\n",
       [](const At& at) {
         return fmt::format("         44;{}{:02};    3;   {};eor", at.compact(at.whole_day()), at.hour(), at.y);
       },
       kHour, "--missing -999", "-999"},
      {"INMET", "REGIAO:;CO\nUF:;DF\nESTACAO:;X\nLATITUDE:;-15,78\nData;Hora UTC;TEMPERATURA DO AR, HORARIA (C);\n",
       [](const At& at) {
         return fmt::format("{}/{}/{};{:02}00 UTC;{};", at.year(at.whole_day()), at.month(at.whole_day()),
                            at.day(at.whole_day()), at.hour(), at.y);
       },
       kHour, "--skip-rows 4", "", "", ','},
      {"Meteo-France", "NUM_POSTE;NOM_USUEL;LAT;LON;AAAAMMJJHH;T\n",
       [](const At& at) {
         return fmt::format("01014002;ARBENT;46.278333;5.669000;{}{:02};{}", at.compact(at.whole_day()), at.hour(),
                            at.y);
       },
       kHour},
      {"KNMI", "# BRON: KNMI\n#\n# STN,YYYYMMDD,   HH,    T\n",
       [](const At& at) { return fmt::format("  260,{},{:5},{:>5}", at.compact(at.whole_day()), at.hour() + 1, at.y); },
       kHour, "--date YYYYMMDD,HH"},
      {"buoys of NDBC", "#YY  MM DD hh mm WTMP PRES\n#yr  mo dy hr mn degC degC\n",
       [](const At& at) {
         return fmt::format("{} {} {} {:02} 00 {} 1010.1", at.year(at.whole_day()), at.month(at.whole_day()),
                            at.day(at.whole_day()), at.hour(), at.y);
       },
       kHour, "--date YY,MM,DD,hh,mm", "NA"},
      {"NASA POWER", "YEAR,MO,DY,HR,T2M\n",
       [](const At& at) {
         return fmt::format("{},{},{},{},{}", at.year(at.whole_day()), std::stoi(at.month(at.whole_day())),
                            std::stoi(at.day(at.whole_day())), at.hour(), at.y);
       },
       kHour, "--date YEAR,MO,DY,HR"},
      {"Daymet", "year,yday,tmax (deg c)\n", [](const At& at) { return fmt::format("2023,{},{}", at.row + 100, at.y); },
       1, "--date year,yday"},
      {"USGS", "# retrieved\n#\nagency_cd\tsite_no\tdatetime\tdischarge\n5s\t15s\t20d\t14n\n",
       [](const At& at) { return fmt::format("USGS\t01646500\t{}\t{}", at.iso(at.row), at.y); }},
      {"EPA AQS", "\"State Code\",\"Date Local\",\"Time Local\",\"Sample Measurement\"\n",
       [](const At& at) {
         return fmt::format("\"06\",\"{}\",\"{:02}:00\",{}", at.iso(at.whole_day()), at.hour(), at.y);
       },
       kHour},
      {"ECA&D", "EUROPEAN CLIMATE ASSESSMENT\nFILE FORMAT\n\nSTAID, SOUID,    DATE,   TG, Q_TG\n",
       [](const At& at) { return fmt::format("     1, 35381,{},{:>6},    0", at.compact(at.row), at.y); }, 1,
       "--skip-rows 3"},
      {"UK Met Office", "yyyy  mm   tmax\n",
       [](const At& at) { return fmt::format("   {}   {}   {}", at.year_of_row(), at.month_of_row(), at.y); }, 0,
       "--date yyyy,mm --missing ---", "---"},
      {"carbon dioxide of NOAA", "# Mauna Loa\n# monthly, means\nyear,month,average,ndays\n",
       [](const At& at) { return fmt::format("{},{},{},26", at.year_of_row(), at.month_of_row(), at.y); }, 0,
       "--date year,month"},
      {"OpenAQ", "location,utc,local,parameter,value\n",
       [](const At& at) {
         return fmt::format("Main St,{0}T{1:02}:00:00Z,{0}T{1:02}:00:00-00:00,no2,{2}", at.iso(at.whole_day()),
                            at.hour(), at.y);
       },
       kHour, "--inputs utc"},
      {"Ameriflux", "TIMESTAMP_START,TA\n",
       [](const At& at) {
         return fmt::format("{}{:02}{},{}", at.compact(0), at.row / 2, at.row % 2 == 0 ? "00" : "30", at.y);
       },
       30 * kMinute, "--missing -9999", "-9999"},
      {"days of the year", "date,y\n", [](const At& at) { return fmt::format("2024-{:03},{}", at.row + 20, at.y); }},
      {"basic dates of ISO 8601", "time,y\n",
       [](const At& at) { return fmt::format("{}T{:02}0000Z,{}", at.compact(at.whole_day()), at.hour(), at.y); },
       kHour}};
  for (const Layout& layout : layouts) check_layout(layout);
}

TEST_CASE("layouts of loggers") {
  const std::vector<Layout> layouts = {
      {"HOBO", "\"Plot Title: Cellar\"\n\"#\",\"Date Time, GMT+01:00\",\"Temp, °C (LGR S/N: 1)\"\n",
       [](const At& at) {
         const std::string day = fmt::format("{}/{}/24", at.month(at.whole_day()), at.day(at.whole_day()));
         return fmt::format("{},{} {:02}:00:00 {},{}", at.row + 1, day, (at.hour() + 11) % 12 + 1,
                            at.hour() < 12 ? "AM" : "PM", at.y);
       },
       kHour, "--skip-rows 1 --dates mdy", "", "mdy"},
      {"Campbell TOA5",
       "\"TOA5\",\"Mast\",\"CR1000\",\"1\"\n\"TIMESTAMP\",\"RECORD\",\"AirTC\"\n\"TS\",\"RN\",\"Deg "
       "C\"\n\"\",\"\",\"Avg\"\n",
       [](const At& at) {
         return fmt::format("\"{} {:02}:00:00\",{},{}", at.iso(at.whole_day()), at.hour(), at.row, at.y);
       },
       kHour, "", "\"NAN\""},
      {"iButton", "1-Wire: 23\nMission: yes\n\nDate/Time,Unit,Value\n",
       [](const At& at) { return fmt::format("{} {:02}:00,C,{}", at.dmy(at.whole_day(), '/'), at.hour(), at.y); },
       kHour, "--skip-rows 3"},
      {"air quality with empty cells at the end", "Date;Time;CO(GT);;\n",
       [](const At& at) {
         const std::string end = at.row == kRows - 1 ? "\n;;;;\n;;;;" : "";
         return fmt::format("{};{:02}.00.00;{};;{}", at.dmy(at.whole_day(), '/'), at.hour(), at.y, end);
       },
       kHour, "", "", "", ','},
      {"power of a household", "Date;Time;Global_active_power\n",
       [](const At& at) { return fmt::format("{};17:{:02}:00;{}", at.dmy(0, '/'), at.row, at.y); }, kMinute, "", "?"},
      {"time since a start", "elapsed,volts\n",
       [](const At& at) { return fmt::format("00:{:02}:{:02},{}", at.row / 3, at.row % 3 * 20, at.y); }, kMinute / 3},
      {"timedelta of pandas", "elapsed,volts\n",
       [](const At& at) { return fmt::format("{} days {:02}:00:00,{}", at.row / 4, at.row % 4 * 6, at.y); }, 0.25},
      {"date and time between blanks", "time temp\n",
       [](const At& at) { return fmt::format("{} {:02}:00:00 {}", at.iso(at.whole_day()), at.hour(), at.y); }, kHour,
       "", "NA"},
      {"hours 1 to 24", "Date,Hour,NO2\n",
       [](const At& at) { return fmt::format("{},{},{}", at.iso(at.whole_day()), at.hour() + 1, at.y); }, kHour,
       "--date Date,Hour"},
      {"hhmm without zeros", "Datum,Zeit,Temp\n",
       [](const At& at) { return fmt::format("{},{},{}", at.iso(at.whole_day()), 100 * at.hour(), at.y); }, kHour},
      {"CR CR LF", "date,t\r\r\n", [](const At& at) { return fmt::format("{},{}\r\r", at.iso(at.row), at.y); }}};
  for (const Layout& layout : layouts) check_layout(layout);
}

TEST_CASE("layouts of statistics offices and shops") {
  const std::vector<Layout> layouts = {
      {"FRED", "DATE,UNRATE\n", [](const At& at) { return fmt::format("{},{}", at.iso(at.row), at.y); }, 1, "", "."},
      {"Eurostat", "TIME_PERIOD,OBS_VALUE\n",
       [](const At& at) { return fmt::format("{}M{:02},{}", at.year_of_row(), at.month_of_row(), at.y); }, 0,
       "--missing :", ":"},
      {"SCB", "månad;KPI\n",
       [](const At& at) { return fmt::format("{}M{:02};{}", at.year_of_row(), at.month_of_row(), at.y); }, 0,
       "--missing ..", "..", "", ','},
      {"Destatis", "Jahr;Monat;Wert\n",
       [](const At& at) {
         const char* names[] = {"Januar", "Februar", "März",      "April",   "Mai",      "Juni",
                                "Juli",   "August",  "September", "Oktober", "November", "Dezember"};
         return fmt::format("{};{};{}", at.year_of_row(), names[at.row % 12], at.y);
       },
       0, "--date Jahr,Monat", "-", "", ','},
      {"INE", "Periodo;Total\n",
       [](const At& at) { return fmt::format("{}M{:02};{}", at.year_of_row(), at.month_of_row(), at.y); }, 0, "", "",
       "", ','},
      {"ONS", "\"Title\",\"CPI INDEX\"\n",
       [](const At& at) {
         const char* names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
         return fmt::format("\"{} {}\",\"{}\"", at.year_of_row(), names[at.row % 12], at.y);
       },
       0},
      {"BLS", "series_id\tyear\tperiod\tvalue\n",
       [](const At& at) { return fmt::format("CUUR\t{}\tM{:02}\t{}", at.year_of_row(), at.month_of_row(), at.y); }, 0,
       "--date year,period", "-"},
      {"months of six digits", "month,sales\n",
       [](const At& at) { return fmt::format("{}{:02},{}", at.year_of_row(), at.month_of_row(), at.y); }, 0},
      {"months with a point", "month,sales\n",
       [](const At& at) { return fmt::format("{}.{:02},{}", at.year_of_row(), at.month_of_row(), at.y); }, 0},
      {"month and year", "month,sales\n",
       [](const At& at) { return fmt::format("{:02}/{},{}", at.month_of_row(), at.year_of_row(), at.y); }, 0},
      {"SAS", "date,y\n",
       [](const At& at) {
         const bool march = at.row < 17;
         return fmt::format("{:02}{}2024,{}", march ? 15 + at.row : at.row - 16, march ? "MAR" : "APR", at.y);
       },
       1, "", "."},
      {"weeks", "week,y\n", [](const At& at) { return fmt::format("2024-W{:02},{}", at.row + 5, at.y); }, 7},
      {"year and week", "Year,Week,cases\n", [](const At& at) { return fmt::format("2024,{},{}", at.row + 5, at.y); },
       7, "--date Year,Week"}};
  for (const Layout& layout : layouts) check_layout(layout);
}

TEST_CASE("layouts of exchanges and markets") {
  const std::vector<Layout> layouts = {
      {"Stooq", "<TICKER>,<DATE>,<TIME>,<CLOSE>\n",
       [](const At& at) { return fmt::format("X,{},{:02}0000,{}", at.compact(at.whole_day()), at.hour(), at.y); },
       kHour},
      {"Yahoo", "Date,Open,Volume\n", [](const At& at) { return fmt::format("{},{},100", at.iso(at.row), at.y); }, 1,
       "", "null"},
      {"Investing", "\"Date\",\"Price\",\"Vol.\"\n",
       [](const At& at) {
         return fmt::format("\"{}/{}/{}\",\"{}\",\"1.2M\"", at.month(at.row), at.day(at.row), at.year(at.row), at.y);
       }},
      {"ENTSO-E", "\"MTU (UTC)\",\"Day-ahead Price [EUR/MWh]\"\n",
       [](const At& at) {
         const double end = at.whole_day() + (at.hour() == 23 ? 1 : 0);
         return fmt::format("\"{} {:02}:00 - {} {:02}:00\",\"{}\"", at.dmy(at.whole_day(), '.'), at.hour(),
                            at.dmy(end, '.'), (at.hour() + 1) % 24, at.y);
       },
       kHour, "--missing n/e", "n/e"},
      {"SMARD", "Datum von;Datum bis;Gesamt [MWh]\n",
       [](const At& at) {
         return fmt::format("{0} {1:02}:00;{0} {1:02}:59;{2}", at.dmy(at.whole_day(), '.'), at.hour(), at.y);
       },
       kHour, "--inputs Datum von", "-", "", ','},
      {"Nord Pool", "Date,Hours,SE3\n",
       [](const At& at) {
         return fmt::format("{},{:02} - {:02},{}", at.iso(at.whole_day()), at.hour(), (at.hour() + 1) % 24, at.y);
       },
       kHour, "--date Date,Hours"},
      {"AEMO", "REGION,SETTLEMENTDATE,RRP\n",
       [](const At& at) {
         return fmt::format("NSW1,{}/{}/{} {:02}:00:00,{}", at.year(at.whole_day()), at.month(at.whole_day()),
                            at.day(at.whole_day()), at.hour(), at.y);
       },
       kHour},
      {"stamps of a server", "stamp,ms\n",
       [](const At& at) {
         return fmt::format("\"{}, {} Mar 2024 {:02}:00:00 +0000\",{}", at.row < 24 ? "Fri" : "Sat",
                            15 + at.whole_day(), at.hour(), at.y);
       },
       kHour}};
  for (const Layout& layout : layouts) check_layout(layout);
}

TEST_CASE("layouts with digits in groups") {
  const auto values = [](const char* text) {
    TemporaryDirectory directory;
    std::ofstream(directory / "t.csv", std::ios::binary) << text;
    return read_fill_tables({.table = Table::read(directory / "t.csv"), .columns = {.values = {"y"}}}).observed.y[0];
  };
  const auto check_values = [&](const char* text, double first, double second) {
    CAPTURE(text);
    const std::vector<double> y = values(text);
    CHECK(y[0] == doctest::Approx(first));
    CHECK(y[1] == doctest::Approx(second));
    CHECK(std::isnan(y[2]));
  };
  check_values("d;y;p\n2024-01-01;950;0,95\n2024-01-02;1.350;0,99\n2024-01-03;;1,05\n", 950, 1350);
  check_values("d\ty\tp\n2024-01-01\t1,200\t0.9\n2024-01-02\t1,350\t0.95\n2024-01-03\t\t1\n", 1200, 1350);
  check_values("d;y\n2024-01-01;1'350.50\n2024-01-02;12'350.5\n2024-01-03;\n", 1350.5, 12350.5);
  check_values("d;y\n2024-01-01;1 350,50\n2024-01-02;12 350,5\n2024-01-03;\n", 1350.5, 12350.5);
  check_values("d;y\n2024-01-01;1\u00a0350,50\n2024-01-02;\u22125\n2024-01-03;\n", 1350.5, -5);
  check_values("d,y\n2024-01-01,\"12,34,567\"\n2024-01-02,\"1,350\"\n2024-01-03,\n", 1234567, 1350);
  check_values("d,y\n2024-01-01,\"2,5\"\n2024-01-02,\"3,25\"\n2024-01-03,\n", 2.5, 3.25);
  const std::string remedy =
      "expected a number without thousands separators, or --decimal . or , to name the decimal sign";
  for (const char* doubtful : {"d;y\n2024-01-01;950\n2024-01-02;1.350\n2024-01-03;\n",
                               "d\ty\n2024-01-01\t1,200\n2024-01-02\t1,350\n2024-01-03\t\n"})
    CHECK(error_of([&] { values(doubtful); }).find(remedy) != std::string::npos);
}
